"""Cells of an ensemble: thresholds cut every column into cells, and leaves are boxes of cells."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from encoders.core.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    NarrowArray,
    UnsignedArray,
    frozen,
    order_by,
    ranked,
    read_only,
    starts,
)
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import Group, SetSplits, cell_of, group_of


@dataclass(frozen=True, eq=False)
class Cells:
    """Finite domain of an ensemble, independent of any query.

    Cell ``m`` of a column contains the values ``boundary[m-1] < v <= boundary[m]`` (unbounded at
    both ends). The additional last cell is for missing values. A leaf is a sparse list of literals
    ``lo <= cell <= hi``, one per column on its path; columns that it does not test are absent.
    Columns that are split into sets of values have a :class:`Group` instead.

    Attributes
    ----------
    boundary : upper ends of each column's cells, tuple of float64 arrays, strictly increasing.
    tree_start : first leaf of each tree, int64 (n_trees + 1,).
    leaf_start : first literal of each leaf, int64 (n_leaves + 1,).
    column : column of each literal, (n_literals,), of the smallest unsigned type for n_columns.
    lo, hi : first and last cell of each literal, int32 (n_literals,). lo > hi if only a missing
        value reaches the leaf.
    takes_missing : whether a missing value reaches the leaf, bool (n_literals,). None if no value
        may be missing.
    node : node of each leaf in the ensemble, int64 (n_leaves,).
    score_of_node : scores of the ensemble's nodes, float64 (n_nodes, n_classes).
    groups : one Group per column that is split into sets.
    """

    boundary: tuple[FloatArray, ...]
    tree_start: IntArray
    leaf_start: IntArray
    column: UnsignedArray
    lo: NarrowArray
    hi: NarrowArray
    node: IntArray
    score_of_node: FloatArray
    takes_missing: BoolArray | None = None
    groups: tuple[Group, ...] = ()

    @cached_property
    def n_cells(self) -> IntArray:
        """Number of cells of each column, including that of missing values, int64 (n_columns,)."""
        return np.array([boundary.size + 2 for boundary in self.boundary], dtype=np.int64)

    def score(self, leaves: IntArray | BoolArray) -> FloatArray:
        """Return the scores of some leaves, float64 (n_chosen, n_classes).

        Scores are not stored by leaf, because they would be in memory twice.
        """
        chosen: FloatArray = self.score_of_node[self.node[leaves]]
        return chosen

    def only(self, leaves: IntArray) -> "Cells":
        """Return the domain with only some of its leaves."""
        # In most cases a few of very many leaves remain, so no array has an entry per old leaf.
        first = self.leaf_start[leaves]
        count = self.leaf_start[leaves + 1] - first
        leaf_start = starts(count)
        literal = np.arange(leaf_start[-1]) + np.repeat(first - leaf_start[:-1], count)
        tree = np.searchsorted(self.tree_start, leaves, side="right") - 1
        missing = self.takes_missing
        return replace(
            self,
            tree_start=starts(np.bincount(tree, minlength=self.tree_start.size - 1)),
            leaf_start=leaf_start,
            column=self.column[literal],
            lo=self.lo[literal],
            hi=self.hi[literal],
            node=self.node[leaves],
            takes_missing=None if missing is None else missing[literal],
            groups=tuple(group.only(leaves) for group in self.groups),
        )


def cut(ensemble: Ensemble) -> Cells:
    """Return the cells of an ensemble and its leaves as boxes; unreachable leaves are dropped."""
    from encoders.trees.ways import boxes_of, no_literals  # these import numba, which is slow

    boundary, position = boundaries(ensemble)
    leaves = np.flatnonzero(ensemble.column < 0)
    groups = tuple(_groups(ensemble, leaves))
    last = np.array([each.size for each in boundary], dtype=np.int64)
    arrays = [read_only(part) for part in (ensemble.root, position, last)]
    count = boxes_of(ensemble.splits, *arrays, read_only(last[:0]), no_literals(0))
    for group in groups:
        count[leaves[group.leaf[~group.allowed.any(axis=1)]]] = -1
    first = read_only(starts(np.maximum(count, 0)))
    literals = no_literals(int(first[-1]))
    boxes_of(ensemble.splits, *arrays, first, literals)
    reached = np.flatnonzero(count[leaves] >= 0)
    every = reached.size == leaves.size
    tree = np.searchsorted(ensemble.root, leaves[reached], side="right") - 1
    return Cells(
        boundary=boundary,
        tree_start=frozen(starts(np.bincount(tree, minlength=ensemble.root.size))),
        leaf_start=frozen(starts(count[leaves[reached]])),
        column=frozen(literals.column.astype(np.min_scalar_type(ensemble.n_columns))),
        lo=frozen(literals.lo),
        hi=frozen(literals.hi),
        node=frozen(leaves[reached]),
        score_of_node=ensemble.score,
        takes_missing=None if ensemble.default_left is None else frozen(literals.missing),
        groups=groups if every else tuple(group.only(reached) for group in groups),
    )


def boundaries(ensemble: Ensemble) -> tuple[tuple[FloatArray, ...], IntArray]:
    """Return the distinct ``last_left`` of each column, and each inner node's index among them."""
    position = np.full(ensemble.column.size, -1, dtype=np.int64)
    edges = {} if ensemble.sets is None else ensemble.sets.edges
    boundary = []
    order = order_by(ensemble.column + 1, ensemble.n_columns + 1)  # leaves first
    begin = starts(np.bincount(ensemble.column + 1, minlength=ensemble.n_columns + 1))
    for column in range(ensemble.n_columns):
        nodes = order[begin[column + 1] : begin[column + 2]]
        values, index = np.unique(ensemble.last_left[nodes], return_inverse=True)
        position[nodes] = index
        boundary.append(frozen(edges.get(column, values)))
    return tuple(boundary), position


