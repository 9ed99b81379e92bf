"""Which leaves fit a box and can be paid for, and what that says about its cost."""

import numpy as np

from encoders.core.compiled import ONE, inlined, inner
from encoders.presolve.bounds.box_cost import range_cost
from encoders.presolve.bounds.lagrange import ROUNDING


@inner
def scan_leaves(t, prices, node, cost, upper):
    """Mark the leaves that fit the box and are affordable; fill ``best``.

    Return a lower bound on the box's cost, inf if a tree has no leaf left. Every tree needs one of
    its leaves; prices (:mod:`encoders.presolve.bounds.lagrange`) bound all trees together.
    """
    lo, hi, point, live, best = node.lo, node.hi, node.point, node.live, node.best
    n_trees, leaf_price = t.tree_start.size - 1, prices.leaf
    fits = np.empty(live.size, dtype=np.uint64)
    cheapest, least = np.full(n_trees, np.inf), np.full(n_trees, np.inf)
    if t.is_max or not t.unimodal.all():
        n_fit = _weigh_up(t, lo, hi, point, cost, upper, live, fits, cheapest, best)
    else:
        n_fit = _add_up(t, lo, hi, point, cost, upper, live, fits, cheapest, best)
    tree_of = t.tree_of
    for leaf in fits[:n_fit]:
        own = np.uint64(tree_of[leaf])
        least[own] = min(least[own], leaf_price[leaf])
    lower, priced = cost, box_price(prices, t.level_start, lo, hi)
    for tree in range(n_trees):
        lower = max(lower, cheapest[tree])
        priced += least[tree]
    limit = priced_out(upper)
    if lower >= upper or priced >= limit:
        return np.inf
    for tree in range(n_trees):
        least[tree] += limit - priced
    for leaf in fits[:n_fit]:
        live[leaf] = leaf_price[leaf] < least[np.uint64(tree_of[leaf])]
    if not _fill_heaviest(t.order, t.tree_start, live, best):
        return np.inf
    cut_by_prices(t, prices, lo, hi, point, limit - priced)
    return max(lower, min(priced, upper))


@inner
def _fill_heaviest(order, tree_start, live, best):
    """Fill ``best`` with the heaviest live leaf per row and tree; return False if one has none."""
    for r in range(order.shape[0]):
        for tree in range(tree_start.size - 1):
            i, end = np.uint64(tree_start[tree]), np.uint64(tree_start[tree + 1])
            while i < end and not live[np.uint64(order[r, i])]:
                i += ONE
            if i == end:
                return False
            best[r, tree] = order[r, i]
    return True


@inner
def _add_up(t, lo, hi, point, cost, upper, live, fits, cheapest, best):
    """Leaves that fit and cost less than ``upper`` with the cheapest choice of all other axes.

    Only where costs add up and never fall away from the best level. No literal asks whether it
    matters: so many questions that are hard to foresee take longer than to add a zero.
    """
    axis, low, high, leaf_start = t.axis, t.lo, t.hi, t.leaf_start
    cost_of, level_start, tree_of = t.cost, t.level_start, t.tree_of
    paid, counts = np.zeros(lo.size), np.zeros(lo.size)
    for b in range(lo.size):
        if t.group_of[b] < 0:
            counts[b] = 1.0
        paid[b] = cost_of[level_start[b] + point[b]]
    here = best[best.shape[0] - 1]
    here[:] = -1
    n_may, n_fit = 0, 0
    for i in range(live.size):
        fits[n_may] = i
        n_may += live[i]
    live[:] = False
    for i in range(n_may):
        # Unsigned numbers spare the question whether a place is counted from the end.
        leaf = fits[i]
        total, outside, away = cost, False, False
        for k in range(np.uint64(leaf_start[leaf]), np.uint64(leaf_start[leaf + ONE])):
            a = np.uint64(axis[k])
            at, first, last = point[a], low[k], high[k]
            v = min(max(at, first), last)
            outside |= (first > hi[a]) | (last < lo[a])
            away |= v != at
            total += counts[a] * (cost_of[np.uint64(level_start[a] + v)] - paid[a])
        if outside or total >= upper:
            continue
        tree = np.uint64(tree_of[leaf])
        live[leaf], fits[n_fit] = True, leaf
        cheapest[tree] = min(cheapest[tree], total)
        n_fit += 1
        if not away:
            here[tree] = leaf
    return n_fit


@inner
def _weigh_up(t, lo, hi, point, cost, upper, live, fits, dear, best):
    """Do the same as :func:`_add_up`, for any costs."""
    leaf_axis, cheapest, cost_of, group_of = t.axis, t.best, t.cost, t.group_of
    leaf_lo, leaf_hi, is_max, leaf_start = t.lo, t.hi, t.is_max, t.leaf_start
    level_start, tree_of, unimodal = t.level_start, t.tree_of, t.unimodal
    here = best[best.shape[0] - 1]
    here[:] = -1
    n_fit = 0
    for leaf in range(live.size):
        if not live[leaf]:
            continue
        live[leaf] = False
        total, fit, away = cost, True, False
        for k in range(leaf_start[leaf], leaf_start[leaf + 1]):
            a = leaf_axis[k]
            at, edge = point[a], leaf_lo[k]
            if at < edge:
                outside = edge > hi[a]
            else:
                edge = leaf_hi[k]
                if at <= edge:
                    continue
                outside = edge < lo[a]
            if outside:
                fit = False
                break
            away = True
            base = level_start[a]
            c = cost_of[base + edge]
            if not unimodal[a]:
                # At most what it costs where both are met: proofs for others know no more.
                first, last = leaf_lo[k], leaf_hi[k]
                c = range_cost(cost_of, level_start, cheapest, unimodal, a, first, last)
                c = max(c, cost_of[base + at])
            if is_max:
                total = max(total, c)
            elif group_of[a] < 0:
                total += c - cost_of[base + at]
            if total >= upper:
                fit = False
                break
        if not fit:
            continue
        tree = tree_of[leaf]
        live[leaf], fits[n_fit] = True, leaf
        dear[tree] = min(dear[tree], total)
        n_fit += 1
        if not away:
            here[tree] = leaf
    return n_fit


@inlined
def priced_out(upper):
    """Return the Lagrangian bound that prunes at ``upper``: higher by a margin for rounding."""
    return upper + ROUNDING * upper


@inner
def box_price(prices, level_start, lo, hi):
    """Return the constant plus the least reduced cost of each axis within a box."""
    level_price = prices.level
    total = prices.constant
    for a in range(lo.size):
        least = np.inf
        for v in range(level_start[a] + lo[a], level_start[a] + hi[a] + 1):
            least = min(least, level_price[v])
        total += least
    return total


@inner
def cut_by_prices(t, prices, lo, hi, point, room):
    """Take levels off the ends of a box whose price alone uses up the room that is left."""
    level_price, level_start = prices.level, t.level_start
    for a in range(lo.size):
        if lo[a] == hi[a]:
            continue
        first = level_start[a]
        least = np.inf
        for v in range(lo[a], hi[a] + 1):
            least = min(least, level_price[first + v])
        while hi[a] > point[a] and level_price[first + hi[a]] - least >= room:
            hi[a] -= 1
        while lo[a] < point[a] and level_price[first + lo[a]] - least >= room:
            lo[a] += 1
