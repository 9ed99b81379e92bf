"""Rising demands on the leaf rows: one search serves all, and each node all that it can reach."""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.compiled import ONE, inlined, inner
from encoders.presolve.bounds.prices import Prices
from encoders.problem.cost_unit import EQUAL
from encoders.search.outside import Outside


class Demands(NamedTuple):
    """Rising minima of the leaf rows, and the state of each demand.

    Attributes
    ----------
    need : int64 (n_demands, n_rows)
    limit : float64 (n_demands,), non-decreasing cost to undercut; the search lowers it.
    cost : float64 (n_demands,), cost of the incumbent, inf without one.
    choice : int64 (n_demands, n_axes), incumbent.
    constant : float64 (n_demands,), constant of the prices at the demand's needs.
    worth : float64 (n_rows,), by how much the bound of the prices rises with the needs.
    outside : leaves outside the levels of each axis.
    """

    need: IntArray
    limit: FloatArray
    cost: FloatArray
    choice: IntArray
    constant: FloatArray
    worth: FloatArray
    outside: Outside


@inner
def demands_within(t, demands, prices, out):
    """Return the demands on a node's tables while leaves ``out`` are active; share incumbents."""
    need, constant = demands.need.copy(), demands.constant.copy()
    for i in range(need.shape[0]):
        for certain in out:
            constant[i] += prices.leaf[certain]
            for r in range(need.shape[1]):
                need[i, r] -= t.weight[r, certain]
    return Demands(
        need, demands.limit, demands.cost, demands.choice, constant, demands.worth, demands.outside
    )


@inner
def narrow_span(t, demands, prices, node, cost, bound):
    """Narrow the demands of interest; return (limit, prices, raise) that hold for all of them.

    The node is bounded by the need of the lowest demand, under the limit of the highest: both hold
    for all between. The limit is -inf if no demand is left. The prices were raised by the last
    value, see :func:`_raised`.
    """
    _drop_ends(t, demands, node, cost, max(bound, cost))
    low, high = node.span[0], node.span[1]
    if low > high:
        return -np.inf, prices, 0.0
    t.need[:] = demands.need[low]
    raised = _raised(demands, low, high)
    own = Prices(prices.bound, demands.constant[low] + raised, prices.leaf, prices.level)
    return demands.limit[high], own, raised


@inner
def update_span(t, demands, node, keeps, cost, bound):
    """Store the point if it keeps all rows, and leave out demands that ``bound`` prunes.

    Return False if no demand is left.
    """
    low, high, slack = node.span[0], node.span[1], node.slack
    if keeps:
        _take(t, demands, low, node.point, cost, node.live)
    opened = _still_open(demands, bound, low)
    if opened > low:
        node.span[0] = opened
        if opened > high:
            return False
        # What is left of the leaves is the same, and more is needed of them.
        slack += demands.need[low] - demands.need[opened]
        t.need[:] = demands.need[opened]
        return not (slack < 0).any()
    return True


@inner
def target_highest(demands, node):
    """Set the slack to that of the highest demand: the best split for it prunes more nodes."""
    need, slack, span = demands.need, node.slack, node.span
    slack += need[span[0]] - need[span[1]]
    while (slack < 0).any():
        slack += need[span[1]] - need[span[1] - 1]
        span[1] -= 1


@inner
def _drop_ends(t, demands, node, cost, bound):
    """Leave out demands at either end of a span that no choice of a box meets below its limit."""
    low, high = _still_open(demands, bound, node.span[0]), node.span[1]
    need, limit = demands.need, demands.limit
    lo, hi, point, live = node.lo, node.hi, node.point, node.live
    if not t.is_max and t.unimodal.all():
        while low <= high and not _reaches(t, need[low], lo, hi, point, live, cost, limit[low]):
            low += 1
        while low < high and not _reaches(t, need[high], lo, hi, point, live, cost, limit[high]):
            high -= 1
    node.span[0], node.span[1] = low, high


@inner
def _reaches(t, need, lo, hi, point, live, cost, upper):
    """Return whether the best leaves that fit a box, each in a choice below ``upper``, meet a need.

    Only where costs add up and never fall away from the best level. All leaves are assumed to fit
    and to be affordable, until they are checked one by one.
    """
    axis, low, high, leaf_start = t.axis, t.lo, t.hi, t.leaf_start
    cost_of, level_start, group_of = t.cost, t.level_start, t.group_of
    order, tree_start, weight = t.order, t.tree_start, t.weight
    for r in range(need.size):
        total = -need[r]
        for tree in range(tree_start.size - 1):
            i, end = np.uint64(tree_start[tree]), np.uint64(tree_start[tree + 1])
            while i < end and not live[np.uint64(order[r, i])]:
                i += ONE
            if i == end:
                return False
            total += weight[r, order[r, i]]
        if total < 0:
            return False
        for tree in range(tree_start.size - 1):
            i, end = np.uint64(tree_start[tree]), np.uint64(tree_start[tree + 1])
            top = np.int64(-1)
            while i < end:
                leaf = np.uint64(order[r, i])
                i += ONE
                if not live[leaf]:
                    continue
                if top < 0:
                    top = weight[r, leaf]
                    if top == 0:
                        break
                extra, outside = cost, False
                for k in range(np.uint64(leaf_start[leaf]), np.uint64(leaf_start[leaf + ONE])):
                    a = np.uint64(axis[k])
                    at, first, last = point[a], low[k], high[k]
                    outside |= (first > hi[a]) | (last < lo[a])
                    if group_of[a] < 0:
                        base = level_start[a]
                        v = min(max(at, first), last)
                        extra += cost_of[np.uint64(base + v)] - cost_of[np.uint64(base + at)]
                if outside or extra >= upper:
                    continue
                total -= top - weight[r, leaf]
                break
            else:
                return False
            if total < 0:
                return False
    return True


@inlined
def _still_open(demands, bound, first):
    """Return the first demand from ``first`` on that a bound does not prune, or their number."""
    i = first
    while i < demands.limit.size and demands.limit[i] <= bound:
        i += 1
    return i


@inlined
def _raised(demands, low, high):
    """By how much prices may be raised, so that what they rule out for all between stays out.

    The bound of a higher demand is larger, at the same prices, by what its needs are worth.
    """
    room, worth = -np.inf, demands.worth
    for i in range(low, high + 1):
        own = demands.limit[i]
        for r in range(demands.need.shape[1]):
            own -= worth[r] * (demands.need[i, r] - demands.need[low, r])
        room = max(room, own)
    return demands.limit[high] - room


@inner
def _take(t, demands, low, point, cost, live):
    """Keep a choice for all demands that it meets, from ``low`` on."""
    weighs = np.zeros(t.need.size, dtype=np.int64)
    for leaf in range(live.size):
        if not live[leaf]:
            continue
        inside = True
        for k in range(t.leaf_start[leaf], t.leaf_start[leaf + 1]):
            if not t.lo[k] <= point[t.axis[k]] <= t.hi[k]:
                inside = False
                break
        if inside:
            for r in range(weighs.size):
                weighs[r] += t.weight[r, leaf]
    limit = cost - EQUAL * abs(cost)
    i = low
    while i < demands.limit.size and (weighs >= demands.need[i]).all():
        if limit < demands.limit[i]:
            demands.limit[i] = limit
            demands.cost[i] = cost
            demands.choice[i] = point
        i += 1
