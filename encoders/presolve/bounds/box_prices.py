"""Prices of a box: trees and axes disagree less in it, so its bound is much higher.

On the hardest row of ST the bound by prices is .7 of 3.25 for the whole problem. Most boxes in
which at most half of the leaves fit reach all of it. Steps begin with the multipliers of a parent
box, so a few steps suffice.
"""

import numpy as np

from encoders.core.compiled import inner, kernel
from encoders.presolve.bounds.coupling import Coupling
from encoders.presolve.bounds.lagrange import Ascent, ascend
from encoders.presolve.bounds.prices import Prices
from encoders.problem.flat_problem import Tables

# Steps at most. With 15 searches of forests on SP take 1.1 times as long, with 60 1.2 times.
BOX_STEPS = np.int64(30)
# Factor of ``upper`` at which steps aim. Aimed at ``upper`` itself they approach it ever more
# slowly; with 1.2 they overshoot, and take 1.2 times as long.
AIM = 1.05
# Steps end where, at that many times the pace of the last eight, they would not reach ``upper``: a
# tenth to a fifth of the time of a search; with 3 half of that.
HOPE = 1.5


@kernel
def box_prices(t, coupling, own, leaf, out, lo, hi, point, upper, start, kept):
    """Prices of a box, by a few subgradient steps; leaves ``out`` are those of all its choices."""
    rows, row = _rows_within(t, coupling, own, leaf, out, lo, hi)
    cost = np.full(t.cost.size, np.inf)  # no axis picks a level beyond the box
    for a in range(lo.size):
        first = t.level_start[a]
        cost[first + lo[a] : first + hi[a] + 1] = t.cost[first + lo[a] : first + hi[a] + 1]
    boxed = Tables(
        t.level_start, cost, t.base, t.is_max, point.copy(), t.unimodal, own.tree_start,
        own.leaf_start, own.axis, own.lo, own.hi, own.leaf_of, own.tree_of, own.by_axis,
        own.axis_start, own.weight, own.need, own.order, t.level_weight, t.level_limit, t.group_of,
        t.group_start, t.group_axes, t.one,
    )  # fmt: skip
    n, n_needs, n_limits = rows.axis.size, own.need.size, rows.allowed.size
    worth, toll = start.worth.copy(), start.toll.copy()
    state = Ascent(
        start.price[row], np.zeros(n), worth, np.zeros(n_needs), toll, np.zeros(n_limits),
        np.array([-np.inf, 0.0, 0.0, 1.0, 0.0]),
    )  # fmt: skip
    price, level, row_price = np.zeros(leaf.size), np.zeros(cost.size), np.zeros(n)
    kept.price[:], kept.worth[:], kept.toll[:] = start.price, start.worth, start.toll
    ascend(
        boxed, rows, upper, AIM * upper, BOX_STEPS, HOPE, state, price, level, row_price,
        kept.worth, kept.toll,
    )  # fmt: skip
    for i in range(n):
        kept.price[row[i]] = row_price[i]
    return Prices(state.told[0], state.told[1], price, level)


@inner
def _rows_within(t, c, own, leaf, out, lo, hi):
    """Return the coupling rows that bind leaves within a box, and their indices, int64.

    Rows about levels outside of the box are left out: such levels cost inf, and the multipliers of
    these rows would be inf, too.
    """
    axis, level = c.axis, c.level
    row_start, most = np.zeros(leaf.size + 1, np.int64), 0
    for i in leaf:
        most += c.row_start[i + 1] - c.row_start[i]
    of_leaf, used = np.empty(most, np.int64), np.zeros(axis.size, dtype=np.bool_)
    at = 0
    for j in range(leaf.size):
        for k in range(c.row_start[leaf[j]], c.row_start[leaf[j] + 1]):
            r = c.row[k]
            if lo[axis[r]] <= level[r] < hi[axis[r]]:
                of_leaf[at], used[r] = r, True
                at += 1
        row_start[j + 1] = at
    row = np.flatnonzero(used)
    place = np.empty(axis.size, dtype=np.int64)
    place[row] = np.arange(row.size)
    group_of, group_start = np.zeros(row.size, np.int64), np.zeros(row.size + 1, np.int64)
    n_groups = 0
    for i in range(row.size):
        if i == 0 or c.group_of[row[i]] != c.group_of[row[i - 1]]:
            group_start[n_groups] = i
            n_groups += 1
        group_of[i] = n_groups - 1
    group_start[n_groups] = row.size
    share, needed = np.empty((own.need.size, leaf.size)), np.empty(own.need.size)
    for r in range(own.need.size):
        need = own.need[r]
        for certain in out:
            if c.alone[t.tree_of[certain]]:  # its weight is still that of its levels
                need += t.weight[r, certain]
        needed[r] = need / c.unit[r]
        share[r] = c.share[r][leaf]
    alone = np.zeros(own.tree_start.size - 1, dtype=np.bool_)
    for i in range(leaf.size):
        alone[own.tree_of[i]] = c.alone[t.tree_of[leaf[i]]]
    within = Coupling(
        c.axis[row], c.level[row], c.below[row], group_start[: n_groups + 1].copy(), group_of,
        row_start, place[of_leaf[:at]], c.unit, share, needed, alone, c.load, c.allowed,
    )  # fmt: skip
    return within, row
