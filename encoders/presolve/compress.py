"""Rebuild of a reduced problem: drop levels, merge levels with the same leaves, fix trees."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from encoders.core.arrays import BoolArray, IntArray, order_by, owners, starts
from encoders.core.errors import Over, look, never
from encoders.problem.problem import Box, LeafRow, LevelRow, Problem


@dataclass(frozen=True, eq=False)
class Lift:
    """Map from choices of a smaller problem to those of the original."""

    level_start: IntArray  # int64 (n_axes + 1,), levels of each axis of the smaller problem
    level: IntArray  # int64 (n_levels,), for each of its levels the level of the original axis

    def up(self, levels: IntArray) -> IntArray:
        """Return the choice in the original problem for a choice in the smaller one."""
        lifted: IntArray = self.level[self.level_start[:-1] + levels]
        return lifted

    def nearest(self, levels: IntArray, outer: IntArray) -> IntArray:
        """Return choices in the smaller problem that are similar to some in the original one."""
        above = np.searchsorted(self.places(outer), outer[:-1] + levels)
        first, end = self.level_start[:-1], self.level_start[1:]
        return np.clip(above, first, end - 1) - first

    def places(self, outer: IntArray) -> IntArray:
        """Each level of the smaller problem among all levels of the original, int64 (n_levels,)."""
        found: IntArray = outer[:-1][owners(self.level_start)] + self.level
        return found

    def then(self, inner: "Lift") -> "Lift":
        """First lift by ``inner``, then by this one."""
        return Lift(inner.level_start, self.level[inner.places(self.level_start)])


class Smaller(NamedTuple):
    """Problem that remains after dropping levels and leaves.

    Attributes
    ----------
    problem : the remaining problem.
    lift : map to choices of the original.
    leaf : int64 (n_leaves,), index of each leaf in the original.
    certain : int64, leaves of the original that every choice has, and that are taken out.
    """

    problem: Problem
    lift: Lift
    leaf: IntArray
    certain: IntArray


def identity(problem: Problem) -> Lift:
    """Return the map from each choice of a problem to itself."""
    first = problem.level_start[:-1][problem.axis_of]
    return Lift(problem.level_start, np.arange(problem.cost.size) - first)


def compress(
    problem: Problem, keep: BoolArray, alive: BoolArray, over: Over = never
) -> Smaller | None:
    """Return the problem without the levels and leaves not kept, None if no choice is left.

    Every choice of the original that uses only kept levels and leaves has one here. That costs at
    most as much and has the same active leaves. Every choice here is one there.
    """
    if not np.logical_or.reduceat(alive, problem.tree_start[:-1]).all():
        return None
    leaves = np.flatnonzero(alive)  # in most cases few: the others would be looked at in each step
    problem, alive = problem.only(alive), np.ones(leaves.size, dtype=np.bool_)
    keep = keep & _in_sole_leaves(problem, alive)
    look(over)
    keep = _merge_levels(problem, keep, alive)
    look(over)
    keep = _merge_categories(problem, keep, alive)
    look(over)
    smaller = drop(problem, keep, alive)
    if smaller is None:
        return None
    return smaller._replace(leaf=leaves[smaller.leaf], certain=leaves[smaller.certain])


def drop(problem: Problem, keep: BoolArray, alive: BoolArray) -> Smaller | None:
    """Return the problem with only the kept levels and leaves, None if no choice remains.

    Its choices are the choices of the original that use only kept levels and leaves.
    """
    owner = problem.axis_of
    level_start = starts(np.bincount(owner[keep], minlength=problem.n_axes))
    # For every old level the nearest kept one at or above, and at or below, within its axis.
    rank = np.cumsum(keep, dtype=np.int64)
    at_or_above = (rank - keep.astype(np.int64)) - level_start[:-1][owner]
    at_or_below = rank - 1 - level_start[:-1][owner]
    first = problem.level_start[:-1]
    size = np.diff(level_start)

    def place(axis: IntArray, lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
        begin = first[axis]
        return at_or_above[begin + lo], at_or_below[begin + hi]

    literal = np.flatnonzero(alive[problem.leaf_of])
    axis, leaf = problem.axis[literal], problem.leaf_of[literal]
    lo, hi = place(axis, problem.lo[literal], problem.hi[literal])
    alive = alive.copy()
    alive[leaf[lo > hi]] = False
    held = np.bincount(problem.tree_of[alive], minlength=problem.tree_start.size - 1)
    if (size == 0).any() or (held == 0).any():
        return None
    tells = ((lo > 0) | (hi < size[axis] - 1)) & alive[leaf]
    tried = alive
    told = np.bincount(leaf[tells], minlength=alive.size)
    alive, rows, tree_start = _fix_trees(problem, alive, told)
    tells &= alive[leaf]
    per_leaf = np.bincount(leaf[tells], minlength=alive.size)[alive]
    lift = Lift(level_start, np.flatnonzero(keep) - first[owner[keep]])
    smaller = replace(
        problem,
        level_start=level_start,
        cost=problem.cost[keep],
        one_hot=_one_hot(problem, keep, rank),
        tree_start=tree_start,
        leaf_start=starts(per_leaf),
        axis=axis[tells],
        lo=lo[tells],
        hi=hi[tells],
        leaf_rows=rows,
        level_rows=tuple(LevelRow(r.weight[keep], r.maximum) for r in problem.level_rows),
        forbidden=tuple(
            Box(box.axis, *place(box.axis, box.lo, box.hi)) for box in problem.forbidden
        ),
    )
    smaller = replace(smaller, forbidden=_reachable(smaller.forbidden))
    return Smaller(smaller, lift, np.flatnonzero(alive), np.flatnonzero(tried & ~alive))


def _reachable(boxes: tuple[Box, ...]) -> tuple[Box, ...]:
    return tuple(box for box in boxes if (box.lo <= box.hi).all())


def _one_hot(problem: Problem, keep: BoolArray, rank: IntArray) -> tuple[IntArray, ...]:
    return tuple(rank[group[keep[group]]] - 1 for group in problem.one_hot)


def _in_sole_leaves(problem: Problem, alive: BoolArray) -> BoolArray:
    """Levels inside the box of every leaf that is the only one left of its tree."""
    tree = problem.tree_of
    left = np.bincount(tree[alive], minlength=problem.tree_start.size - 1)
    sole = alive & (left[tree] == 1)
    literal = sole[problem.leaf_of]
    axis, lo, hi = (
        problem.axis[literal],
        problem.level_start[:-1].copy(),
        problem.level_start[1:] - 1,
    )
    np.maximum.at(lo, axis, problem.level_start[axis] + problem.lo[literal])
    np.minimum.at(hi, axis, problem.level_start[axis] + problem.hi[literal])
    owner, level = problem.axis_of, np.arange(problem.cost.size)
    inside: BoolArray = (lo[owner] <= level) & (level <= hi[owner])
    return inside


def _merge_levels(problem: Problem, keep: BoolArray, alive: BoolArray) -> BoolArray:
    """Keep the cheapest of neighbouring levels that are in the same leaves.

    Where a level row weighs them differently, those that weigh less than the cheapest stay too.
    """
    owner = problem.axis_of
    cut = np.zeros(problem.cost.size + 1, dtype=np.bool_)
    cut[problem.level_start[:-1]] = True
    literal = alive[problem.leaf_of]
    boxes = [(problem.axis[literal], problem.lo[literal], problem.hi[literal])]
    boxes += [(box.axis, box.lo, box.hi) for box in problem.forbidden]
    for axis, lo, hi in boxes:
        cut[problem.level_start[:-1][axis] + lo] = True
        cut[problem.level_start[:-1][axis] + hi + 1] = True
    grouped = np.zeros(problem.n_axes, dtype=np.bool_)
    for group in problem.one_hot:
        grouped[owner[group]] = True
    cut[:-1] |= grouped[owner]
    level = np.flatnonzero(keep)
    segment = np.cumsum(cut[:-1])[level]
    order = np.lexsort((level, problem.cost[level], segment))
    first = order[np.diff(segment[order], prepend=-1) > 0]
    kept = np.zeros_like(keep)
    kept[level[first]] = True
    for row in problem.level_rows:
        cheapest = np.zeros(int(segment.max(initial=0)) + 1, dtype=np.int64)
        cheapest[segment[first]] = row.weight[level[first]]
        kept[level[row.weight[level] < cheapest[segment]]] = True
    return kept


def _merge_categories(problem: Problem, keep: BoolArray, alive: BoolArray) -> BoolArray:
    """Keep the cheapest of categories that are in the same leaves (under equal level rows)."""
    if not problem.one_hot:
        return keep
    keep = keep.copy()
    owner = problem.axis_of
    for group in problem.one_hot:
        _force_group(problem, group, keep, owner)
    literal = np.flatnonzero(alive[problem.leaf_of])
    literal = literal[order_by(problem.axis[literal], problem.n_axes)]
    leaf = problem.leaf_of[literal]
    begin = np.searchsorted(problem.axis[literal], np.arange(problem.n_axes + 1))
    in_box = {int(a) for box in problem.forbidden for a in box.axis}
    for group in problem.one_hot:
        seen: set[tuple[bytes, ...]] = set()
        kept = group[keep[group]]
        for level in kept[np.argsort(problem.cost[kept], kind="stable")].tolist():
            a = int(owner[level])
            if a in in_box:
                continue
            part = slice(begin[a], begin[a + 1])
            sign = (
                leaf[part].tobytes(),
                problem.lo[literal[part]].tobytes(),
                np.array([row.weight[level] for row in problem.level_rows]).tobytes(),
            )
            if sign in seen:
                keep[level] = False
            seen.add(sign)
        _settle_group(problem, group, keep, owner)
    return keep


def _force_group(problem: Problem, group: IntArray, keep: BoolArray, owner: IntArray) -> None:
    """Drop categories excluded by one that must be 1; drop a whole axis if none is feasible."""
    axes = owner[group]
    zero = 2 * problem.level_start[axes] + 1 - group
    forced = keep[group] & ((problem.size[axes] == 1) | ~keep[np.minimum(zero, keep.size - 1)])
    if forced.any():
        keep[group[~forced]] = False
    if forced.sum() > 1 or not keep[group].any():
        a = axes[0]
        keep[problem.level_start[a] : problem.level_start[a + 1]] = False


def _settle_group(problem: Problem, group: IntArray, keep: BoolArray, owner: IntArray) -> None:
    """With one category left its axis is 1; updates ``keep`` in place."""
    left = group[keep[group]]
    if left.size == 1:
        a = owner[left[0]]
        zero = problem.level_start[a] + (1 - (left[0] - problem.level_start[a]))
        if problem.size[a] > 1:
            keep[zero] = False


def _fix_trees(
    problem: Problem, alive: BoolArray, tells: IntArray
) -> tuple[BoolArray, tuple[LeafRow, ...], IntArray]:
    """Take trees whose one leaf is certain out, into the rows' minima; drop rows that hold.

    What stays of the leaves, the rows of it, and its ``tree_start``.
    """
    tree = problem.tree_of
    left = np.bincount(tree[alive], minlength=problem.tree_start.size - 1)
    certain = alive & (left[tree] == 1) & (tells == 0)
    stays = alive & ~certain
    held = np.bincount(tree[stays], minlength=1)
    tree_start = starts(held[held > 0])
    rows = []
    for row in problem.leaf_rows:
        minimum = row.minimum - int(row.weight[certain].sum())
        weight = row.weight[stays]
        if not weight.size:
            rows.append(LeafRow(weight, minimum))
            continue
        rows.append(LeafRow.normalised(weight, minimum, tree_start))
    return stays, tuple(rows), tree_start
