"""The compiled loop for one problem at rising demands: every box serves all that it can reach."""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.compiled import ONE, inlined, inner, kernel
from encoders.presolve.bounds.prices import Prices
from encoders.search.backend import EQUAL
from encoders.search.dive import stack_both, stack_of
from encoders.search.expansion import PROPAGATIONS, choose_split, fill_slack, shrink, workspace
from encoders.search.narrow import DIVE, is_narrow, narrowed
from encoders.search.node import PRUNED, SPLIT, cheapest_point, fill_drops, overloaded
from encoders.search.open_nodes import FREE, LOOKED, NODES, pop, push, push_box
from encoders.search.outside import leave_out
from encoders.search.point import point_keeps_rows
from encoders.search.scan import scan_leaves


class Demands(NamedTuple):
    """Rising minima of the leaf rows, and the state of each demand.

    Attributes
    ----------
    need : int64 (n_demands, n_rows)
    limit : float64 (n_demands,), non-decreasing cost to undercut; the search lowers it.
    cost : float64 (n_demands,), cost of the incumbent, inf without one.
    choice : int64 (n_demands, n_axes), incumbent.
    constant : float64 (n_demands,), constant of the prices at the demand's needs.
    leaf, level : float64 (n_leaves,) and (n_levels,), prices.
    worth : float64 (n_rows,), by how much the bound of the prices rises with the needs.
    """

    need: IntArray
    limit: FloatArray
    cost: FloatArray
    choice: IntArray
    constant: FloatArray
    leaf: FloatArray
    level: FloatArray
    worth: FloatArray


@kernel
def rising_slice(t, demands, pool, spans, outside, forbidden, forbidden_start, n_nodes):
    """Expand up to ``n_nodes`` nodes, the cheapest first; it is over when the heap is empty.

    Up to :data:`DIVE` more are expanded in the last node that gets smaller tables.
    """
    live, best, up, down = workspace(t)
    lo = np.zeros(t.best.size, dtype=np.int64)
    hi = np.zeros(t.best.size, dtype=np.int64)
    point = np.zeros(t.best.size, dtype=np.int64)
    split = np.zeros(3, dtype=np.int64)
    span = np.zeros(2, dtype=np.int64)
    end, key, near = pool.counts[NODES] + n_nodes, 0.0, False
    while pool.counts[NODES] < end:
        if not near:
            node = pop(pool)
            if node < 0:
                return
            lo[:] = pool.lo[node]
            hi[:] = pool.hi[node]
            key = pool.key[node]
            span[:] = spans[node]
            pool.free[pool.counts[FREE]] = node
            pool.counts[FREE] += 1
            leave_out(outside, t.level_start, lo, hi, live)
        pool.counts[NODES] += 1
        pool.counts[LOOKED] += live.size
        kind, key = _expand(
            t, demands, lo, hi, key, span, forbidden, forbidden_start, point, live, best, up, down,
            split,
        )  # fmt: skip
        near = False
        if kind == SPLIT and is_narrow(live):
            _dive(
                t, demands, lo, hi, key, span, pool, spans, forbidden, forbidden_start, point,
                live, up, down, split,
            )  # fmt: skip
        elif kind == SPLIT:
            a, v, near_is_low = split[0], split[1], split[2]
            push(pool, lo, hi, key, a, v, near_is_low == 0, False)
            spans[pool.free[pool.counts[FREE]]] = span
            if near_is_low:
                hi[a] = v
            else:
                lo[a] = v + 1
            # The near side is next where nothing open is cheaper; its leaves are known by now.
            near = key <= pool.key[pool.heap[0]] and pool.counts[NODES] < end
            if not near:
                push_box(pool, lo, hi, key)
                spans[pool.free[pool.counts[FREE]]] = span


@inner
def _dive(
    t, demands, lo, hi, bound, span, pool, spans, forbidden, forbidden_start, point, live, up, down,
    split,
):  # fmt: skip
    """Explore a node depth first with tables of its leaves; push unexplored children back."""
    own, needs, live, best = _own(t, demands, live, lo, hi)
    boxes, keys, fitting = stack_of(DIVE, lo, hi, bound, live)
    own_spans = np.empty((keys.size, 2), dtype=np.int64)
    own_spans[0] = span
    n_open = 1
    for _ in range(DIVE):
        if n_open == 0:
            break
        n_open -= 1
        pool.counts[NODES] += 1
        pool.counts[LOOKED] += live.size
        lo[:], hi[:], live[:] = boxes[n_open, 0], boxes[n_open, 1], fitting[n_open]
        span[:] = own_spans[n_open]
        kind, bound = _expand(
            own, needs, lo, hi, keys[n_open], span, forbidden, forbidden_start, point, live, best,
            up, down, split,
        )  # fmt: skip
        if kind == SPLIT:
            own_spans[n_open] = own_spans[n_open + 1] = span
            n_open = stack_both(boxes, keys, fitting, n_open, lo, hi, bound, live, split)
    for i in range(n_open):
        push_box(pool, boxes[i, 0], boxes[i, 1], keys[i])
        spans[pool.free[pool.counts[FREE]]] = own_spans[i]


