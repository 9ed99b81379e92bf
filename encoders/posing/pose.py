"""Ensemble + query -> :class:`Problem`, and a choice of levels -> row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, frozen, owners, starts
from encoders.errors import InputError
from encoders.posing.axes import Axis, category_axes, ordered_axis
from encoders.posing.leaf_rows import length_row, margin_rows
from encoders.problem.problem import LeafRow, LevelRow, Problem
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from encoders.trees.cells import Cells
from encoders.trees.ensemble import Ensemble


@dataclass(frozen=True, eq=False)
class Posed:
    """A problem, and what its levels mean.

    Attributes
    ----------
    problem : one axis per column, in order
    value : float64 (n_levels,), the column value each level stands for
    nearest : per column int64 (n_cells,), the level nearest to each cell (for a category: to 0 and
        1)
    """

    problem: Problem
    value: FloatArray
    nearest: tuple[IntArray, ...]

    def decode(self, levels: IntArray) -> FloatArray:
        """The row of a choice of levels, float64 (n_columns,).

        Parameters
        ----------
        levels : int64 (n_axes,)
        """
        row: FloatArray = self.value[self.problem.level_start[:-1] + levels]
        return row

    def closest(self, codes: IntArray, count: int) -> IntArray:
        """The cheapest of many rows, as choices of levels, int64 (at most count, n_columns).

        ``codes`` are rows as in :class:`encoders.posing.starting_points.Reference`.

        Parameters
        ----------
        codes : int64 (n_rows, n_columns)
        count : at most so many
        """
        levels = np.empty_like(codes)
        cost = np.zeros(len(codes))
        for column, table in enumerate(self.nearest):
            levels[:, column] = table[codes[:, column]]
            price = self.problem.cost[self.problem.level_start[column] + levels[:, column]]
            cost = cost + price if self.problem.aggregate == "sum" else np.maximum(cost, price)
        return levels[np.argsort(cost, kind="stable")[:count]]


def pose(ensemble: Ensemble, cells: Cells, space: FeatureSpace, query: Query) -> Posed:
    """Give every option its cost and drop what the constraints rule out.

    One axis per column, in order. Pure and thread safe.

    Parameters
    ----------
    ensemble : with isolation trees if plausibility is asked for
    cells : of the same ensemble
    space : features of its columns
    query : resolved for one row

    Raises
    ------
    InputError
        Constraints, bounds and cost tables that leave a feature no value.
    """
    axes = _axes(ensemble, cells, space, query)
    level_start = starts(np.array([axis.cell.size for axis in axes]))
    changed = np.concatenate([axis.changed for axis in axes])
    groups = [list(f.columns) for f in space.features if f.kind == "categorical"]
    value = np.concatenate([axis.value for axis in axes])
    one_hot = tuple(
        np.array(
            [
                level
                for c in group
                for level in range(level_start[c], level_start[c + 1])
                if value[level] == 1
            ]
        )
        for group in groups
    )
    literal, lo, hi, alive = _place_literals(cells, axes, level_start, groups, value)
    leaf = owners(cells.leaf_start)[literal]
    tree = owners(cells.tree_start)[alive]
    renumber = np.cumsum(alive) - 1
    tree_start = starts(np.bincount(tree, minlength=cells.tree_start.size - 1))
    rows, exact = margin_rows(cells.score[alive], tree_start, ensemble, query.target, query.margin)
    if cells.length is not None:
        rows += _plausible(cells.length[alive], tree_start, ensemble.least_length)
    problem = Problem(
        level_start=frozen(level_start),
        cost=frozen(np.concatenate([axis.cost for axis in axes])),
        aggregate=query.cost.aggregate,
        one_hot=one_hot,
        tree_start=frozen(tree_start),
        leaf_start=frozen(starts(np.bincount(renumber[leaf], minlength=int(alive.sum())))),
        axis=frozen(cells.column[literal]),
        lo=frozen(lo),
        hi=frozen(hi),
        leaf_rows=rows,
        level_rows=_sparsity(changed, query.max_changes),
        exact=exact,
    )
    grouped = {column for group in groups for column in group}
    nearest = tuple(
        _nearest(axis, 2 if column in grouped else boundary.size + 1, column in grouped)
        for column, (axis, boundary) in enumerate(zip(axes, cells.boundary, strict=True))
    )
    return Posed(problem, frozen(value), nearest)


def _plausible(length: FloatArray, tree_start: IntArray, least: float) -> tuple[LeafRow, ...]:
    row = length_row(length, tree_start, least)
    return (row or LeafRow(np.zeros(length.size, dtype=np.int64), 1),)


def _nearest(axis: Axis, n_codes: int, is_category: bool) -> IntArray:
    """For each code the level nearest to it."""
    known = axis.value.astype(np.int64) if is_category else axis.cell
    codes = np.arange(n_codes)
    above = np.minimum(np.searchsorted(known, codes), known.size - 1)
    below = np.maximum(above - 1, 0)
    closer_below = np.abs(codes - known[below]) < np.abs(known[above] - codes)
    return np.where(closer_below, below, above)


def _sparsity(changed: BoolArray, max_changes: int | None) -> tuple[LevelRow, ...]:
    if max_changes is None:
        return ()
    return (LevelRow(frozen(changed.astype(np.int64)), max_changes),)


def _axes(ensemble: Ensemble, cells: Cells, space: FeatureSpace, query: Query) -> Sequence[Axis]:
    values = space.values(query.row)
    axes: dict[int, Axis] = {}
    for index, feature in enumerate(space.features):
        start, admissible = float(values[index]), query.admissible[index]
        if feature.kind == "categorical":
            boundaries = [cells.boundary[c] for c in feature.columns]
            group = category_axes(boundaries, index, feature, int(start), admissible, query.cost)
            axes.update(zip(feature.columns, group, strict=True))
            empty = all(axis.value.max(initial=0.0) < 1 for axis in group)
        else:
            axis = ordered_axis(
                cells.boundary[feature.column],
                ensemble.dtype,
                index,
                feature,
                start,
                admissible,
                query.cost,
            )
            axes[feature.column] = axis
            empty = axis.cell.size == 0
        if empty:
            raise InputError(
                f"contradictory constraints on {feature.name}: together with its bounds, levels "
                "and cost table they leave no admissible value."
            )
    return [axes[column] for column in range(len(axes))]


def _place_literals(
    cells: Cells,
    axes: Sequence[Axis],
    level_start: IntArray,
    groups: list[list[int]],
    value: FloatArray,
) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
    """Leaf boxes in levels instead of cells.

    Returns the literals that still say something (indices into the cells' literals, with their
    new lo and hi) and which leaves an admissible row can reach.
    """
    n_cells = np.array([boundary.size + 1 for boundary in cells.boundary])
    offset = starts(n_cells)
    every = [np.arange(n) for n in n_cells]
    first = np.concatenate(
        [np.searchsorted(a.cell, e, side="left") for a, e in zip(axes, every, strict=True)]
    )
    last = np.concatenate(
        [np.searchsorted(a.cell, e, side="right") - 1 for a, e in zip(axes, every, strict=True)]
    )
    lo = first[offset[cells.column] + cells.lo]
    hi = last[offset[cells.column] + cells.hi]
    leaf = owners(cells.leaf_start)
    alive = np.ones(cells.leaf_start.size - 1, dtype=np.bool_)
    alive[leaf[lo > hi]] = False
    size = np.diff(level_start)
    tells = (lo > 0) | (hi < size[cells.column] - 1)
    for group in groups:
        _simplify_group(cells, group, lo, hi, level_start, value, leaf, alive, tells)
    literal = np.flatnonzero(tells & alive[leaf])
    return literal, lo[literal], hi[literal], alive


def _simplify_group(
    cells: Cells,
    group: list[int],
    lo: IntArray,
    hi: IntArray,
    level_start: IntArray,
    value: FloatArray,
    leaf: IntArray,
    alive: BoolArray,
    tells: BoolArray,
) -> None:
    """Use 'exactly one is 1' on a leaf's literals; updates ``alive`` and ``tells`` in place."""
    mine = np.flatnonzero(np.isin(cells.column, group) & (lo <= hi))
    axis = cells.column[mine]
    is_one = value[level_start[axis] + lo[mine]] == 1
    is_zero = value[level_start[axis] + hi[mine]] == 0
    n_leaves = alive.size
    ones = np.bincount(leaf[mine[is_one]], minlength=n_leaves)
    zeros = np.bincount(leaf[mine[is_zero]], minlength=n_leaves)
    # Categories that have no level 1 left are zero without a literal saying so.
    possible = [c for c in group if (value[level_start[c] : level_start[c + 1]] == 1).any()]
    counted = mine[is_zero & np.isin(axis, possible)]
    zeros = np.bincount(leaf[counted], minlength=n_leaves)
    alive &= (ones < 2) & (zeros < len(possible))
    tells[mine[is_zero & (ones[leaf[mine]] > 0)]] = False
