"""Problems as flat arrays for compiled code, with separable costs of one-hot groups."""

from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, order_by, runs, starts
from encoders.core.errors import Over, look, never
from encoders.problem.problem import LevelRow, Problem


class Tables(NamedTuple):
    """Flat arrays of a problem, for the compiled reducer and the branch and bound.

    For "sum", costs are shifted so that the cheapest level of every axis costs 0; ``base`` contains
    the rest. Costs of one-hot groups become separable. Let k be the cheapest category and s the
    second lowest cost. Leaving k costs ``s - c_k`` on k's axis, and entering j costs ``c_j - s`` on
    j's axis. For "max", costs are not shifted, and leaving k costs s.

    Attributes
    ----------
    level_start : first level of each axis, int64 (n_axes + 1,).
    cost : cost of each level, float64 (n_levels,).
    base : lower bound on the cost of every choice, float.
    is_max : whether costs are combined by "max" rather than "sum".
    best : cheapest level of each axis (a valid choice in every group), int64 (n_axes,).
    unimodal : whether the cost falls up to ``best`` and rises after it, bool (n_axes,).
    tree_start, leaf_start, axis, lo, hi : leaves as in :class:`Problem`.
    leaf_of : leaf of each literal, int64 (n_literals,).
    tree_of : tree of each leaf, int64 (n_leaves,).
    by_axis : literals ordered by axis, int64 (n_literals,).
    axis_start : offsets into ``by_axis``, int64 (n_axes + 1,). Literals of axis a are at
        axis_start[a]:axis_start[a + 1].
    weight, need : leaf rows, int64 (n_rows, n_leaves) and (n_rows,).
    order : leaves tree by tree, the heaviest of the row first, int64 (n_rows, n_leaves).
    level_weight, level_limit : level rows, int64 (n_level_rows, n_levels) and (n_level_rows,).
    group_of : one-hot group of each axis, int64 (n_axes,); -1 outside of groups.
    group_start : offsets into ``group_axes``, int64 (n_groups + 1,).
    group_axes : axes group by group, int64 (n_grouped,).
    one : level that means 1 on a group's axis, int64 (n_axes,); -1 outside of groups.
    """

    level_start: IntArray
    cost: FloatArray
    base: float
    is_max: bool
    best: IntArray
    unimodal: BoolArray
    tree_start: IntArray
    leaf_start: IntArray
    axis: IntArray
    lo: IntArray
    hi: IntArray
    leaf_of: IntArray
    tree_of: IntArray
    by_axis: IntArray
    axis_start: IntArray
    weight: IntArray
    need: IntArray
    order: IntArray
    level_weight: IntArray
    level_limit: IntArray
    group_of: IntArray
    group_start: IntArray
    group_axes: IntArray
    one: IntArray


class Boxes(NamedTuple):
    """Arrays of :class:`Tables` that do not depend on costs and level rows."""

    level_start: IntArray
    tree_start: IntArray
    leaf_start: IntArray
    axis: IntArray
    lo: IntArray
    hi: IntArray
    leaf_of: IntArray
    tree_of: IntArray
    by_axis: IntArray
    axis_start: IntArray
    weight: IntArray
    need: IntArray
    order: IntArray
    group_of: IntArray
    group_start: IntArray
    group_axes: IntArray
    one: IntArray


def priced(problem: Problem, cost: FloatArray, level_rows: tuple[LevelRow, ...]) -> Problem:
    """Return a problem with other costs and level rows, which shares what depends on neither."""
    derived = vars(problem)
    if "boxes" not in derived:
        derived["boxes"] = boxes_of(problem)
    other = replace(problem, cost=cost, level_rows=level_rows)
    names = {field.name for field in fields(problem)}
    vars(other).update({name: value for name, value in derived.items() if name not in names})
    return other


