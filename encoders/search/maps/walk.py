"""The cheapest choice of a map's boxes, under costs that come with each query."""

import numpy as np

from encoders.core.compiled import inner, kernel
from encoders.presolve.bounds.box_cost import cheapest_level, range_cost
from encoders.search.maps.look import OPEN


@kernel
def walk(tree, depth, t, goals, cost, is_max, upper, point):
    """Go down to the boxes that may hold something cheaper, the cheaper side first.

    Costs are separable: a box costs what its cheapest levels do, and a group what its cheapest
    remaining category does. A side never costs less than the whole, so a sum of floats has a small
    relative error.

    Return the cost of the cheapest choice (inf if there is none below ``upper``) and the goals that
    it reaches. The last value is the least cost of an open box that was met below it.
    """
    level_start, group_of = t.level_start, t.group_of
    n_axes = level_start.size - 1
    best, unimodal = _shapes(level_start, cost)
    lo = np.zeros((depth + 1, n_axes), dtype=np.int64)
    hi = np.zeros((depth + 1, n_axes), dtype=np.int64)
    lower = np.zeros(depth + 1)
    where = np.zeros(depth + 1, dtype=np.int64)
    side_lo, side_hi = np.zeros(n_axes, dtype=np.int64), np.zeros(n_axes, dtype=np.int64)
    for a in range(n_axes):
        hi[0, a] = level_start[a + 1] - level_start[a] - 1
    for a in range(n_axes):
        if group_of[a] < 0:
            own = range_cost(cost, level_start, best, unimodal, a, 0, hi[0, a])
            lower[0] = max(lower[0], own) if is_max else lower[0] + own
    for g in range(t.group_start.size - 1):
        own = group_cost(t, cost, g, lo[0], hi[0])
        lower[0] = max(lower[0], own) if is_max else lower[0] + own
    found, reached, open_from, waiting = upper, 0, np.inf, 1
    while waiting > 0:
        waiting -= 1
        node, low, box_lo, box_hi = where[waiting], lower[waiting], lo[waiting], hi[waiting]
        while low < found:
            a, at = tree[node, 0], tree[node, 1]
            if a == OPEN:
                open_from = min(open_from, low)
                break
            if a < 0:
                if (-1 - a) & goals:
                    found, reached = low, (-1 - a) & goals
                    side_lo[:] = box_lo
                    side_hi[:] = box_hi
                break
            first, last = box_lo[a], box_hi[a]
            if group_of[a] < 0:
                before = range_cost(cost, level_start, best, unimodal, a, first, last)
                left = range_cost(cost, level_start, best, unimodal, a, first, at - 1)
                right = range_cost(cost, level_start, best, unimodal, a, at, last)
            else:
                before = group_cost(t, cost, group_of[a], box_lo, box_hi)
                box_hi[a] = at - 1
                left = group_cost(t, cost, group_of[a], box_lo, box_hi)
                box_hi[a] = last
                box_lo[a] = at
                right = group_cost(t, cost, group_of[a], box_lo, box_hi)
                box_lo[a] = first
            left = max(low, left) if is_max else low + (left - before)
            right = max(low, right) if is_max else low + (right - before)
            # What waits takes this place; the cheaper side goes on in the next one.
            nearer = waiting + 1 if max(left, right) < found else waiting
            if nearer > waiting:
                lo[nearer], hi[nearer] = box_lo, box_hi
            if left <= right:
                if nearer > waiting:
                    box_lo[a] = at
                    where[waiting], lower[waiting] = tree[node, 2], right
                node, low = node + 1, left
                box_lo, box_hi = lo[nearer], hi[nearer]
                box_hi[a] = at - 1
            else:
                if nearer > waiting:
                    box_hi[a] = at - 1
                    where[waiting], lower[waiting] = node + 1, left
                node, low = tree[node, 2], right
                box_lo, box_hi = lo[nearer], hi[nearer]
                box_lo[a] = at
            waiting = nearer
    if found < upper:
        _choose(t, cost, best, unimodal, side_lo, side_hi, point)
        return found, reached, open_from
    return np.inf, 0, open_from


@inner
def group_cost(t, cost, g, lo, hi):
    """Return the cost of the cheapest category in a box; inf if there is none."""
    cheapest, forced = np.inf, 0
    for i in range(t.group_start[g], t.group_start[g + 1]):
        a = t.group_axes[i]
        one = t.one[a]
        if not lo[a] <= one <= hi[a]:
            continue
        price = cost[t.level_start[a] + one]
        if lo[a] == hi[a]:
            forced += 1
            if forced > 1:
                return np.inf
            cheapest = price
        elif forced == 0:
            cheapest = min(cheapest, price)
    return cheapest


@inner
def _shapes(level_start, cost):
    """Return the cheapest level of each axis, and whether costs never fall away from it."""
    n_axes = level_start.size - 1
    best, unimodal = np.zeros(n_axes, dtype=np.int64), np.ones(n_axes, dtype=np.bool_)
    for a in range(n_axes):
        first, last = level_start[a], level_start[a + 1]
        for v in range(first, last):
            if cost[v] < cost[first + best[a]]:
                best[a] = v - first
        for v in range(first + 1, last):
            falls = cost[v] < cost[v - 1]
            rises = cost[v] > cost[v - 1]
            if (falls and v > first + best[a]) or (rises and v <= first + best[a]):
                unimodal[a] = False
    return best, unimodal


@inner
def _choose(t, cost, best, unimodal, lo, hi, point):
    """Fill the cheapest choice of a box."""
    for a in range(lo.size):
        point[a] = cheapest_level(cost, t.level_start, best, unimodal, a, lo[a], hi[a])
    for g in range(t.group_start.size - 1):
        cheapest, chosen = group_cost(t, cost, g, lo, hi), -1
        for i in range(t.group_start[g], t.group_start[g + 1]):
            a = t.group_axes[i]
            one = t.one[a]
            point[a] = 1 - one
            fits = lo[a] <= one <= hi[a] and cost[t.level_start[a] + one] == cheapest
            if fits and (chosen < 0 or lo[a] == hi[a]):
                chosen = a
        point[chosen] = t.one[chosen]
