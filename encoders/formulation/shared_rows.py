"""Rows under one action as finite-domain problems over the same axes: the action's options.

An option of a number takes every row to a cell that rises with the option, so the leaves that the
row may get to are boxes of options. Options without such an order have an axis each, with the
levels no and yes, of which exactly one is yes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, owners, starts
from encoders.formulation.companion_rows import companion_rows
from encoders.formulation.goal_rows import goal_rows, relaxation_of
from encoders.formulation.shared_axes import SharedAxes
from encoders.problem.problem import LeafRow, LevelRow, Problem
from encoders.query.features import Feature, FeatureSpace
from encoders.query.query import Query
from encoders.trees.cells import Cells
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import cell_of

BUDGET_UNITS = 2.0**40  # whole units of a budget; costs are rounded down to them

# Leaf, axis, first and last level of literals, int64 (n_literals,) each.
Literals = tuple[IntArray, IntArray, IntArray, IntArray]


def pose_row(
    row: int,
    axes: SharedAxes,
    ensemble: Ensemble,
    cells: Cells,
    space: FeatureSpace,
    query: Query,
    budget: float,
) -> Problem:
    """Encode one row under an action, at no cost: it reaches its goal, within the budget.

    Options that are not admissible are not left out; see :func:`open_levels`.
    """
    literals, alive = _boxes(row, axes, ensemble, cells, space)
    leaf, axis, lo, hi = (part[alive[literals[0]]] for part in literals)
    number = np.cumsum(alive) - 1
    tree = owners(cells.tree_start)[alive]
    tree_start = starts(np.bincount(tree, minlength=cells.tree_start.size - 1))
    score = cells.score(alive)
    asked = (score, tree_start, ensemble, query.goal, query.margin)
    relaxation = relaxation_of(*asked)
    rows, exact = (
        goal_rows(*asked) if relaxation is None else (relaxation.rows(relaxation.whole), True)
    )
    for companion in ensemble.companions:
        rows += companion_rows(companion, cells.node[alive], tree_start, query.goal)
    return Problem(
        level_start=axes.level_start,
        cost=np.zeros(int(axes.level_start[-1])),
        aggregate="sum",
        one_hot=axes.groups(),
        tree_start=tree_start,
        leaf_start=starts(np.bincount(number[leaf], minlength=score.shape[0])),
        axis=axis,
        lo=lo,
        hi=hi,
        leaf_rows=rows,
        level_rows=tuple(_level_rows(row, axes, query, budget)),
        exact=exact,
    )


def open_levels(row: int, axes: SharedAxes, query: Query, budget: float) -> BoolArray:
    """Levels that an action may choose if it is to serve a row, bool (n_levels,)."""
    fitting = [o.fits[row] & (o.cost[row] <= budget) for o in axes.options]
    found: BoolArray = axes.spread(fitting, 1)
    return found


def _level_rows(row: int, axes: SharedAxes, query: Query, budget: float) -> Iterator[LevelRow]:
    if query.cost.aggregate == "sum" and np.isfinite(budget):
        unit = (budget or 1.0) / BUDGET_UNITS
        costs = [np.floor(np.minimum(o.cost[row] / unit, 2 * BUDGET_UNITS)) for o in axes.options]
        weight = axes.spread([c.astype(np.int64) for c in costs], 0)
        yield LevelRow(weight, int(np.ceil(budget / unit)))
    for limit in query.max_changes:
        counted = [
            (o.moves[row] & (limit.features is None or i in limit.features)).astype(np.int64)
            for i, o in enumerate(axes.options)
        ]
        yield LevelRow(axes.spread(counted, 0), limit.count)


def _boxes(
    row: int, axes: SharedAxes, ensemble: Ensemble, cells: Cells, space: FeatureSpace
) -> tuple[Literals, BoolArray]:
    """Leaf boxes in options instead of cells, and the leaves that the row may get to."""
    alive = np.ones(cells.leaf_start.size - 1, dtype=np.bool_)
    leaf_of, groups = owners(cells.leaf_start), {group.column: group for group in cells.groups}
    order = np.argsort(cells.column, kind="stable")
    begin = np.searchsorted(cells.column[order], np.arange(len(cells.boundary) + 1))
    parts: list[Literals] = []
    for index, feature in enumerate(space.features):
        value = axes.options[index].value[row]
        mine = np.concatenate([order[begin[c] : begin[c + 1]] for c in feature.columns])
        if axes.ordered[index]:
            cell = _cells(cells, ensemble, feature.column, value)
            first, last = _intervals(cells, mine, cell, bool(np.isnan(value[0])))
            alive[leaf_of[mine[first > last]]] = False
            axis = np.full(mine.size, axes.first[index])
            parts.append((leaf_of[mine], axis, first, last))
            continue
        if feature.one_hot:
            leaves, able = _by_columns(cells, ensemble, feature, value, mine, leaf_of)
        elif feature.column in groups:
            group = groups[feature.column]
            cell = _cells(cells, ensemble, feature.column, value)
            leaves, able = group.leaf, group.allowed[:, group.class_of[cell]]
        else:
            continue  # a category that no tree looks at
        alive[leaves[~able.any(axis=1)]] = False
        parts.append(_exclusions(int(axes.first[index]), leaves, able))
    joined = [np.concatenate(each) for each in zip(*parts, strict=True)] if parts else []
    turn = np.argsort(joined[0], kind="stable")
    leaf, axis, lo, hi = (each[turn] for each in joined)
    return (leaf, axis, lo, hi), alive


def _cells(cells: Cells, ensemble: Ensemble, column: int, value: FloatArray) -> IntArray:
    """Return the cell of a column that contains each option's value, int64 (n_options,)."""
    return cell_of(cells.boundary[column], value.astype(ensemble.dtype).astype(np.float64))


