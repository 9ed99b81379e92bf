"""Node of the branch and bound: a box of levels, its bounds, and where to split it."""

import numpy as np

from encoders.core.compiled import ONE, inlined, inner

PRUNED, SOLVED, SPLIT = 0, 1, 2  # what becomes of a node


@inner
def cheapest_point(t, lo, hi, point):
    """Fill the cheapest choice of a box; returns its cost, inf if a group has no choice.

    One-hot groups are propagated into ``lo`` and ``hi``.
    """
    base = t.base
    cheapest = t.best
    cost_of = t.cost
    group_axes = t.group_axes
    group_start = t.group_start
    is_max = t.is_max
    level_start = t.level_start
    one = t.one
    unimodal = t.unimodal
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
            return np.inf
        if possible == 1:
            lo[last] = one[last]
            hi[last] = one[last]
        elif forced == 1:
            for i in range(group_start[g], group_start[g + 1]):
                a = group_axes[i]
                if lo[a] < hi[a]:
                    lo[a] = 1 - one[a]
                    hi[a] = 1 - one[a]
    total = base
    for a in range(lo.size):
        first = level_start[a]
        if unimodal[a]:
            point[a] = min(max(cheapest[a], lo[a]), hi[a])
        else:
            point[a] = lo[a]
            for v in range(lo[a] + 1, hi[a] + 1):
                if cost_of[first + v] < cost_of[first + point[a]]:
                    point[a] = v
        c = cost_of[first + point[a]]
        total = max(total, c) if is_max else total + c
    for g in range(group_start.size - 1):
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
    level_limit = t.level_limit
    level_start = t.level_start
    level_weight = t.level_weight
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
def fill_drops(t, r, lo, hi, point, live, best, up, down):
    """Fill the drop of row r's bound if an axis stays on the point's side of a level.

    ``up[level]``: if the axis stays at or below this level (levels from the point on);
    ``down[level]``: if it stays at or above it. Only trees whose best leaf lies beyond count.
    """
    leaf_axis = t.axis
    leaf_hi = t.hi
    leaf_start = t.leaf_start
    level_start = t.level_start
    leaf_lo = t.lo
    order = t.order
    tree_start = t.tree_start
    weight = t.weight
    for b in range(lo.size):
        for v in range(level_start[b] + lo[b], level_start[b] + hi[b] + 1):
            up[v] = 0
            down[v] = 0
    for tree in range(tree_start.size - 1):
        top = np.uint64(best[r, tree])
        w = weight[r, top]
        if w == 0:
            continue
        begin, end = np.uint64(tree_start[tree]), np.uint64(tree_start[tree + 1])
        for k in range(np.uint64(leaf_start[top]), np.uint64(leaf_start[top + ONE])):
            a = np.uint64(leaf_axis[k])
            first = level_start[a]
            if leaf_lo[k] > point[a]:
                # Going down from the best leaf's side, the next best that needs less.
                edge, weight_inside = leaf_lo[k], 0
                held = edge
                for i in range(begin, end):
                    leaf = np.uint64(order[r, i])
                    if not live[leaf]:
                        continue
                    reach = _edge_on(leaf_start, leaf_axis, leaf_lo, leaf, a, 0)
                    if reach < held:
                        weight_inside = weight[r, leaf]
                        stop = max(reach, point[a])
                        # Between its reach and the last one's this leaf is the best left. Only
                        # the ends are marked here, and summed afterwards.
                        up[first + stop] += w - weight_inside
                        up[first + held] -= w - weight_inside
                        held = stop
                        if held <= point[a]:
                            break
                if point[a] < held:
                    up[first + point[a]] += w
                    up[first + held] -= w
            elif leaf_hi[k] < point[a]:
                held, last = leaf_hi[k], level_start[a + ONE] - first - 1
                for i in range(begin, end):
                    leaf = np.uint64(order[r, i])
                    if not live[leaf]:
                        continue
                    reach = _edge_on(leaf_start, leaf_axis, leaf_hi, leaf, a, last)
                    if reach > held:
                        weight_inside = weight[r, leaf]
                        stop = min(reach, point[a])
                        down[first + stop] += w - weight_inside
                        down[first + held] -= w - weight_inside
                        held = stop
                        if held >= point[a]:
                            break
                if held < point[a]:
                    down[first + point[a]] += w
                    down[first + held] -= w
    for b in range(lo.size):
        first, total = level_start[b], 0
        for v in range(first + lo[b], first + hi[b] + 1):
            total += up[v]
            up[v] = total
        total = 0
        for v in range(first + hi[b], first + lo[b] - 1, -1):
            total += down[v]
            down[v] = total


@inlined
def _edge_on(leaf_start, leaf_axis, edge, leaf, a, outermost):
    """Return where a leaf ends on an axis, from its lower or upper ends."""
    reach = outermost
    for k in range(np.uint64(leaf_start[leaf]), np.uint64(leaf_start[leaf + ONE])):
        if leaf_axis[k] == a:
            reach = edge[k]
    return reach
