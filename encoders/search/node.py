"""Node of the branch and bound: a box of levels, its cheapest choice, and the rows that this keeps.

A box that is split, and the levels that are cut off it, are in :mod:`encoders.search.drops`.
"""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import BoolArray, IntArray
from encoders.core.compiled import inlined, inner
from encoders.presolve.bounds.box_cost import cheapest_level

PRUNED, SOLVED, SPLIT = 0, 1, 2  # what becomes of a node
PROPAGATIONS = 20  # rounds at most in which a node is shrunk; with fewer more are split


class Node(NamedTuple):
    """A box of levels under expansion, and the work arrays of the expansion.

    Attributes
    ----------
    lo, hi : int64 (n_axes,), first and last level of each axis.
    point : int64 (n_axes,), cheapest choice of the box.
    span : int64 (2,), first and last demand of interest, see :mod:`encoders.search.demands`.
    split : int64 (3,), axis, level, and whether the near side is the low one.
    live : bool (n_leaves,), leaves that may be active in the box.
    best : int64 (n_rows + 1, n_trees), heaviest live leaf of each tree in each row; in the last row
        the leaf that contains the point, or -1.
    slack : int64 (n_rows,), surplus of the best leaves over each row's need.
    up, down : int64 (n_rows, n_levels), loss of a row if an axis stays at or below a level, or at
        or above it.
    """

    lo: IntArray
    hi: IntArray
    point: IntArray
    span: IntArray
    split: IntArray
    live: BoolArray
    best: IntArray
    slack: IntArray
    up: IntArray
    down: IntArray


@inner
def workspace(t, point):
    """Return an empty node whose cheapest choice is written to ``point``."""
    n_rows, n_levels = t.need.size, t.cost.size
    return Node(
        np.zeros(point.size, np.int64), np.zeros(point.size, np.int64), point,
        np.zeros(2, np.int64), np.zeros(3, np.int64), np.zeros(t.tree_of.size, np.bool_),
        np.zeros((n_rows + 1, t.tree_start.size - 1), np.int64), np.zeros(n_rows, np.int64),
        np.zeros((n_rows, n_levels), np.int64), np.zeros((n_rows, n_levels), np.int64),
    )  # fmt: skip


@inlined
def propagate_groups(t, lo, hi):
    """Shrink a box to what its one-hot groups allow; return False if one has no choice."""
    group_axes, group_start, one = t.group_axes, t.group_start, t.one
    for g in range(group_start.size - 1):
        forced, possible, last = 0, 0, -1
        for i in range(group_start[g], group_start[g + 1]):
            a = group_axes[i]
            if lo[a] <= one[a] <= hi[a]:
                possible += 1
                last = a
                if lo[a] == hi[a]:
                    forced += 1
        if possible == 0 or forced > 1:
            return False
        if possible == 1:
            lo[last] = one[last]
            hi[last] = one[last]
        elif forced == 1:
            for i in range(group_start[g], group_start[g + 1]):
                a = group_axes[i]
                if lo[a] < hi[a]:
                    lo[a] = 1 - one[a]
                    hi[a] = 1 - one[a]
    return True


@inner
def cheapest_point(t, lo, hi, point):
    """Fill the cheapest choice of a box; returns its cost, inf if a group has no choice.

    One-hot groups are propagated into ``lo`` and ``hi``.
    """
    if not propagate_groups(t, lo, hi):
        return np.inf
    cheapest, cost_of, is_max, level_start = t.best, t.cost, t.is_max, t.level_start
    unimodal, total = t.unimodal, t.base
    for a in range(lo.size):
        point[a] = cheapest_level(cost_of, level_start, cheapest, unimodal, a, lo[a], hi[a])
        c = cost_of[level_start[a] + point[a]]
        total = max(total, c) if is_max else total + c
    for g in range(t.group_start.size - 1):
        total = _settle_group(t, g, lo, hi, point, total)
    return total


@inner
def _settle_group(t, g, lo, hi, point, total):
    """With its cheapest category gone a group takes the cheapest one that is left."""
    entry, cheapest = -1, np.inf
    for i in range(t.group_start[g], t.group_start[g + 1]):
        a = t.group_axes[i]
        if point[a] == t.one[a]:
            return total
        if lo[a] <= t.one[a] <= hi[a] and t.cost[t.level_start[a] + t.one[a]] < cheapest:
            entry, cheapest = a, t.cost[t.level_start[a] + t.one[a]]
    point[entry] = t.one[entry]
    return max(total, cheapest) if t.is_max else total + cheapest


@inner
def overloaded(t, lo, hi):
    """Return whether every choice in the box breaks a level row."""
    level_limit, level_start, level_weight = t.level_limit, t.level_start, t.level_weight
    for q in range(level_limit.size):
        load = -level_limit[q]
        for a in range(lo.size):
            first = level_start[a]
            lightest = level_weight[q, first + lo[a]]
            for v in range(lo[a] + 1, hi[a] + 1):
                lightest = min(lightest, level_weight[q, first + v])
            load += lightest
        if load > 0:
            return True
    return False


@inner
def is_forbidden(forbidden, lo, hi):
    """Return whether a forbidden box contains the whole box."""
    rows, start = forbidden
    for b in range(start.size - 1):
        inside = True
        for i in range(start[b], start[b + 1]):
            a = rows[i, 0]
            if lo[a] < rows[i, 1] or hi[a] > rows[i, 2]:
                inside = False
                break
        if inside:
            return True
    return False


@inlined
def fill_slack(t, node):
    """Fill the surplus of the best leaves of all trees over each row's need; False if negative."""
    best, need, slack, weight = node.best, t.need, node.slack, t.weight
    for r in range(need.size):
        slack[r] = -need[r]
        for tree in range(best.shape[1]):
            slack[r] += weight[r, best[r, tree]]
        if slack[r] < 0:
            return False
    return True


@inner
def point_keeps_rows(t, node, forbidden):
    """Return whether the cheapest choice satisfies every row and lies in no forbidden box.

    Most fail, and an early row usually shows it.
    """
    best, live, point, weight = node.best, node.live, node.point, t.weight
    left = node.slack.copy()
    for tree in range(best.shape[1]):
        leaf = best[left.size, tree]
        # Where leaves have been ruled out a choice may lie in none of a tree's.
        if leaf < 0 or not live[leaf]:
            return False
        for r in range(left.size):
            left[r] -= weight[r, best[r, tree]] - weight[r, leaf]
            if left[r] < 0:
                return False
    return not overloaded(t, point, point) and not is_forbidden(forbidden, point, point)
