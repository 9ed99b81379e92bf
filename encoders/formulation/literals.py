"""Leaf boxes in levels instead of cells."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoders.core.arrays import BoolArray, IntArray, owners, starts
from encoders.core.errors import Over, look, never
from encoders.formulation.axes import Axis
from encoders.formulation.layout import Layout
from encoders.trees.cells import Cells
from encoders.trees.set_splits import Group

# Literals for each cell of all columns: with fewer, each is looked up by itself.
FEW = 0.05


@dataclass(frozen=True, eq=False)
class Literals:
    """Leaves as boxes of levels.

    Attributes
    ----------
    source : int64 (n_leaves,), index of each among the cells' leaves, ascending.
    leaf, axis, lo, hi : int64 (n_literals,), by ascending leaf.
    or_missing : bool (n_literals,), whether the axis's last level also fits; None: nowhere.
    """

    source: IntArray
    leaf: IntArray
    axis: IntArray
    lo: IntArray
    hi: IntArray
    or_missing: BoolArray | None = None

    @property
    def leaf_start(self) -> IntArray:
        """Literals of each leaf, int64 (n_leaves + 1,)."""
        return starts(np.bincount(self.leaf, minlength=self.source.size))

    def with_levels(self, leaf: IntArray, axis: IntArray, level: IntArray) -> "Literals":
        """More literals, of one level each."""
        leaf = np.concatenate([self.leaf, leaf])
        order = np.argsort(leaf, kind="stable")
        return Literals(
            self.source,
            leaf[order],
            np.concatenate([self.axis, axis])[order],
            np.concatenate([self.lo, level])[order],
            np.concatenate([self.hi, level])[order],
            None
            if self.or_missing is None
            else np.concatenate([self.or_missing, np.zeros(level.size, dtype=np.bool_)])[order],
        )


def place_literals(cells: Cells, layout: Layout, over: Over = never) -> Literals:
    """Return the leaves that an admissible row can reach, with the literals that restrict them."""
    look(over)
    axis = cells.column.astype(np.int64) if layout.one_per_column else layout.first[cells.column]
    leaf = owners(cells.leaf_start)
    look(over)
    lo, hi = _in_levels(cells, layout)
    look(over)
    alive = np.ones(cells.leaf_start.size - 1, dtype=np.bool_)
    last = layout.size[axis] - 1
    or_missing = None
    tells = (lo > 0) | (hi < last)
    if cells.takes_missing is not None:
        taken = cells.takes_missing & _may_be_missing(cells, layout)[cells.column]
        only = taken & (lo > hi)
        lo, hi = np.where(only, last, lo), np.where(taken & (only | (hi == last - 1)), last, hi)
        or_missing = taken & (hi < last)
        tells = (lo > 0) | (hi < last) | or_missing
    alive[leaf[lo > hi]] = False
    if layout.one_hot:
        _simplify_one_hot(axis, lo, hi, layout, leaf, alive, tells)
    of_groups = [_group_literals(group, layout, alive) for group in cells.groups]
    look(over)
    kept = np.flatnonzero(tells & alive[leaf])
    number = np.cumsum(alive) - 1
    beside = None if or_missing is None else or_missing[kept]
    placed = Literals(
        np.flatnonzero(alive), number[leaf[kept]], axis[kept], lo[kept], hi[kept], beside
    )
    if of_groups:
        leaf, axis, level = (np.concatenate(part) for part in zip(*of_groups, strict=True))
        mine = alive[leaf]
        placed = placed.with_levels(number[leaf[mine]], axis[mine], level[mine])
    if placed.or_missing is not None:
        for own in np.unique(placed.axis[placed.or_missing]).tolist():
            placed = _parted(placed, own, layout)
    return placed


def level_range(cells: Cells, axes: Sequence[Axis]) -> tuple[IntArray, IntArray]:
    """Return the first level of each literal and the one after its last, among all levels."""
    offset = starts(cells.n_cells)
    of_axis = np.repeat(offset[:-1], [axis.cell.size for axis in axes])
    cell = of_axis + np.concatenate([axis.cell for axis in axes])  # ascending
    first, last = offset[cells.column] + cells.lo, offset[cells.column] + cells.hi
    if first.size < FEW * offset[-1]:
        return np.searchsorted(cell, first, "left"), np.searchsorted(cell, last, "right")
    held = np.bincount(cell, minlength=int(offset[-1]))
    end = np.cumsum(held, dtype=np.int64)
    return (end - held)[first], end[last]


def _in_levels(cells: Cells, layout: Layout) -> tuple[IntArray, IntArray]:
    """Return the first and last level of each literal within its axis, without missing values."""
    axes = [layout.axes[at] for at in layout.first[:-1]]
    lo, end = level_range(cells, axes)
    before = starts(np.array([axis.cell.size for axis in axes]))[cells.column]
    return lo - before, end - before - 1


def _may_be_missing(cells: Cells, layout: Layout) -> BoolArray:
    """Columns that may have no value in this query: the last level says so."""
    last = [layout.axes[at].cell[-1:] for at in layout.first[:-1]]
    return np.array([c.tolist() == [n - 1] for c, n in zip(last, cells.n_cells, strict=True)])


def _simplify_one_hot(
    axis: IntArray,
    lo: IntArray,
    hi: IntArray,
    layout: Layout,
    leaf: IntArray,
    alive: BoolArray,
    tells: BoolArray,
) -> None:
    """Use 'exactly one is 1' on leaves' literals; update the last two arrays in place."""
    first = layout.level_start[:-1]
    is_one = layout.value == 1
    # Categories that have no level 1 left are zero without a literal saying so.
    possible = np.logical_or.reduceat(is_one, first)
    grouped = np.zeros(first.size, dtype=np.int64)
    for number, columns in enumerate(layout.one_hot, 1):
        grouped[layout.axes_of(columns)] = number
    of = np.where(lo <= hi, grouped[axis], 0)
    for number in range(1, len(layout.one_hot) + 1):
        mine = np.flatnonzero(of == number)
        begin = first[axis[mine]]
        zero = mine[layout.value[begin + hi[mine]] == 0]
        ones = np.bincount(leaf[mine[is_one[begin + lo[mine]]]], minlength=alive.size)
        zeros = np.bincount(leaf[zero[possible[axis[zero]]]], minlength=alive.size)
        alive &= (ones < 2) & (zeros < possible[grouped == number].sum())
        tells[zero[ones[leaf[zero]] > 0]] = False


