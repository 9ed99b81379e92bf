"""Search for a cheap choice of an additive model, and for the levels that cheaper ones may have.

Kernels use ``s`` for :class:`encoders.trees.terms.Terms`, ``t`` for the levels, ``value`` for the
weight of each table entry, and ``need`` for the least sum of weights of an answer. Levels are
numbered over all columns.
"""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.compiled import inner, kernel

ROUNDS = 4  # at most; later ones drop few levels
WORTHWHILE = 0.9  # share of the levels: if more remain, no further round follows
MOST_STEPS = 50  # of the search for a multiplier, which ends after about ten
LARGEST = 1e4  # times ``upper``: with larger sums rounding could reach ROUNDING
ROUNDING = 1e-7  # of ``upper``: far above what sums of up to LARGEST can be off by
TINY = 1e-12  # least cost of a step, so that gain over cost is finite


class TermLevels(NamedTuple):
    """Levels of all columns.

    Attributes
    ----------
    start : first level of each column, int64 (n_columns + 1,).
    cell : cell of each level, int64 (n_levels,).
    cost : cost of each level, float64 (n_levels,).
    cheapest : cheapest level of each column among all levels, int64 (n_columns,).
    """

    start: IntArray
    cell: IntArray
    cost: FloatArray
    cheapest: IntArray


@inner
def set_sums(s, t, value, point, a, sums):
    """Set the weight of each level of a column, summed over its trees, for a choice of others."""
    cell, column, strip, strip_start = t.cell, s.column, s.strip, s.strip_start
    first, end = t.start[a], t.start[a + 1]
    sums[first:end] = 0.0
    for at in range(s.tree_start[a], s.tree_start[a + 1]):
        k = s.tree[at]
        by_row = column[k, 0] == a
        other, width = 1 if by_row else 0, s.size[k, 1]
        place = strip[strip_start[k, other] + cell[point[column[k, other]]]]
        begin = s.table_start[k] + (place if by_row else place * width)
        step = width if by_row else 1
        base = strip_start[k, 1 - other]
        for v in range(first, end):
            sums[v] += value[begin + step * strip[base + cell[v]]]


@inner
def move_to(s, t, value, point, a, v, sums):
    """Choose a level, and update the sums of the columns that share a tree with its column."""
    point[a] = v
    for at in range(s.tree_start[a], s.tree_start[a + 1]):
        k = s.tree[at]
        b = s.column[k, 1] if s.column[k, 0] == a else s.column[k, 0]
        if b != a:
            set_sums(s, t, value, point, b, sums)


@kernel
def walk(s, t, value, need, power, point):
    """Walk from a choice to one that reaches ``need``, in place; return whether it does.

    Each step is the change with most gain (to a power) per cost. In the end each change becomes as
    small as it can be.
    """
    sums = np.empty(t.cost.size)
    for a in range(point.size):
        set_sums(s, t, value, point, a, sums)
    total = 0.0
    for k in range(s.column.shape[0]):
        row = s.strip[s.strip_start[k, 0] + t.cell[point[s.column[k, 0]]]]
        column = s.strip[s.strip_start[k, 1] + t.cell[point[s.column[k, 1]]]]
        total += value[s.table_start[k] + row * s.size[k, 1] + column]
    while total < need:
        best, best_axis, best_level = 0.0, -1, -1
        for a in range(point.size):
            old = point[a]
            for v in range(t.start[a], t.start[a + 1]):
                gain = min(sums[v] - sums[old], need - total)
                if gain > 0.0:
                    gain = gain if power == 1.0 else gain**power
                    ratio = gain / max(t.cost[v] - t.cost[old], TINY)
                    if ratio > best:
                        best, best_axis, best_level = ratio, a, v
        if best_axis < 0:
            return False
        total += sums[best_level] - sums[point[best_axis]]
        move_to(s, t, value, point, best_axis, best_level, sums)
    again = True
    while again:
        again = False
        for a in np.argsort(-t.cost[point]):
            pick = point[a]
            for v in range(t.start[a], t.start[a + 1]):
                if t.cost[v] < t.cost[pick] and total + sums[v] - sums[point[a]] >= need:
                    pick = v
            if pick != point[a]:
                total += sums[pick] - sums[point[a]]
                move_to(s, t, value, point, a, pick, sums)
                again = True
    return True


@kernel
def drop_levels(s, t, value, need, upper, keep):
    """Unset ``keep`` where no choice of cost at most ``upper`` reaches ``need``; count the others.

    The bound is Lagrangian: with a multiplier of ``need``, each column takes its cheapest level. A
    tree of two columns counts as a sum of two entries, each in line with the cheapest choice. Both
    columns get half of what other entries exceed this sum by.
    """
    remaining, slack = 0, upper + ROUNDING * upper
    for v in range(keep.size):
        keep[v] = keep[v] and t.cost[v] <= upper
        remaining += keep[v]
    sums = np.empty(t.cost.size)
    for _ in range(ROUNDS):
        before = remaining
        missing = need - _apart(s, t, value, slack, keep, sums)
        for v in range(keep.size):
            keep[v] = keep[v] and sums[v] > -np.inf
        remaining = _drop_by_multiplier(t, missing, slack, keep, sums)
        if remaining == 0 or remaining > WORTHWHILE * before:
            break
    return remaining