@inner
def _own(t, demands, live, lo, hi):
    """Return tables, demands and workspace for the live leaves of a box; shrink it in place."""
    own, leaf, out = narrowed(t, live, lo, hi)
    best = np.zeros((t.need.size + 1, own.tree_start.size - 1), dtype=np.int64)
    needs = _within(demands, t.weight, leaf, out)
    return own, needs, np.ones(leaf.size, dtype=np.bool_), best


@inner
def _within(demands, weight, leaf, out):
    """Return demands on some leaves while those in ``out`` are active; incumbents are shared."""
    need, constant = demands.need.copy(), demands.constant.copy()
    own_prices = np.empty(leaf.size)
    for i in range(need.shape[0]):
        for certain in out:
            constant[i] += demands.leaf[certain]
            for r in range(need.shape[1]):
                need[i, r] -= weight[r, certain]
    for i in range(leaf.size):
        own_prices[i] = demands.leaf[leaf[i]]
    return Demands(
        need, demands.limit, demands.cost, demands.choice, constant, own_prices, demands.level,
        demands.worth,
    )  # fmt: skip


@inner
def _expand(
    t, demands, lo, hi, key, span, forbidden, forbidden_start, point, live, best, up, down, split
):
    """Bound a box, shrink it, and prune or split it: (kind, lower bound).

    Only leaves which are ``live`` may fit it, and only the demands of ``span``, which is narrowed,
    are of interest. What is left of it is bounded by the need of the lowest of them, under the
    limit of the highest: both hold for all between.
    """
    bound, slack = key, np.zeros(t.need.size, dtype=np.int64)
    cost, upper = 0.0, 0.0
    for _ in range(PROPAGATIONS):
        cost = cheapest_point(t, lo, hi, point)
        _narrow(t, demands, lo, hi, point, cost, max(bound, cost), live, span)
        low, high = span[0], span[1]
        if low > high or overloaded(t, lo, hi):
            return PRUNED, bound
        t.need[:] = demands.need[low]
        upper = demands.limit[high]
        raised = _raised(demands, low, high)
        prices = Prices(0.0, demands.constant[low] + raised, demands.leaf, demands.level)
        lower = scan_leaves(t, prices, lo, hi, point, cost, upper, live, best)
        if lower >= upper or not fill_slack(t, best, slack):
            return PRUNED, bound
        bound = max(bound, cost, lower - raised)
        if point_keeps_rows(t, point, live, best, slack, forbidden, forbidden_start):
            _take(t, demands, low, point, cost, live)
        opened = _still_open(demands, bound, low)
        if opened > low:
            span[0] = opened
            if opened > high:
                return PRUNED, bound
            # What is left of the leaves is the same, and more is needed of them.
            slack += demands.need[low] - demands.need[opened]
            t.need[:] = demands.need[opened]
            if (slack < 0).any():
                return PRUNED, bound
        for r in range(t.need.size):
            fill_drops(t, r, lo, hi, point, live, best, up[r], down[r])
        changed = shrink(t, lo, hi, point, cost, upper, slack, up, down)
        if changed < 0:
            return PRUNED, bound
        if changed == 0:
            break
    # The split is the best for the highest demand: with it more boxes are out of all reach.
    slack += demands.need[span[0]] - demands.need[span[1]]
    while (slack < 0).any():
        slack += demands.need[span[1]] - demands.need[span[1] - 1]
        span[1] -= 1
    if not choose_split(t, lo, hi, point, cost, upper, slack, up, down, split):
        return PRUNED, bound
    return SPLIT, bound


@inner
def _narrow(t, demands, lo, hi, point, cost, bound, live, span):
    """Leave out demands at either end of a span that no choice of a box meets below its limit."""
    low, high = _still_open(demands, bound, span[0]), span[1]
    if not t.is_max and t.unimodal.all():
        while low <= high and not _reaches(
            t, demands.need[low], lo, hi, point, cost, demands.limit[low], live
        ):
            low += 1
        while low < high and not _reaches(
            t, demands.need[high], lo, hi, point, cost, demands.limit[high], live
        ):
            high -= 1
    span[0], span[1] = low, high


@inner
def _reaches(t, need, lo, hi, point, cost, upper, live):
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
