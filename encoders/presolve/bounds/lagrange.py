"""Lagrangian bound: the rows that couple trees and axes are relaxed with multipliers.

The linear program of :mod:`encoders.backends.milp.linear_model` ties the active leaf of each tree
to the axes by rows. These are ``sum of z over leaves wholly at or below level m <= y[a, m]`` and
``... wholly above m <= 1 - y[a, m]``. Each of these rows, each leaf row and each level row gets a
multiplier >= 0. Every tree then picks its cheapest leaf, every one-hot group its cheapest category
and every other axis its cheapest level; their total is a bound for all choices. Subgradient steps
(Polyak) raise it. A leaf or level whose own price lifts the bound to ``upper`` is in no choice that
costs less.
"""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray
from encoders.core.compiled import ONE, inner, kernel
from encoders.core.errors import Over, look, never
from encoders.presolve.bounds.coupling import Coupling, couple
from encoders.presolve.bounds.multipliers import Multipliers, unpriced
from encoders.presolve.bounds.prices import Prices
from encoders.problem.flat_problem import Tables

# At most; fewer leave the bound lower, more take longer. The few leave nearly as few nodes to
# searches that end soon, in a third of the time.
STEPS, FEW_STEPS = 300, 100
PATIENCE = 8  # steps without gain before the step length shrinks; fewer shrink it too early
LOOK_BACK = 8  # steps by whose gain is judged what others will bring; by fewer luck decides
MOMENTUM = 0.9  # of the last direction; with .5 bounds after 100 steps are a tenth lower
SHRINK = 0.6  # factor of the step length then; nearer 1 takes more steps
# A leaf row counts as much as this many rows between trees and axes; with a smaller number its
# price changes by less in each step.
KAPPA = 1000.0
LARGEST = 1e4  # times ``upper``: no sum of prices may be larger
PIECE = 10_000_000  # literals of all steps that are taken in one call, 0.1 s on large models
ROUNDING = 1e-7  # of ``upper``: far above what sums of up to LARGEST can be off by


class Ascent(NamedTuple):
    """State of the subgradient steps, so that they can continue; all arrays change in place.

    :attr:`told`, float64 (5,), has the best bound, its constant, steps without gain, the rate, and
    1 once no step is left.

    Attributes
    ----------
    price, momentum : float64 (n_rows,), multipliers of rows between trees and axes, their momentum.
    worth, pull : float64 (n_leaf_rows,), the same of the leaf rows.
    toll, push : float64 (n_level_rows,), the same of the level rows.
    """

    price: FloatArray
    momentum: FloatArray
    worth: FloatArray
    pull: FloatArray
    toll: FloatArray
    push: FloatArray
    told: FloatArray


def bound_by_prices(
    t: Tables,
    upper: float,
    steps: int = STEPS,
    over: Over = never,
    coupling: Coupling | None = None,
    kept: Multipliers | None = None,
) -> Prices:
    """Raise the bound towards ``upper``; only for "sum" and a finite ``upper``."""
    coupling = couple(t, over) if coupling is None else coupling
    leaf, level = np.zeros(t.tree_of.size), np.zeros(t.cost.size)
    kept = unpriced() if kept is None else kept
    bound, constant = raise_bound(t, coupling, upper, steps, leaf, level, kept, over)
    return Prices(bound, constant, leaf, level)


