"""The least that choices within a box cost."""

import numpy as np

from encoders.core.compiled import inlined


@inlined
def cheapest_level(cost, level_start, best, unimodal, a, lo, hi):
    """Return the cheapest level of an axis within lo..hi, which are not empty."""
    cheapest = min(max(best[a], lo), hi)
    if not unimodal[a]:
        first = level_start[a]
        cheapest = lo
        for v in range(lo + 1, hi + 1):
            if cost[first + v] < cost[first + cheapest]:
                cheapest = v
    return cheapest


@inlined
def range_cost(cost, level_start, best, unimodal, a, lo, hi):
    """Cheapest level of an axis within lo..hi (inf if empty)."""
    cheapest = np.inf
    if lo <= hi:
        first = level_start[a]
        if unimodal[a]:
            cheapest = cost[first + min(max(best[a], lo), hi)]
        else:
            for v in range(lo, hi + 1):
                cheapest = min(cheapest, cost[first + v])
    return cheapest


@inlined
def whole_cost(base, is_max, extra):
    """Cost of the cheapest completion of something that costs ``extra``."""
    return max(base, extra) if is_max else base + extra
