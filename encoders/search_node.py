"""One node of the branch and bound: a box of levels, its bounds, and where to split it."""

import numba
import numpy as np

from encoders.reduce.moves import OPTIONS
from encoders.reduce.tighten import range_cost

PRUNED, SOLVED, SPLIT = 0, 1, 2


@numba.njit(**OPTIONS)
def cheapest_point(t, lo, hi, point):
    """Fill the cheapest choice of a box; returns its cost, inf if a group has no choice.

    One-hot groups are propagated into ``lo`` and ``hi``.
    """
    for g in range(t.group_start.size - 1):
        forced, possible, last = 0, 0, -1
        for i in range(t.group_start[g], t.group_start[g + 1]):
            a = t.group_axes[i]
            if lo[a] <= t.one[a] <= hi[a]:
                possible += 1
                last = a
                if lo[a] == hi[a]:
                    forced += 1
        if possible == 0 or forced > 1:
            return np.inf
        if possible == 1:
            lo[last] = t.one[last]
            hi[last] = t.one[last]
        elif forced == 1:
            for i in range(t.group_start[g], t.group_start[g + 1]):
                a = t.group_axes[i]
                if lo[a] < hi[a]:
                    lo[a] = 1 - t.one[a]
                    hi[a] = 1 - t.one[a]
    total = t.base
    for a in range(lo.size):
        first = t.level_start[a]
        if t.unimodal[a]:
            point[a] = min(max(t.best[a], lo[a]), hi[a])
        else:
            point[a] = lo[a]
            for v in range(lo[a] + 1, hi[a] + 1):
                if t.cost[first + v] < t.cost[first + point[a]]:
                    point[a] = v
        c = t.cost[first + point[a]]
        total = max(total, c) if t.is_max else total + c
    for g in range(t.group_start.size - 1):
        total = _settle_group(t, g, lo, hi, point, total)
    return total


@numba.njit(**OPTIONS)
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


@numba.njit(**OPTIONS)
def scan_leaves(t, lo, hi, point, cost, upper, live, best):
    """Mark the leaves that fit the box and can be paid for; fill ``best[r, tree]``.

    Returns a lower bound on the box's cost: every tree needs one of its leaves. inf if a tree
    has none.
    """
    lower = cost
    n_rows = t.need.size
    for tree in range(t.tree_start.size - 1):
        dearest = np.inf
        for r in range(n_rows):
            best[r, tree] = -1
        for leaf in range(t.tree_start[tree], t.tree_start[tree + 1]):
            live[leaf] = False
            extra, fits = cost, True
            for k in range(t.leaf_start[leaf], t.leaf_start[leaf + 1]):
                a = t.axis[k]
                first, last = max(lo[a], t.lo[k]), min(hi[a], t.hi[k])
                if first > last:
                    fits = False
                    break
                if not first <= point[a] <= last:
                    c = range_cost(t, a, first, last)
                    if t.is_max:
                        extra = max(extra, c)
                    elif t.group_of[a] < 0:
                        extra += c - t.cost[t.level_start[a] + point[a]]
                    if extra >= upper:
                        fits = False
                        break
            if not fits:
                continue
            live[leaf] = True
            dearest = min(dearest, extra)
            for r in range(n_rows):
                w = t.weight[r, leaf]
                if best[r, tree] < 0 or w > t.weight[r, best[r, tree]]:
                    best[r, tree] = leaf
        lower = max(lower, dearest)
        if lower >= upper:
            return np.inf
    return lower


@numba.njit(**OPTIONS)
def point_keeps_rows(t, point, live, forbidden, forbidden_start):
    """Whether the cheapest choice satisfies every row and lies in no forbidden box."""
    for r in range(t.need.size):
        total = -t.need[r]
        for leaf in range(live.size):
            if live[leaf]:
                inside = True
                for k in range(t.leaf_start[leaf], t.leaf_start[leaf + 1]):
                    if not t.lo[k] <= point[t.axis[k]] <= t.hi[k]:
                        inside = False
                        break
                if inside:
                    total += t.weight[r, leaf]
        if total < 0:
            return False
    for q in range(t.level_limit.size):
        load = -t.level_limit[q]
        for a in range(point.size):
            load += t.level_weight[q, t.level_start[a] + point[a]]
        if load > 0:
            return False
    for b in range(forbidden_start.size - 1):
        inside = True
        for i in range(forbidden_start[b], forbidden_start[b + 1]):
            v = point[forbidden[i, 0]]
            if v < forbidden[i, 1] or v > forbidden[i, 2]:
                inside = False
                break
        if inside:
            return False
    return True


@numba.njit(**OPTIONS)
def overloaded(t, lo, hi):
    """Whether a level row is broken by every choice in the box."""
    for q in range(t.level_limit.size):
        load = -t.level_limit[q]
        for a in range(lo.size):
            first = t.level_start[a]
            lightest = t.level_weight[q, first + lo[a]]
            for v in range(lo[a] + 1, hi[a] + 1):
                lightest = min(lightest, t.level_weight[q, first + v])
            load += lightest
        if load > 0:
            return True
    return False


@numba.njit(**OPTIONS)
def fill_drops(t, r, point, live, best, up, down):
    """How much row r's bound falls if an axis stays on the point's side of a level.

    ``up[level]``: if the axis stays at or below this level (levels from the point on);
    ``down[level]``: if it stays at or above it. Only trees whose best leaf lies beyond count.
    """
    up[:] = 0
    down[:] = 0
    for tree in range(t.tree_start.size - 1):
        top = best[r, tree]
        w = t.weight[r, top]
        for k in range(t.leaf_start[top], t.leaf_start[top + 1]):
            a = t.axis[k]
            first = t.level_start[a]
            if t.lo[k] > point[a]:
                # Going down from the best leaf's side, the next best that needs less.
                edge, weight_inside = t.lo[k], 0
                held = edge
                for i in range(t.tree_start[tree], t.tree_start[tree + 1]):
                    leaf = t.order[r, i]
                    if not live[leaf]:
                        continue
                    reach = _needs_at_least(t, leaf, a)
                    if reach < held:
                        weight_inside = t.weight[r, leaf]
                        stop = max(reach, point[a])
                        # Between its reach and the last one's this leaf is the best left.
                        for v in range(stop, held):
                            up[first + v] += w - weight_inside
                        held = stop
                        if held <= point[a]:
                            break
                for v in range(point[a], held):
                    up[first + v] += w
            elif t.hi[k] < point[a]:
                held = t.hi[k]
                for i in range(t.tree_start[tree], t.tree_start[tree + 1]):
                    leaf = t.order[r, i]
                    if not live[leaf]:
                        continue
                    reach = _needs_at_most(t, leaf, a)
                    if reach > held:
                        weight_inside = t.weight[r, leaf]
                        stop = min(reach, point[a])
                        for v in range(held + 1, stop + 1):
                            down[first + v] += w - weight_inside
                        held = stop
                        if held >= point[a]:
                            break
                for v in range(held + 1, point[a] + 1):
                    down[first + v] += w


@numba.njit(**OPTIONS)
def _needs_at_least(t, leaf, a):
    for k in range(t.leaf_start[leaf], t.leaf_start[leaf + 1]):
        if t.axis[k] == a:
            return t.lo[k]
    return 0


@numba.njit(**OPTIONS)
def _needs_at_most(t, leaf, a):
    for k in range(t.leaf_start[leaf], t.leaf_start[leaf + 1]):
        if t.axis[k] == a:
            return t.hi[k]
    return t.level_start[a + 1] - t.level_start[a] - 1