def tabulate(problem: Problem, over: Over = never) -> Tables:
    """Return a problem as flat arrays."""
    boxes: Boxes = vars(problem).get("boxes") or boxes_of(problem, over)
    owner, one = problem.axis_of, boxes.one
    group_axes = [boxes.group_axes[begin:end] for begin, end in runs(boxes.group_start)]
    cost, best = _separable(problem, group_axes, one)
    first = problem.level_start[:-1]
    smallest = np.minimum.reduceat(cost, first)
    is_max = problem.aggregate == "max"
    base = float(smallest.max(initial=0.0) if is_max else smallest.sum())
    if not is_max:
        cost = cost - smallest[owner]
    n_levels = problem.cost.size
    return Tables(
        **boxes._asdict(),
        cost=cost,
        base=base,
        is_max=is_max,
        best=best,
        unimodal=_unimodal(cost, problem.level_start, best, owner),
        level_weight=_stack([row.weight for row in problem.level_rows], n_levels),
        level_limit=np.array([row.maximum for row in problem.level_rows], dtype=np.int64),
    )


def boxes_of(problem: Problem, over: Over = never) -> Boxes:
    """Return the arrays of a problem that do not depend on costs.

    Arrays of the problem are copied, so that all arrays are writeable: numba would compile
    read-only ones separately.
    """
    look(over)
    group_of = np.full(problem.n_axes, -1, dtype=np.int64)
    one = np.full(problem.n_axes, -1, dtype=np.int64)
    group_axes = [problem.axis_of[group] for group in problem.one_hot]
    for g, (axes, group) in enumerate(zip(group_axes, problem.one_hot, strict=True)):
        group_of[axes] = g
        one[axes] = group - problem.level_start[axes]
    weight = _stack([row.weight for row in problem.leaf_rows], problem.n_leaves)
    tree_of = problem.tree_of
    look(over)
    by_axis = order_by(problem.axis, problem.n_axes)
    order = []
    for row in weight:
        look(over)
        order.append(np.lexsort((-row, tree_of)))
    look(over)
    return Boxes(
        level_start=problem.level_start.copy(),
        tree_start=problem.tree_start.copy(),
        leaf_start=problem.leaf_start.copy(),
        axis=problem.axis.copy(),
        lo=problem.lo.copy(),
        hi=problem.hi.copy(),
        leaf_of=problem.leaf_of.copy(),
        tree_of=tree_of.copy(),
        by_axis=by_axis,
        axis_start=starts(np.bincount(problem.axis, minlength=problem.n_axes)),
        weight=weight,
        need=np.array([row.minimum for row in problem.leaf_rows], dtype=np.int64),
        order=_stack(order, problem.n_leaves),
        group_of=group_of,
        group_start=starts(np.array([axes.size for axes in group_axes], dtype=np.int64)),
        group_axes=np.concatenate([np.zeros(0, dtype=np.int64), *group_axes]),
        one=one,
    )


def _stack(rows: list[IntArray], width: int) -> IntArray:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _separable(
    problem: Problem, group_axes: list[IntArray], one: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return separable costs, float64 (n_levels,), and the best level of each axis.

    For every valid choice the costs on a group's axes add up to the cost of the chosen category.
    """
    cost = problem.cost.copy()
    first, size = problem.level_start[:-1], problem.size
    owner = problem.axis_of
    cheap = np.flatnonzero(cost == np.minimum.reduceat(cost, first)[owner])
    best = cheap[np.searchsorted(cheap, first)] - first  # the first cheapest level of each axis
    for axes in group_axes:
        price = problem.cost[first[axes] + one[axes]]
        order = np.argsort(price, kind="stable")
        cheapest = axes[order[0]]
        second = price[order[1]] if order.size > 1 else price[order[0]]
        shift = 0.0 if problem.aggregate == "max" else second
        for a, p in zip(axes, price, strict=True):
            zero = first[a] + 1 - one[a]
            if a == cheapest:
                best[a] = one[a]
                if size[a] > 1:
                    cost[zero] = second
            else:
                best[a] = 1 - one[a] if size[a] > 1 else 0
                cost[first[a] + one[a]] = p - shift
    return cost, best


def _unimodal(
    cost: FloatArray, level_start: IntArray, best: IntArray, owner: IntArray
) -> BoolArray:
    """Return whether an axis' cost never falls with the distance to its best level, (n_axes,)."""
    step, of_step = cost[1:] - cost[:-1], owner[:-1]
    falls = np.arange(step.size) < (level_start[:-1] + best)[of_step]
    wrong = (of_step == owner[1:]) & np.where(falls, step > 0, step < 0)
    flags = np.ones(level_start.size - 1, dtype=np.bool_)
    flags[of_step[wrong]] = False
    return flags
