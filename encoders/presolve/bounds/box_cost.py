"""The least that choices within a box cost."""

import numpy as np

from encoders.core.compiled import inlined

# All arrays are read before the first branch. If one is first read within a branch, numba counts
# references to it at each call: costs of the leaves of a forest took fifteen times as long.


@inlined
def cheapest_level(cost, level_start, best, unimodal, a, lo, hi):
    """Return the cheapest level of an axis within lo..hi, which are not empty."""
    first, cheapest = level_start[a], min(max(best[a], lo), hi)
    least = cost[first + lo]
    if not unimodal[a]:
        cheapest = lo
        for v in range(lo + 1, hi + 1):
            if cost[first + v] < least:
                cheapest, least = v, cost[first + v]
    return cheapest


@inlined
def range_cost(cost, level_start, best, unimodal, a, lo, hi):
    """Cheapest level of an axis within lo..hi (inf if empty)."""
    first = level_start[a]
    cheapest = cost[first + min(max(best[a], lo), hi)]
    if not unimodal[a]:
        for v in range(lo, hi + 1):
            cheapest = min(cheapest, cost[first + v])
    return cheapest if lo <= hi else np.inf


@inlined
def whole_cost(base, is_max, extra):
    """Cost of the cheapest completion of something that costs ``extra``."""
    return max(base, extra) if is_max else base + extra
