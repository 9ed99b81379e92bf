"""One node of the branch and bound: a box of levels, its bounds, and where to split it."""

import numpy as np

from encoders.bounds.box_cost import range_cost
from encoders.bounds.lagrange import ROUNDING
from encoders.compiled import inlined, inner

PRUNED, SOLVED, SPLIT = 0, 1, 2  # what becomes of a node


@inner
def cheapest_point(t, lo, hi, point):
    """Fill the cheapest choice of a box; returns its cost, inf if a group has no choice.

    One-hot groups are propagated into ``lo`` and ``hi``.

    Parameters
    ----------
    t : see :mod:`encoders.compiled`
    lo, hi : changed in place, of groups alone
    point : filled
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
def scan_leaves(t, prices, lo, hi, point, cost, upper, again, live, best):
    """Mark the leaves that fit the box and can be paid for; fill ``best``.

    Where the box only shrank since the last time, ``again`` looks at those still marked alone.
    Returns a lower bound on the box's cost, inf if a tree has no leaf left: every tree needs one
    of its leaves, and prices (:mod:`encoders.bounds.lagrange`) bound all of them together.

    Parameters
    ----------
    t, point, cost, upper : see :mod:`encoders.compiled`
    prices : as in :func:`encoders.backends.search.loop.run_slice`
    lo, hi : shrunk in place, by prices
    again : bool
    live, best : filled
    """
    leaf_axis = t.axis
    cheapest = t.best
    cost_of = t.cost
    group_of = t.group_of
    leaf_hi = t.hi
    is_max = t.is_max
    leaf_start = t.leaf_start
    level_start = t.level_start
    leaf_lo = t.lo
    need = t.need
    tree_start = t.tree_start
    unimodal = t.unimodal
    weight = t.weight
    leaf_price = prices.leaf
    lower = cost
    n_rows = need.size
    cheapest_price = np.zeros(tree_start.size - 1)
    priced = box_price(prices, level_start, lo, hi)
    for tree in range(tree_start.size - 1):
        dearest, least = np.inf, np.inf
        best[:, tree] = -1
        for leaf in range(tree_start[tree], tree_start[tree + 1]):
            if again and not live[leaf]:
                continue
            live[leaf] = False
            extra, fits, away = cost, True, False
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
                    fits = False
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
                    extra = max(extra, c)
                elif group_of[a] < 0:
                    extra += c - cost_of[base + at]
                if extra >= upper:
                    fits = False
                    break
            if not fits:
                continue
            live[leaf] = True
            if not away:
                best[n_rows, tree] = leaf
            dearest = min(dearest, extra)
            least = min(least, leaf_price[leaf])
        lower = max(lower, dearest)
        if lower >= upper:
            return np.inf
        cheapest_price[tree] = least
        priced += least
    limit = priced_out(upper)
    if priced >= limit:
        return np.inf
    for tree in range(tree_start.size - 1):
        dear = limit - priced + cheapest_price[tree]
        for leaf in range(tree_start[tree], tree_start[tree + 1]):
            if not live[leaf]:
                continue
            if leaf_price[leaf] >= dear:
                live[leaf] = False
                continue
            for r in range(n_rows):
                w = weight[r, leaf]
                if best[r, tree] < 0 or w > weight[r, best[r, tree]]:
                    best[r, tree] = leaf
    cut_by_prices(t, prices, lo, hi, point, limit - priced)
    return max(lower, min(priced, upper))


@inlined
def priced_out(upper):
    """A bound by prices is a sum of floats: it must pass ``upper`` by more than it can be off.

    Parameters
    ----------
    upper : see :mod:`encoders.compiled`
    """
    return upper + ROUNDING * upper


@inner
def box_price(prices, level_start, lo, hi):
    """The constant and the cheapest level price of every axis within a box.

    Parameters
    ----------
    prices : leaf and level prices
    level_start : of the tables
    lo, hi : of the box
    """
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
    """Take levels off the ends of a box whose price alone uses up the room that is left.

    Parameters
    ----------
    t, point : see :mod:`encoders.compiled`
    prices : their ``level``, float64 (n_levels,), is looked at
    lo, hi : changed in place; the point stays inside
    room : float64, what a price may add
    """
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


@inner
def overloaded(t, lo, hi):
    """Whether a level row is broken by every choice in the box.

    Parameters
    ----------
    t : see :mod:`encoders.compiled`
    lo, hi : of the box
    """
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
    """How much row r's bound falls if an axis stays on the point's side of a level.

    ``up[level]``: if the axis stays at or below this level (levels from the point on);
    ``down[level]``: if it stays at or above it. Only trees whose best leaf lies beyond count.

    Parameters
    ----------
    t, r, lo, hi, point, live, best : see :mod:`encoders.compiled`
    up, down : int64 (n_levels,), those of row r; filled within the box
    """
    leaf_axis = t.axis
    leaf_hi = t.hi
    leaf_start = t.leaf_start
    level_start = t.level_start
    leaf_lo = t.lo
    order = t.order
    tree_start = t.tree_start
    weight = t.weight
    for a in range(lo.size):
        for v in range(level_start[a] + lo[a], level_start[a] + hi[a] + 1):
            up[v] = 0
            down[v] = 0
    for tree in range(tree_start.size - 1):
        top = best[r, tree]
        w = weight[r, top]
        if w == 0:
            continue
        for k in range(leaf_start[top], leaf_start[top + 1]):
            a = leaf_axis[k]
            first = level_start[a]
            if leaf_lo[k] > point[a]:
                # Going down from the best leaf's side, the next best that needs less.
                edge, weight_inside = leaf_lo[k], 0
                held = edge
                for i in range(tree_start[tree], tree_start[tree + 1]):
                    leaf = order[r, i]
                    if not live[leaf]:
                        continue
                    j = _literal_on(leaf_start, leaf_axis, leaf, a)
                    reach = leaf_lo[j] if j >= 0 else 0
                    if reach < held:
                        weight_inside = weight[r, leaf]
                        stop = max(reach, point[a])
                        # Between its reach and the last one's this leaf is the best left.
                        for v in range(stop, held):
                            up[first + v] += w - weight_inside
                        held = stop
                        if held <= point[a]:
                            break
                for v in range(point[a], held):
                    up[first + v] += w
            elif leaf_hi[k] < point[a]:
                held = leaf_hi[k]
                for i in range(tree_start[tree], tree_start[tree + 1]):
                    leaf = order[r, i]
                    if not live[leaf]:
                        continue
                    j = _literal_on(leaf_start, leaf_axis, leaf, a)
                    reach = leaf_hi[j] if j >= 0 else level_start[a + 1] - first - 1
                    if reach > held:
                        weight_inside = weight[r, leaf]
                        stop = min(reach, point[a])
                        for v in range(held + 1, stop + 1):
                            down[first + v] += w - weight_inside
                        held = stop
                        if held >= point[a]:
                            break
                for v in range(held + 1, point[a] + 1):
                    down[first + v] += w


@inlined
def _literal_on(leaf_start, leaf_axis, leaf, a):
    """The leaf's literal on an axis, -1 if it has none."""
    found = -1
    for k in range(leaf_start[leaf], leaf_start[leaf + 1]):
        if leaf_axis[k] == a:
            found = k
            break
    return found