def _groups(ensemble: Ensemble, leaves: IntArray) -> Iterator[Group]:
    """Yield the intersection of the sets above each leaf, for each column with sets."""
    sets = ensemble.sets
    if sets is None:
        return
    leaf, split, right = _set_splits_above(ensemble, sets, leaves)
    column = ensemble.column[split]
    order = order_by(column, ensemble.n_columns)
    begin = starts(np.bincount(column, minlength=ensemble.n_columns))
    for each in sets.edges:
        mine = order[begin[each] : begin[each + 1]]
        used, index = ranked(sets.of_node[split[mine]], sets.first.size)
        yield group_of(each, sets.members(each, used), leaf[mine], index, right[mine])


def _set_splits_above(
    ensemble: Ensemble, sets: SetSplits, leaves: IntArray
) -> tuple[IntArray, IntArray, BoolArray]:
    """Return every set split above every leaf: leaf index, node of the split, whether right."""
    parent = np.full(ensemble.column.size, -1, dtype=np.int64)
    inner = np.flatnonzero(ensemble.column >= 0)
    for child in (ensemble.left, ensemble.right):
        parent[child[inner]] = inner
    leaf, node = np.arange(leaves.size), leaves
    steps = [(leaf[:0], node[:0], np.zeros(0, dtype=np.bool_))]
    while (alive := parent[node] >= 0).any():
        leaf, below = leaf[alive], node[alive]
        node = parent[below]
        by_set = sets.of_node[node] >= 0
        right = ensemble.right[node[by_set]] == below[by_set]
        steps.append((leaf[by_set], node[by_set], right))
    leaf, node, right = (np.concatenate(part) for part in zip(*steps, strict=True))
    return leaf, node, right


def codes(boundary: Sequence[FloatArray], rows: FloatArray, dtype: np.dtype[Any]) -> IntArray:
    """Return the cell of every value of float64 rows, int64 (n_rows, n_columns)."""
    rounded = rows.astype(dtype).astype(np.float64)
    code = np.empty(rows.shape, dtype=np.int64)
    for column, edges in enumerate(boundary):
        code[:, column] = cell_of(edges, rounded[:, column])
    return code
