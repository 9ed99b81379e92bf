"""Thresholds cut every column into cells; every leaf is a box of consecutive cells."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from encoders.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    NarrowArray,
    UnsignedArray,
    frozen,
    order_by,
    read_only,
    starts,
)
from encoders.trees.ensemble import Ensemble
from encoders.trees.groups import Group, group_of
from encoders.trees.set_splits import SetSplits, cell_of


@dataclass(frozen=True, eq=False)
class Cells:
    """The finite domain of an ensemble, before any query is known.

    Cell ``m`` of a column holds the values ``boundary[m-1] < v <= boundary[m]`` (open at both
    ends of the line); one more, the last, is for what is missing. A leaf is a sparse list of
    literals ``lo <= cell <= hi``, one per column on its path; columns it does not test are absent.
    Columns that are split into sets of values have a :class:`Group` instead.

    Attributes
    ----------
    boundary : tuple of float64 arrays, one per column, strictly increasing
    tree_start : int64 (n_trees + 1,), leaves of tree t
    leaf_start : int64 (n_leaves + 1,), literals of leaf l
    column : (n_literals,), of the smallest unsigned type that n_columns fits in
    lo, hi : int32 (n_literals,); lo > hi where only a missing value gets to the leaf
    takes_missing : bool (n_literals,), whether a missing value does; None where none may be missing
    node : int64 (n_leaves,), the leaf's node in the ensemble
    score_of_node : float64 (n_nodes, n_classes), the ensemble's own
    groups : one per column that is split into sets
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
        """Cells of each column, that of missing values included, int64 (n_columns,)."""
        return np.array([boundary.size + 2 for boundary in self.boundary], dtype=np.int64)

    def score(self, leaves: IntArray | BoolArray) -> FloatArray:
        """What some of the leaves add to each class, float64 (n_chosen, n_classes).

        Looked up and not kept: all of them would be in memory twice.
        """
        chosen: FloatArray = self.score_of_node[self.node[leaves]]
        return chosen

    def only(self, leaves: IntArray) -> "Cells":
        """The same domain with some of the leaves."""
        # Few are chosen of very many, so nothing is made for each of all.
        first = self.leaf_start[leaves]
        count = self.leaf_start[leaves + 1] - first
        leaf_start = starts(count)
        literal = np.arange(leaf_start[-1]) + np.repeat(first - leaf_start[:-1], count)
        tree = np.searchsorted(self.tree_start, leaves, side="right") - 1
        chosen = np.zeros(self.node.size if self.groups else 0, dtype=np.bool_)
        if self.groups:
            chosen[leaves] = True
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
            groups=tuple(group.only(chosen) for group in self.groups),
        )


def cut(ensemble: Ensemble) -> Cells:
    """Partition the input space by the ensemble's splits; leaves no value reaches are dropped."""
    from encoders.trees.ways import boxes_of, no_literals  # compiled: numba is imported with them

    boundary, position = _boundaries(ensemble)
    leaves = np.flatnonzero(ensemble.column < 0)
    groups = tuple(_groups(ensemble, leaves))
    last = np.array([each.size for each in boundary], dtype=np.int64)
    given = [read_only(part) for part in (ensemble.root, position, last)]
    met = boxes_of(ensemble.splits, *given, read_only(last[:0]), no_literals(0))
    for group in groups:
        met[leaves[group.leaf[~group.allowed.any(axis=1)]]] = -1
    first = read_only(starts(np.maximum(met, 0)))
    literals = no_literals(int(first[-1]))
    boxes_of(ensemble.splits, *given, first, literals)
    reached = met[leaves] >= 0
    tree = np.searchsorted(ensemble.root, leaves[reached], side="right") - 1
    return Cells(
        boundary=boundary,
        tree_start=frozen(starts(np.bincount(tree, minlength=ensemble.root.size))),
        leaf_start=frozen(starts(met[leaves[reached]])),
        column=frozen(literals.column.astype(np.min_scalar_type(ensemble.n_columns))),
        lo=frozen(literals.lo),
        hi=frozen(literals.hi),
        node=frozen(leaves[reached]),
        score_of_node=ensemble.score,
        takes_missing=None if ensemble.default_left is None else frozen(literals.missing),
        groups=tuple(group.only(reached) for group in groups),
    )


def _boundaries(ensemble: Ensemble) -> tuple[tuple[FloatArray, ...], IntArray]:
    """Distinct ``last_left`` per column, and each inner node's index among them."""
    position = np.full(ensemble.column.size, -1, dtype=np.int64)
    edges = {} if ensemble.sets is None else ensemble.sets.edges
    boundary = []
    order = order_by(ensemble.column + 1, ensemble.n_columns + 1)  # leaves come first
    begin = starts(np.bincount(ensemble.column + 1, minlength=ensemble.n_columns + 1))
    for column in range(ensemble.n_columns):
        nodes = order[begin[column + 1] : begin[column + 2]]
        values, index = np.unique(ensemble.last_left[nodes], return_inverse=True)
        position[nodes] = index
        boundary.append(frozen(edges.get(column, values)))
    return tuple(boundary), position


def _groups(ensemble: Ensemble, leaves: IntArray) -> Iterator[Group]:
    """Intersect the sets met on the same column."""
    sets = ensemble.sets
    if sets is None:
        return
    leaf, split, right = _set_splits_above(ensemble, sets, leaves)
    column = ensemble.column[split]
    for own in sets.edges:
        mine = np.flatnonzero(column == own)
        used, index = np.unique(sets.of_node[split[mine]], return_inverse=True)
        yield group_of(own, sets.members(own, used), leaf[mine], index, right[mine])


def _set_splits_above(
    ensemble: Ensemble, sets: SetSplits, leaves: IntArray
) -> tuple[IntArray, IntArray, BoolArray]:
    """Every split by a set above every leaf: the leaf's place, the split, if it is turned right."""
    parent = np.full(ensemble.column.size, -1, dtype=np.int64)
    inner = np.flatnonzero(ensemble.column >= 0)
    for child in (ensemble.left, ensemble.right):
        parent[child[inner]] = inner
    leaf, node = np.arange(leaves.size), leaves
    steps = [(leaf[:0], node[:0], np.zeros(0, dtype=np.bool_))]
    while (alive := parent[node] >= 0).any():
        leaf, below = leaf[alive], node[alive]
        node = parent[below]
        own = sets.of_node[node] >= 0
        steps.append((leaf[own], node[own], ensemble.right[node[own]] == below[own]))
    leaf, node, right = (np.concatenate(part) for part in zip(*steps, strict=True))
    return leaf, node, right


def codes(cells: Cells, rows: FloatArray, dtype: np.dtype[Any]) -> IntArray:
    """The cell of every value, int64 (n_rows, n_columns), for float64 rows."""
    seen = rows.astype(dtype).astype(np.float64)
    code = np.empty(rows.shape, dtype=np.int64)
    for column, boundary in enumerate(cells.boundary):
        code[:, column] = cell_of(boundary, seen[:, column])
    return code
