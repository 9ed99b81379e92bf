"""Cells of an ensemble: thresholds cut every column into cells, and leaves are boxes of cells."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.core.arrays import (
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
from encoders.trees.set_splits import Group, PackedFlags, cell_of, classes_of

if TYPE_CHECKING:  # encoders.trees.set_limits imports numba, which is slow
    from encoders.trees.set_limits import SetClasses


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
    groups = tuple(_groups(ensemble))
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


def _groups(ensemble: Ensemble) -> Iterator[Group]:
    """Yield the classes of cells that reach each leaf, for each column with sets."""
    sets = ensemble.sets
    if sets is None or not sets.edges:
        return
    from encoders.trees.set_limits import SetLimits, limits_of, no_limits  # imports numba

    columns = [
        (column, used, *classes_of(sets.members(column, used)))
        for column, used in ensemble.sets_of_column.items()
    ]
    classes = _set_classes(ensemble.n_columns, sets.first.size, columns)
    arrays = ensemble.splits, read_only(ensemble.root), classes
    *count, deepest = limits_of(*arrays, no_limits(len(columns))).tolist()
    entry = starts(np.array(count, dtype=np.int64))
    byte = starts(np.diff(entry) * classes.width)
    node, flags = np.empty(entry[-1], dtype=np.int64), np.empty(byte[-1], dtype=np.uint8)
    limits_of(*arrays, SetLimits(read_only(entry[:-1]), read_only(byte[:-1]), node, flags, deepest))
    leaf = (np.cumsum(ensemble.column < 0) - 1)[node]
    for at, (column, _, class_of, flags_of) in enumerate(columns):
        mine = leaf[entry[at] : entry[at + 1]]
        bits = flags[byte[at] : byte[at + 1]].reshape(mine.size, flags_of.shape[1])
        if (np.diff(mine) < 0).any():
            order = np.argsort(mine)
            mine, bits = mine[order], bits[order]
        yield Group(column, frozen(class_of), frozen(mine), frozen(bits))


def _set_classes(
    n_columns: int, n_sets: int, columns: Sequence[tuple[int, IntArray, IntArray, PackedFlags]]
) -> "SetClasses":
    """Return the classes of all sets, given column, sets, class of each cell, and flags."""
    from encoders.trees.set_limits import SetClasses

    group, first = np.full(n_columns, -1), np.zeros(n_sets, dtype=np.int64)
    size = 0
    for at, (column, used, _, flags) in enumerate(columns):
        group[column] = at
        first[used] = size + flags.shape[1] * np.arange(used.size)
        size += flags.size
    width = np.array([flags.shape[1] for *_, flags in columns])
    bits = np.concatenate([flags.ravel() for *_, flags in columns])
    return SetClasses(*(read_only(part) for part in (group, width, first, bits)))


def codes(boundary: Sequence[FloatArray], rows: FloatArray, dtype: np.dtype[Any]) -> IntArray:
    """Return the cell of every value of float64 rows, int64 (n_rows, n_columns)."""
    rounded = rows.astype(dtype).astype(np.float64)
    code = np.empty(rows.shape, dtype=np.int64)
    for column, edges in enumerate(boundary):
        code[:, column] = cell_of(edges, rounded[:, column])
    return code
