"""Levels and leaves that no choice better than the incumbent can use.

Every rule keeps each choice that satisfies all rows and costs less than ``upper``:

cost
    A level or leaf whose cheapest completion costs at least ``upper``.
support
    A level or leaf with which some tree has no leaf left.
margin
    A level or leaf with which the best leaves of all trees together miss a row's minimum. Only
    leaves count that fit it *and* cost less than ``upper`` together with it.
"""

import numpy as np

from encoders.core.compiled import inner, kernel
from encoders.presolve.bounds.box_cost import range_cost, whole_cost

NOTHING_LEFT = -1  # instead of a number of levels and leaves
EFFORTS = (0, 1, 2)  # see tighten


@inner
def leaf_costs(t, alive, out):
    """Fill the cost of each leaf: beyond ``base`` ("sum"), or of its costliest axis ("max")."""
    leaf_axis = t.axis
    cheapest = t.best
    cost_of = t.cost
    leaf_hi = t.hi
    is_max = t.is_max
    leaf_start = t.leaf_start
    level_start = t.level_start
    leaf_lo = t.lo
    unimodal = t.unimodal
    for leaf in range(alive.size):
        if not alive[leaf]:
            continue
        extra = 0.0
        for k in range(leaf_start[leaf], leaf_start[leaf + 1]):
            c = range_cost(
                cost_of, level_start, cheapest, unimodal, leaf_axis[k], leaf_lo[k], leaf_hi[k]
            )
            extra = max(extra, c) if is_max else extra + c
        out[leaf] = extra


@inner
def drop_dear(t, upper, keep, alive, extra):
    """Drop levels and leaves that cost at least ``upper`` in any choice; return their number."""
    base = t.base
    cost_of = t.cost
    is_max = t.is_max
    dropped = 0
    leaf_costs(t, alive, extra)
    for v in range(keep.size):
        if keep[v] and whole_cost(base, is_max, cost_of[v]) >= upper:
            keep[v] = False
            dropped += 1
    for leaf in range(alive.size):
        if alive[leaf] and whole_cost(base, is_max, extra[leaf]) >= upper:
            alive[leaf] = False
            dropped += 1
    return dropped


@kernel
def tighten(t, upper, keep, alive, effort, budget):
    """Mark what can go in ``keep`` (levels) and ``alive`` (leaves)."""
    leaf_axis = t.axis
    base = t.base
    cheapest = t.best
    cost_of = t.cost
    leaf_hi = t.hi
    leaf_start = t.leaf_start
    level_start = t.level_start
    leaf_lo = t.lo
    need = t.need
    tree_start = t.tree_start
    unimodal = t.unimodal
    n_axes = cheapest.size
    extra = np.zeros(alive.size)
    if base >= upper:
        return NOTHING_LEFT, 0
    dropped = drop_dear(t, upper, keep, alive, extra)
    box_lo = np.zeros(n_axes, dtype=np.int64)
    box_hi = np.zeros(n_axes, dtype=np.int64)
    box_cost = np.zeros(n_axes)
    for a in range(n_axes):
        box_hi[a] = level_start[a + 1] - level_start[a] - 1
    rest = np.zeros((need.size, tree_start.size), dtype=np.int64)
    optimum_of_rest(t, alive, rest)
    fits, looked = _fits(t, upper, alive, rest, box_lo, box_hi, box_cost, 0.0)
    if not fits:
        return NOTHING_LEFT, looked
    if effort >= 1:
        for a in range(n_axes):
            first, size = level_start[a], level_start[a + 1] - level_start[a]
            for v in range(size if size > 1 else 0):
                if looked > budget or not keep[first + v]:
                    continue
                box_lo[a], box_hi[a], box_cost[a] = v, v, cost_of[first + v]
                fits, more = _fits(t, upper, alive, rest, box_lo, box_hi, box_cost, box_cost[a])
                looked += more
                if not fits:
                    keep[first + v] = False
                    dropped += 1
            box_lo[a], box_hi[a], box_cost[a] = 0, size - 1, 0.0
    if effort >= 2:
        for leaf in range(alive.size):
            if looked > budget:
                break
            if not alive[leaf]:
                continue
            for k in range(leaf_start[leaf], leaf_start[leaf + 1]):
                a = leaf_axis[k]
                box_lo[a], box_hi[a] = leaf_lo[k], leaf_hi[k]
                box_cost[a] = range_cost(
                    cost_of, level_start, cheapest, unimodal, a, leaf_lo[k], leaf_hi[k]
                )
            fits, more = _fits(t, upper, alive, rest, box_lo, box_hi, box_cost, extra[leaf])
            looked += more
            if not fits:
                alive[leaf] = False
                dropped += 1
            for k in range(leaf_start[leaf], leaf_start[leaf + 1]):
                a = leaf_axis[k]
                box_lo[a], box_cost[a] = 0, 0.0
                box_hi[a] = level_start[a + 1] - level_start[a] - 1
    return dropped, looked


@inner
def optimum_of_rest(t, alive, rest):
    """``rest[r, tree]``: the most that row r can still get from the trees from ``tree`` on."""
    need = t.need
    tree_start = t.tree_start
    weight = t.weight
    for r in range(need.size):
        for tree in range(tree_start.size - 2, -1, -1):
            best = 0
            for leaf in range(tree_start[tree], tree_start[tree + 1]):
                if alive[leaf]:
                    best = max(best, weight[r, leaf])
            rest[r, tree] = rest[r, tree + 1] + best


@inner
def _fits(t, upper, alive, rest, box_lo, box_hi, box_cost, box_extra):
    """Return whether the best affordable leaves in a box keep every row, and the leaves scanned."""
    leaf_axis = t.axis
    base = t.base
    cheapest = t.best
    cost_of = t.cost
    leaf_hi = t.hi
    is_max = t.is_max
    leaf_start = t.leaf_start
    level_start = t.level_start
    leaf_lo = t.lo
    need = t.need
    order = t.order
    tree_start = t.tree_start
    unimodal = t.unimodal
    weight = t.weight
    n_rows = need.size
    total = np.zeros(n_rows, dtype=np.int64)
    best = np.zeros(n_rows, dtype=np.int64)
    looked = 0
    for tree in range(tree_start.size - 1):
        supported = False
        best[:] = 0
        for i in range(tree_start[tree], tree_start[tree + 1]):
            leaf = order[0, i]
            if not alive[leaf]:
                continue
            useful = not supported
            for r in range(n_rows):
                useful = useful or weight[r, leaf] > best[r]
            if not useful:
                if n_rows == 1:
                    break
                continue
            looked += 1
            cost, fits = box_extra, True
            for k in range(leaf_start[leaf], leaf_start[leaf + 1]):
                a = leaf_axis[k]
                lo, hi = max(box_lo[a], leaf_lo[k]), min(box_hi[a], leaf_hi[k])
                if lo > hi:
                    fits = False
                    break
                c = range_cost(cost_of, level_start, cheapest, unimodal, a, lo, hi)
                cost = max(cost, c) if is_max else cost + c - box_cost[a]
                if whole_cost(base, is_max, cost) >= upper:
                    fits = False
                    break
            if not fits:
                continue
            supported = True
            for r in range(n_rows):
                best[r] = max(best[r], weight[r, leaf])
        if not supported:
            return False, looked
        for r in range(n_rows):
            total[r] += best[r]
            if total[r] + rest[r, tree + 1] < need[r]:
                return False, looked
    return True, looked