def _intervals(
    cells: Cells, mine: IntArray, cell: IntArray, missing: bool
) -> tuple[IntArray, IntArray]:
    """First and last option that keeps each literal; the last comes first where none does."""
    if missing:  # and stays so
        assert cells.takes_missing is not None
        return np.zeros_like(mine), np.where(cells.takes_missing[mine], cell.size - 1, -1)
    first = np.searchsorted(cell, cells.lo[mine], side="left")
    return first, np.searchsorted(cell, cells.hi[mine], side="right") - 1


def _by_columns(
    cells: Cells,
    ensemble: Ensemble,
    feature: Feature,
    value: FloatArray,
    mine: IntArray,
    leaf_of: IntArray,
) -> tuple[IntArray, BoolArray]:
    """Leaves that look at the columns of a one-hot feature, and the options that get there."""
    leaves, at = np.unique(leaf_of[mine], return_inverse=True)
    able = np.ones((leaves.size, value.size), dtype=np.bool_)
    for category, column in enumerate(feature.columns):
        own = cells.column[mine] == column
        cell = _cells(cells, ensemble, column, (value == category).astype(np.float64))
        lo, hi = cells.lo[mine[own]][:, None], cells.hi[mine[own]][:, None]
        able[at[own]] &= (lo <= cell) & (cell <= hi)
    return leaves, able


def _exclusions(first: int, leaves: IntArray, able: BoolArray) -> Literals:
    """Literals of options with an axis each: yes of the only one that does, or no of others."""
    single = able.sum(axis=1) == 1
    literal = np.where(single[:, None], able, ~able)
    at, option = np.nonzero(literal)
    level = single[at].astype(np.int64)
    return leaves[at], first + option, level, level


def together(parts: Sequence[Problem], keep: BoolArray) -> Problem | None:
    """Several rows under one action; None if one of them has no way to its goal."""
    before = np.concatenate([[0], np.cumsum(keep)])
    left = [_reachable(part, before) for part in parts]
    if any(part is None for part in left):
        return None
    kept = [part for part in left if part is not None]
    n_leaves = [part.n_leaves for part in kept]
    at = starts(np.array(n_leaves))
    rows = []
    for place, part in enumerate(kept):
        for row in part.leaf_rows:
            weight = np.zeros(int(at[-1]), dtype=np.int64)
            weight[at[place] : at[place + 1]] = row.weight
            rows.append(LeafRow(weight, row.minimum))
    return replace(
        kept[0],
        tree_start=_appended([part.tree_start for part in kept]),
        leaf_start=_appended([part.leaf_start for part in kept]),
        axis=np.concatenate([part.axis for part in kept]),
        lo=np.concatenate([part.lo for part in kept]),
        hi=np.concatenate([part.hi for part in kept]),
        leaf_rows=tuple(rows),
        level_rows=tuple(row for part in kept for row in part.level_rows),
        exact=all(part.exact for part in kept),
        forbidden=tuple(box for part in kept for box in part.forbidden),
    )


def _appended(offsets: Sequence[IntArray]) -> IntArray:
    return starts(np.concatenate([np.diff(each) for each in offsets]))


def _reachable(part: Problem, before: IntArray) -> Problem | None:
    """Return a row's problem without unreachable leaves and trees with one leaf, or None.

    None if a tree has no leaf left or a row can't be satisfied. ``before`` is the number of kept
    levels before each level, int64 (n_levels + 1,).
    """
    first = part.level_start[part.axis]
    broken = before[first + part.hi + 1] == before[first + part.lo]
    leaf, tree = owners(part.leaf_start), owners(part.tree_start)
    alive = np.bincount(leaf[broken], minlength=part.n_leaves) == 0
    for row in part.leaf_rows:
        most = np.maximum.reduceat(np.where(alive, row.weight, -1), part.tree_start[:-1])
        if int(most.sum()) < row.minimum:
            return None
    left = np.bincount(tree[alive], minlength=part.tree_start.size - 1)
    if (left == 0).any():
        return None
    certain = alive & (left[tree] == 1)
    stays = alive & ~certain
    tells = stays[leaf]
    counts = np.bincount(tree[stays], minlength=left.size)
    tree_start = starts(counts[counts > 0])
    rows = []
    for row in part.leaf_rows:
        minimum = row.minimum - int(row.weight[certain].sum())
        weight = row.weight[stays]
        rows.append(
            LeafRow.normalised(weight, minimum, tree_start)
            if weight.size
            else LeafRow(weight, minimum)
        )
    return replace(
        part,
        tree_start=tree_start,
        leaf_start=starts(np.bincount(leaf[tells], minlength=alive.size)[stays]),
        axis=part.axis[tells],
        lo=part.lo[tells],
        hi=part.hi[tells],
        leaf_rows=tuple(rows),
    )
