"""The least that choices within a box cost."""

import numpy as np

from encoders.core.compiled import inlined


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
