"""The compiled loop for one problem at rising demands: every box serves all that it can reach."""

from typing import NamedTuple

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.backends.search.backend import EQUAL
from encoders.backends.search.loop import (
    PROPAGATIONS,
    choose_split,
    fill_slack,
    shrink,
    stack_both,
    stack_of,
    workspace,
)
from encoders.backends.search.narrow import DIVE, is_narrow, narrowed
from encoders.backends.search.node import (
    PRUNED,
    SPLIT,
    cheapest_point,
    fill_drops,
    overloaded,
)
from encoders.backends.search.open_nodes import FREE, LOOKED, NODES, pop, push, push_box
from encoders.backends.search.outside import leave_out
from encoders.backends.search.point import point_keeps_rows
from encoders.backends.search.scan import scan_leaves
from encoders.bounds.prices import Prices
from encoders.compiled import inlined, inner, kernel


class Demands(NamedTuple):
    """What leaf rows need at least, rising from one demand to the next, and what is known of each.

    Attributes
    ----------
    need : int64 (n_demands, n_rows)
    limit : float64 (n_demands,), what a choice has to undercut; never falls; lowered by the search
    cost : float64 (n_demands,), of the best choice that the search has found, inf without one
    choice : int64 (n_demands, n_axes), that choice
    constant : float64 (n_demands,), of the prices at the demand's needs
    leaf, level, worth : prices, float64 (n_leaves,) and (n_levels,), and by how much their bound
        rises with the needs, (n_rows,)
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
def rising_slice(t, demands, pool, outside, forbidden, forbidden_start, n_nodes):
    """Expand up to ``n_nodes`` nodes, the cheapest first; it is over when the heap is empty.

    Up to :data:`DIVE` more are expanded in the last box that has tables of its own.

    Parameters
    ----------
    t : see :mod:`encoders.compiled`; its ``need`` is written into
    demands : :class:`Demands`
    pool : the open nodes, changed in place; with room for those of a slice
    outside : of the tables, see :mod:`.outside`
    forbidden, forbidden_start : as of :func:`encoders.backends.search.loop.run_slice`
    n_nodes : at most so many
    """
    live, best, up, down = workspace(t)
    lo = np.zeros(t.best.size, dtype=np.int64)
    hi = np.zeros(t.best.size, dtype=np.int64)
    point = np.zeros(t.best.size, dtype=np.int64)
    split = np.zeros(3, dtype=np.int64)
    end = pool.counts[NODES] + n_nodes
    while pool.counts[NODES] < end:
        node = pop(pool)
        if node < 0:
            return
        pool.counts[NODES] += 1
        pool.counts[LOOKED] += live.size
        lo[:] = pool.lo[node]
        hi[:] = pool.hi[node]
        key = pool.key[node]
        pool.free[pool.counts[FREE]] = node
        pool.counts[FREE] += 1
        leave_out(outside, t.level_start, lo, hi, live)
        kind, bound = _expand(
            t, demands, lo, hi, key, forbidden, forbidden_start, point, live, best, up, down,
            split,
        )  # fmt: skip
        if kind == SPLIT and is_narrow(live):
            _dive(
                t, demands, lo, hi, bound, pool, forbidden, forbidden_start, point, live, up, down,
                split,
            )  # fmt: skip
        elif kind == SPLIT:
            a, v, near_is_low = split[0], split[1], split[2]
            push(pool, lo, hi, bound, a, v, near_is_low == 0, False)
            push(pool, lo, hi, bound, a, v, near_is_low == 1, False)


@inner
def _dive(
    t, demands, lo, hi, bound, pool, forbidden, forbidden_start, point, live, up, down, split
):
    """Look into a box depth first by tables of its own; what is left of it is opened in the end."""
    own, needs, live, best = _own(t, demands, live, lo, hi)
    boxes, keys, fitting = stack_of(DIVE, lo, hi, bound, live)
    n_open = 1
    for _ in range(DIVE):
        if n_open == 0:
            break
        n_open -= 1
        pool.counts[NODES] += 1
        pool.counts[LOOKED] += live.size
        lo[:], hi[:], live[:] = boxes[n_open, 0], boxes[n_open, 1], fitting[n_open]
        kind, bound = _expand(
            own, needs, lo, hi, keys[n_open], forbidden, forbidden_start, point, live, best,
            up, down, split,
        )  # fmt: skip
        if kind == SPLIT:
            n_open = stack_both(boxes, keys, fitting, n_open, lo, hi, bound, live, split)
    for i in range(n_open):
        push_box(pool, boxes[i, 0], boxes[i, 1], keys[i])


@inner
def _own(t, demands, live, lo, hi):
    """A box's own tables and demands, and what expansions by them fill; the box is shrunk."""
    own, leaf, out = narrowed(t, live, lo, hi)
    best = np.zeros((t.need.size + 1, own.tree_start.size - 1), dtype=np.int64)
    needs = _within(demands, t.weight, leaf, out)
    return own, needs, np.ones(leaf.size, dtype=np.bool_), best