def _group_literals(
    group: Group, layout: Layout, alive: BoolArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Leaf, axis and level of each literal: the one class that gets there, or those that don't.

    Leaves that no class of the query gets to are struck from ``alive``.
    """
    first, classes = int(layout.first[group.column]), layout.classes[group.column]
    allowed = group.allowed[:, classes]
    count = allowed.sum(axis=1)
    alive[group.leaf[count == 0]] = False
    single = (count == 1) & (classes.size > 1)
    row, place = np.nonzero(np.where(single[:, None], allowed, ~allowed & (count > 1)[:, None]))
    return group.leaf[row], first + place, single[row].astype(np.int64)


def _parted(placed: Literals, axis: int, layout: Layout) -> Literals:
    """Split each leaf that takes an interval of an axis or a missing value into two boxes."""
    assert placed.or_missing is not None
    mine = np.flatnonzero(placed.or_missing & (placed.axis == axis))
    twin = np.full(placed.source.size, -1, dtype=np.int64)
    twin[placed.leaf[mine]] = placed.source.size + np.arange(mine.size)
    copied = np.flatnonzero(twin[placed.leaf] >= 0)
    last = layout.size[axis] - 1
    missing = np.isin(copied, mine)
    source = np.concatenate([placed.source, placed.source[placed.leaf[mine]]])
    leaf = np.concatenate([placed.leaf, twin[placed.leaf[copied]]])
    lo = np.concatenate([placed.lo, np.where(missing, last, placed.lo[copied])])
    hi = np.concatenate([placed.hi, np.where(missing, last, placed.hi[copied])])
    axes = np.concatenate([placed.axis, placed.axis[copied]])
    or_missing = np.concatenate([placed.or_missing, placed.or_missing[copied]])
    or_missing[axes == axis] = False
    by_source = np.argsort(source, kind="stable")
    place = np.empty_like(by_source)
    place[by_source] = np.arange(by_source.size)
    order = np.argsort(place[leaf], kind="stable")
    return Literals(
        source[by_source],
        place[leaf][order],
        axes[order],
        lo[order],
        hi[order],
        or_missing[order],
    )