def raise_bound(
    t: Tables,
    c: Coupling,
    upper: float,
    steps: int,
    leaf: FloatArray,
    level: FloatArray,
    kept: tuple[FloatArray, FloatArray, FloatArray],
    over: Over = never,
) -> tuple[float, float]:
    """Run :func:`ascend` in pieces, and return the best bound and its constant."""
    look(over)
    price, worth, toll = (np.zeros(n) for n in (c.axis.size, t.need.size, c.allowed.size))
    slopes = price.copy(), worth.copy(), toll.copy()
    state = Ascent(price, slopes[0], worth, slopes[1], toll, slopes[2], np.zeros(5))
    piece = max(1, PIECE // max(t.axis.size, 1))
    for first in range(0, steps, piece):
        ascend(t, c, upper, upper, min(piece, steps - first), np.inf, state, leaf, level, *kept)
        if state.told[4] or over():
            break
    return float(state.told[0]), float(state.told[1])


def drop_by_prices(
    t: Tables, prices: Prices, upper: float, keep: BoolArray, alive: BoolArray
) -> int:
    """Mark what can't be part of anything cheaper than ``upper``; how many were dropped."""
    limit = upper + ROUNDING * upper
    cheapest_leaf = np.minimum.reduceat(prices.leaf, t.tree_start[:-1])
    cheapest_level = np.minimum.reduceat(prices.level, t.level_start[:-1])
    extra_leaf = prices.leaf - np.repeat(cheapest_leaf, np.diff(t.tree_start))
    extra_level = prices.level - np.repeat(cheapest_level, np.diff(t.level_start))
    alive &= prices.bound + extra_leaf < limit
    keep &= prices.bound + extra_level < limit
    return int((~alive).sum() + (~keep).sum())


@kernel
def ascend(
    t, c, upper, aim, steps, hope, state, leaf_price, level_price, kept_price, kept_worth, kept_toll
):
    """Subgradient steps; fills the prices of the best bound.

    The step length is Polyak's (1969): what is missing to ``aim`` over the squared length of the
    subgradient, times a rate that shrinks.
    """
    n_trees, n_axes, n_rows = t.tree_start.size - 1, t.best.size, c.axis.size
    needed, n_needs, n_limits = c.needed, t.need.size, c.allowed.size
    price, momentum, worth, pull = state.price, state.momentum, state.worth, state.pull
    toll, push, told = state.toll, state.push, state.told
    chain, slope = np.zeros(n_rows), np.zeros(n_rows)
    leaf_now, level_now = np.zeros(leaf_price.size), np.zeros(level_price.size)
    chosen, point = t.tree_start[:-1].copy(), np.zeros(n_axes, dtype=np.int64)
    tax = np.empty(c.load.shape[0])  # multipliers of all loads
    if told[3] == 0.0:
        _share_costs(t, c, price)
        told[0], told[3] = -np.inf, 1.0
    best, best_constant, stale, rate = told[0], told[1], told[2], told[3]
    told[4] = 1.0
    before = -np.inf
    for step in range(1, steps + 1):
        constant = t.base
        for r in range(n_needs):
            constant += worth[r] * needed[r]
        for q in range(n_limits):
            constant -= toll[q] * c.allowed[q]
        paid = price_rows(t.level_start, c, price, chain, level_now)
        leaves, size = price_leaves(t.tree_start, c, chain, worth, leaf_now, chosen)
        tax[:n_limits], tax[n_limits:] = toll, worth[: tax.size - n_limits]
        levied = worth.sum()
        for q in range(n_limits):
            levied += toll[q] * (1.0 + n_axes + abs(c.allowed[q]))
        if max(abs(constant), size, paid, levied) > LARGEST * upper:
            break  # sums of such numbers would be off by more than ROUNDING
        total = constant + leaves
        total += price_levels(t.level_start, t.cost, c.load, tax, level_now, point)
        shift, rise = settle_groups(t, level_now, point)
        constant, total = constant + shift, total + rise
        if total > best:
            stale = 0.0 if total > best + 1e-4 * abs(upper - best) else stale + 1.0
            best, best_constant = total, constant
            leaf_price[:] = leaf_now
            level_price[:] = level_now
            if kept_price.size:
                kept_price[:], kept_worth[:], kept_toll[:] = price, worth, toll
        else:
            stale += 1.0
        if best >= upper:
            break
        if step % LOOK_BACK == 0:
            if best + hope * (best - before) * (steps - step) / LOOK_BACK < upper:
                break
            before = best
        if stale > PATIENCE:
            stale = 0.0
            rate *= SHRINK
            if rate < 0.01:
                break
        length = _update_momentum(c, chosen, point, price, slope, momentum)
        short = 0.0
        for r in range(n_needs):
            gap = needed[r]
            for tree in range(n_trees):
                gap -= c.share[r, chosen[tree]]
            for a in range(n_axes if tax.size > n_limits else 0):
                gap += c.load[n_limits + r, t.level_start[a] + point[a]]
            pull[r] = MOMENTUM * pull[r] + gap
            if worth[r] > 0.0 or pull[r] > 0.0:
                short += pull[r] * pull[r]
        size = KAPPA * short + length
        for q in range(n_limits):
            gap = -c.allowed[q]
            for a in range(n_axes):
                gap += c.load[q, t.level_start[a] + point[a]]
            push[q] = MOMENTUM * push[q] + gap
            if toll[q] > 0.0 or push[q] > 0.0:
                size += push[q] * push[q]
        if size == 0.0:
            break
        stride = rate * (aim - total) / size
        for i in range(n_rows):
            price[i] = max(0.0, price[i] + stride * momentum[i])
        for r in range(n_needs):
            worth[r] = max(0.0, worth[r] + KAPPA * stride * pull[r])
        for q in range(n_limits):
            toll[q] = max(0.0, toll[q] + stride * push[q])
    else:
        told[4] = 0.0
    told[0], told[1], told[2], told[3] = best, best_constant, stale, rate


@inner
def _share_costs(t, c, price):
    """Initialise multipliers: trees that split an axis on one side share its costs equally."""
    n_axes = t.best.size
    users = np.zeros((2, n_axes))
    for g in range(c.group_start.size - 1):
        i = c.group_start[g]
        users[1 if c.below[i] else 0, c.axis[i]] += 1.0
    for g in range(c.group_start.size - 1):
        first, end = c.group_start[g], c.group_start[g + 1]
        a, below = c.axis[first], c.below[first]
        base, paid = t.level_start[a], 0.0
        n = users[1 if below else 0, a]
        for j in range(end - first):
            # Nearest to the cheapest level first; a row about m keeps from it what lies beyond.
            i = end - 1 - j if below else first + j
            v = c.level[i] if below else c.level[i] + 1
            outside = v < t.best[a] if below else v > t.best[a]
            if outside:
                owed = (t.cost[base + v] - t.cost[base + t.best[a]]) / n
                price[i] = max(owed - paid, 0.0)
                paid = max(owed, paid)


@kernel
def price_rows(level_start, c, price, chain, level_now):
    """Fill what each row charges a leaf in ``chain``, and what levels receive at first.

    A leaf below a level is below all larger ones, so it pays for all of their rows. A row pays the
    levels that the leaf excludes: ``level_now`` has the change from each level to the next. Return
    the sum of all prices.
    """
    axis, level, below, group_start = c.axis, c.level, c.below, c.group_start
    level_now[:] = 0.0
    paid = 0.0
    for g in range(group_start.size - 1):
        first, end = np.uint64(group_start[g]), np.uint64(group_start[g + 1])
        base = np.uint64(level_start[axis[first]])
        total = 0.0
        if below[first]:
            for back in range(end - first):
                at = end - ONE - back
                total += price[at]
                chain[at] = total
                level_now[base + np.uint64(level[at]) + ONE] += price[at]
            level_now[base] -= total
        else:
            for i in range(first, end):
                total += price[i]
                chain[i] = total
                level_now[base + np.uint64(level[i]) + ONE] -= price[i]
        paid += total
    return paid


@kernel
def price_leaves(tree_start, c, chain, worth, leaf_now, chosen):
    """Price of each leaf; the cheapest of each tree in ``chosen``; their sum and size.

    Leaves of ``alone`` trees keep price 0.
    """
    row_start, row, share, alone = c.row_start, c.row, c.share, c.alone
    leaf_now[:] = 0.0
    for r in range(worth.size):
        if worth[r] > 0.0:
            for leaf in range(leaf_now.size):
                leaf_now[leaf] -= worth[r] * share[r, leaf]
    total, size = 0.0, 0.0
    for tree in range(tree_start.size - 1):
        if alone[tree]:
            continue
        least = np.inf
        k = np.uint64(row_start[tree_start[tree]])
        for leaf in range(np.uint64(tree_start[tree]), np.uint64(tree_start[tree + 1])):
            own, end = leaf_now[leaf], np.uint64(row_start[leaf + ONE])
            while k < end:
                own += chain[np.uint64(row[k])]
                k += ONE
            leaf_now[leaf] = own
            if own < least:
                least = own
                chosen[tree] = leaf
        total += least
        size += abs(least)
    return total, size


@kernel
def price_levels(level_start, cost, load, toll, level_now, point):
    """Add costs and tolls to what levels receive; the cheapest level of each axis; their sum."""
    total = 0.0
    for a in range(point.size):
        least, running = np.inf, 0.0
        for v in range(level_start[a], level_start[a + 1]):
            running += level_now[v]
            level_now[v] = running + cost[v]
            for q in range(toll.size):
                level_now[v] += toll[q] * load[q, v]
            if level_now[v] < least:
                least = level_now[v]
                point[a] = v - level_start[a]
        total += least
    return total


@kernel
def settle_groups(t, level_now, point):
    """Let each one-hot group pick one category, and update the prices and ``point``.

    The row "one axis of the group is 1" gets the least difference of the prices of 1 and 0 as its
    multiplier. Return the sum of these multipliers, and by how much the bound rises.
    """
    constant, raised = 0.0, 0.0
    for g in range(t.group_start.size - 1):
        pick, least, before = -1, np.inf, 0.0
        for a in t.group_axes[t.group_start[g] : t.group_start[g + 1]]:
            if _is_settled(t, level_now, a):
                continue
            one = t.level_start[a] + t.one[a]
            more = level_now[one] - level_now[one + 1 - 2 * t.one[a]]
            before += min(more, 0.0)
            if more < least:
                pick, least = a, more
        if pick < 0 or _has_category(t, level_now, g):
            continue
        constant += least
        raised += least - before
        for a in t.group_axes[t.group_start[g] : t.group_start[g + 1]]:
            if not _is_settled(t, level_now, a):
                level_now[t.level_start[a] + t.one[a]] -= least
                point[a] = t.one[a] if a == pick else 1 - t.one[a]
    return constant, raised


@inner
def _is_settled(t, level_now, a):
    """Return whether an axis has one level, or one of finite cost."""
    first, after = t.level_start[a], t.level_start[a + 1]
    return after - first < 2 or not np.isfinite(level_now[first] + level_now[first + 1])


@inner
def _has_category(t, level_now, g):
    """Return whether one axis of a group can only be 1."""
    for a in t.group_axes[t.group_start[g] : t.group_start[g + 1]]:
        if _is_settled(t, level_now, a):
            first, size = t.level_start[a], t.level_start[a + 1] - t.level_start[a]
            if t.one[a] < size and np.isfinite(level_now[first + t.one[a]]):
                return True
    return False


@inner
def _update_momentum(c, chosen, point, price, slope, momentum):
    """Add to ``momentum`` by how much the chosen leaves and levels break each row.

    ``slope`` is 0 before and after. Return the squared length of the next step.
    """
    axis, level, below = c.axis, c.level, c.below
    row_start, row, group_of, group_start = c.row_start, c.row, c.group_of, c.group_start
    for tree in range(chosen.size):
        for k in range(row_start[chosen[tree]], row_start[chosen[tree] + 1]):
            r = row[k]
            group = group_of[r]
            first = r if below[r] else group_start[group]
            end = group_start[group + 1] if below[r] else r + 1
            for i in range(first, end):
                slope[i] += 1.0
    length = 0.0
    for i in range(slope.size):
        at_most = point[np.uint64(axis[i])] <= level[i]
        moved = MOMENTUM * momentum[i] + slope[i] - (1.0 if at_most == below[i] else 0.0)
        momentum[i] = moved
        # A row without a price stays so if its step is down.
        length += moved * moved if price[i] > 0.0 or moved > 0.0 else 0.0
    slope[:] = 0.0
    return length