@inner
def _within(demands, weight, leaf, out):
    """The demands for some leaves, while others are certain; what is found is kept for both."""
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
    t, demands, lo, hi, key, forbidden, forbidden_start, point, live, best, up, down, split
):
    """Bound a box, shrink it, and prune or split it: (kind, lower bound).

    Only leaves which are ``live`` may fit it.

    Its bound is that of the lowest demand still open in it, under the limit of the highest that its
    leaves reach: both hold for all between.
    """
    bound, turn = key, 0
    low, high = _still_open(demands, bound, 0), demands.limit.size - 1
    slack = np.zeros(t.need.size, dtype=np.int64)
    cost = 0.0
    while low <= high and turn < PROPAGATIONS:
        t.need[:] = demands.need[low]
        upper = demands.limit[high]
        raised = _raised(demands, low, high)
        prices = Prices(0.0, demands.constant[low] + raised, demands.leaf, demands.level)
        cost = cheapest_point(t, lo, hi, point)
        if cost >= upper or overloaded(t, lo, hi):
            return PRUNED, bound
        lower = scan_leaves(t, prices, lo, hi, point, cost, upper, True, live, best)
        if lower >= upper or not fill_slack(t, best, slack):
            return PRUNED, bound
        bound = max(bound, cost, lower - raised)
        opened, reached = _still_open(demands, bound, low), _within_reach(demands, slack, low, high)
        if point_keeps_rows(t, point, live, best, slack, forbidden, forbidden_start):
            opened = max(opened, _take(t, demands, low, point, cost, live))
        if opened > low or reached < high:
            low, high = opened, reached
            continue
        for r in range(t.need.size):
            fill_drops(t, r, lo, hi, point, live, best, up[r], down[r])
        changed = shrink(t, lo, hi, point, cost, upper, slack, up, down)
        if changed < 0:
            return PRUNED, bound
        if changed == 0:
            break
        turn += 1
    if low > high:
        return PRUNED, bound
    if not choose_split(t, lo, hi, point, cost, demands.limit[high], slack, up, down, split):
        return PRUNED, bound
    return SPLIT, bound


@inlined
def _still_open(demands, bound, first):
    """The lowest demand from ``first`` on for which a bound says nothing."""
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


@inlined
def _within_reach(demands, slack, low, high):
    """The highest demand for which the best leaves of all trees are enough."""
    i = high
    while i > low:
        enough = True
        for r in range(slack.size):
            enough = enough and slack[r] + demands.need[low, r] >= demands.need[i, r]
        if enough:
            break
        i -= 1
    return i


@inner
def _take(t, demands, low, point, cost, live):
    """Keep a choice for all demands that it meets, from ``low`` on; the first that it does not."""
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
    return i