@inner
def _apart(s, t, value, upper, keep, sums):
    """Set a weight of each level, so that no choice has more than its sum; return the constant.

    The weights are relative to the cheapest choice. They are -inf for levels that no choice has.
    """
    total = 0.0
    sums[:] = 0.0
    for k in range(s.column.shape[0]):
        a, b = s.column[k, 0], s.column[k, 1]
        rows, columns = s.strip[s.strip_start[k, 0] :], s.strip[s.strip_start[k, 1] :]
        n_rows, n_columns = s.size[k, 0], s.size[k, 1]
        table = value[s.table_start[k] : s.table_start[k] + n_rows * n_columns]
        row, column = rows[t.cell[t.cheapest[a]]], columns[t.cell[t.cheapest[b]]]
        here = table[row * n_columns + column]
        total += here
        if a == b:
            for v in range(t.start[a], t.start[a + 1]):
                sums[v] += table[rows[t.cell[v]]] - here
            continue
        row_cost, column_cost = np.full(n_rows, np.inf), np.full(n_columns, np.inf)
        for v in range(t.start[a], t.start[a + 1]):
            if keep[v]:
                row_cost[rows[t.cell[v]]] = min(row_cost[rows[t.cell[v]]], t.cost[v])
        for v in range(t.start[b], t.start[b + 1]):
            if keep[v]:
                column_cost[columns[t.cell[v]]] = min(column_cost[columns[t.cell[v]]], t.cost[v])
        row_more, column_more = np.full(n_rows, -np.inf), np.full(n_columns, -np.inf)
        for i in range(n_rows):
            if row_cost[i] == np.inf:
                continue
            for j in range(n_columns):
                if row_cost[i] + column_cost[j] <= upper:
                    more = table[i * n_columns + j] - table[i * n_columns + column]
                    more += here - table[row * n_columns + j]
                    row_more[i] = max(row_more[i], more)
                    column_more[j] = max(column_more[j], more)
        for v in range(t.start[a], t.start[a + 1]):
            i = rows[t.cell[v]]
            sums[v] += table[i * n_columns + column] - here + 0.5 * row_more[i]
        for v in range(t.start[b], t.start[b + 1]):
            j = columns[t.cell[v]]
            sums[v] += table[row * n_columns + j] - here + 0.5 * column_more[j]
    return total


@inner
def _drop_by_multiplier(t, missing, upper, keep, sums):
    """Drop levels with which the bound is above ``upper``; return how many remain."""
    n_axes = t.cheapest.size
    point = np.empty(n_axes, dtype=np.int64)
    # The cheapest levels, and those with most weight: between them is the best multiplier.
    if not _best_levels(t, keep, sums, 1.0, 0.0, point):
        keep[:] = False
        return 0
    low_cost, low = t.cost[point].sum(), sums[point].sum()
    multiplier = 0.0
    if low < missing:
        _best_levels(t, keep, sums, 0.0, 1.0, point)
        high_cost, high = t.cost[point].sum(), sums[point].sum()
        if high < missing:
            keep[:] = False
            return 0
        for _ in range(MOST_STEPS):
            multiplier = (high_cost - low_cost) / (high - low)
            _best_levels(t, keep, sums, 1.0, multiplier, point)
            cost, weight = t.cost[point].sum(), sums[point].sum()
            if cost - multiplier * weight >= low_cost - multiplier * low - TINY * upper:
                break
            if weight < missing:
                low_cost, low = cost, weight
            else:
                high_cost, high = cost, weight
    _best_levels(t, keep, sums, 1.0, multiplier, point)
    bound, size = multiplier * missing, multiplier * abs(missing)
    for a in range(n_axes):
        bound += t.cost[point[a]] - multiplier * sums[point[a]]
        largest = 0.0
        for v in range(t.start[a], t.start[a + 1]):
            if keep[v]:
                largest = max(largest, abs(sums[v]))
        size += multiplier * largest
    remaining = 0
    for a in range(n_axes):
        least = t.cost[point[a]] - multiplier * sums[point[a]]
        for v in range(t.start[a], t.start[a + 1]):
            if keep[v] and size <= LARGEST * upper:
                keep[v] = bound + t.cost[v] - multiplier * sums[v] - least <= upper
            remaining += keep[v]
    return remaining


@inner
def _best_levels(t, keep, sums, price, multiplier, point):
    """Fill the cheapest kept level of each column; return whether each column has one."""
    for a in range(point.size):
        point[a] = -1
        for v in range(t.start[a], t.start[a + 1]):
            if keep[v]:
                best = point[a]
                if best < 0:
                    point[a] = v
                    continue
                more = price * (t.cost[v] - t.cost[best]) - multiplier * (sums[v] - sums[best])
                if more == 0.0:  # the other number decides
                    more = multiplier * (t.cost[v] - t.cost[best]) - price * (sums[v] - sums[best])
                if more < 0.0:
                    point[a] = v
        if point[a] < 0:
            return False
    return True
