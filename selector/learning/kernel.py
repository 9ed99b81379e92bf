"""Compiled enumeration of diagrams with one, two and two splits per layer."""

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.compiled import kernel

# The end of a part of a side: a leaf, a separate split, or a split shared with a part of the
# other side (PAIR + that part).
LEAF, SINGLE, PAIR = 0, 1, 2

# Numbers of the possible third-layer splits: of part p of the low side (OF_LOW + p), of part q of
# the high side (OF_HIGH + q), shared by both (OF_BOTH + 2 * p + q), or none.
OF_LOW, OF_HIGH, OF_BOTH, NO_SPLIT = 0, 2, 4, 8
N_SPLITS = 9
NO_PART = -1
TIE = 1e-12  # costs that differ by less are equal, so that rounding does not decide


@kernel
def set_sums(bins: IntArray, start: IntArray, cost: FloatArray, rows: IntArray) -> FloatArray:
    """Return the cost of each schedule on each set, on both sides of each condition.

    The result is float64 (2 n + 1, n_schedules, 2, n). The sets are the given rows and their halves
    by each of n conditions. Conditions form chains, along which they hold for ever more rows.
    ``start`` is int64 (n_chains + 1,), the first condition of each chain. ``bins`` is int64
    (n_chains, n_rows), the number of conditions of a chain that do not hold for a row. Costs are
    added and never subtracted, so those of an empty set are 0.
    """
    n, n_schedules = start[-1], cost.shape[1]
    table = np.zeros((2 * n + 1, n_schedules, 2, n))
    for g in range(len(start) - 1):
        for h in range(len(start) - 1):
            first, here = start[g], start[g + 1] - start[g]
            second, there = start[h], start[h + 1] - start[h]
            total = np.zeros((here + 1, n_schedules, there + 1))
            for row in rows:
                for k in range(n_schedules):
                    total[bins[g, row], k, bins[h, row]] += cost[row, k]
            parts = np.zeros((here + 1, n_schedules, 2, there))
            for x in range(here + 1):
                for k in range(n_schedules):
                    low, high = 0.0, 0.0
                    for y in range(there):
                        low += total[x, k, y]
                        parts[x, k, 0, y] = low
                        high += total[x, k, there - y]
                        parts[x, k, 1, there - y - 1] = high
            for k in range(n_schedules):
                for side in range(2):
                    for y in range(there):
                        low, high = 0.0, 0.0
                        for x in range(here):
                            low += parts[x, k, side, y]
                            table[1 + 2 * (first + x), k, side, second + y] = low
                            high += parts[here - x, k, side, y]
                            table[2 * (first + here - x), k, side, second + y] = high
    table[0] = table[1] + table[2]
    return table


@kernel
def leaf_costs(table: FloatArray) -> FloatArray:
    """Return the cost of the cheapest schedule for each set, float64 (n_sets,)."""
    n_sets, n_schedules, _, _ = table.shape
    best = np.full(n_sets, np.inf)
    for i in range(n_sets):
        for k in range(n_schedules):
            best[i] = min(best[i], table[i, k, 0, 0] + table[i, k, 1, 0])
    return best


@kernel
def split_costs(table: FloatArray) -> FloatArray:
    """Return the cost of the cheapest split of each set, float64 (n_sets,)."""
    n_sets, n_schedules, _, n = table.shape
    best = np.full(n_sets, np.inf)
    cheapest = np.empty((2, n))
    for i in range(n_sets):
        cheapest[:] = np.inf
        for k in range(n_schedules):
            for side in range(2):
                for s in range(n):
                    value = table[i, k, side, s]
                    smaller = value < cheapest[side, s]
                    cheapest[side, s] = value if smaller else cheapest[side, s]
        for s in range(n):
            best[i] = min(best[i], cheapest[0, s] + cheapest[1, s])
    return best


@kernel
def pair_costs(
    low: FloatArray, high: FloatArray, room_low: FloatArray, room_high: FloatArray, alpha: float
) -> FloatArray:
    """Return the cost of the cheapest split of each union of a low and a high set.

    The result is float64 (n_low_sets, n_high_sets), inf where a shared split saves nothing. The
    innermost loops are over conditions, so that they process several numbers at once.
    """
    n_low, n_schedules, _, n = low.shape
    n_high = high.shape[0]
    best = np.full((n_low, n_high), np.inf)
    cheapest = np.empty((2, n))
    for i in range(n_low):
        for j in range(n_high):
            if room_low[i] + room_high[j] < alpha:
                continue
            cheapest[:] = np.inf
            for k in range(n_schedules):
                for side in range(2):
                    for s in range(n):
                        value = low[i, k, side, s] + high[j, k, side, s]
                        smaller = value < cheapest[side, s]
                        cheapest[side, s] = value if smaller else cheapest[side, s]
            for s in range(n):
                best[i, j] = min(best[i, j], cheapest[0, s] + cheapest[1, s])
    return best


@kernel
def best_layers(
    leaf_low: FloatArray,
    leaf_high: FloatArray,
    single_low: FloatArray,
    single_high: FloatArray,
    pair: FloatArray,
    alpha: float,
) -> tuple[float, IntArray]:
    """Find the cheapest second and third layer below one root split; return cost and plan.

    Set 0 is the whole side; sets 1 + 2 s and 2 + 2 s are its halves by condition s. A side is split
    at most once. Each part ends in a leaf, in a separate split, or in a split shared with a part
    of the other side. The third layer has at most two splits.
    """
    n_low, n_high = (leaf_low.size - 1) // 2, (leaf_high.size - 1) // 2
    best = np.inf
    plan = np.full((2, 2, 2), NO_PART, dtype=np.int64)
    part_low, part_high = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    for a in range(n_low + 1):
        parts_a = 1 if a == 0 else 2
        part_low[0], part_low[1] = (0, NO_PART) if a == 0 else (2 * a - 1, 2 * a)
        base_a = 0.0 if a == 0 else alpha
        for p in range(parts_a):
            base_a += leaf_low[part_low[p]]
        for b in range(n_high + 1):
            parts_b = 1 if b == 0 else 2
            part_high[0], part_high[1] = (0, NO_PART) if b == 0 else (2 * b - 1, 2 * b)
            base = base_a + (0.0 if b == 0 else alpha)
            for p in range(parts_b):
                base += leaf_high[part_high[p]]
            gain = np.full(N_SPLITS, -np.inf)
            gain[NO_SPLIT] = 0.0
            for p in range(parts_a):
                i = part_low[p]
                gain[OF_LOW + p] = leaf_low[i] - single_low[i] - alpha
                for q in range(parts_b):
                    j = part_high[q]
                    gain[OF_BOTH + 2 * p + q] = leaf_low[i] + leaf_high[j] - pair[i, j] - alpha
            for q in range(parts_b):
                j = part_high[q]
                gain[OF_HIGH + q] = leaf_high[j] - single_high[j] - alpha
            for x in range(N_SPLITS):
                for y in range(x, N_SPLITS):
                    if (x == y and x != NO_SPLIT) or _clash(x, y):
                        continue
                    cost = base - gain[x] - gain[y]
                    if cost < best - TIE:
                        best = cost
                        plan[:] = NO_PART
                        for p in range(parts_a):
                            plan[0, p, 0], plan[0, p, 1] = part_low[p], LEAF
                        for q in range(parts_b):
                            plan[1, q, 0], plan[1, q, 1] = part_high[q], LEAF
                        _end_in(plan, x)
                        _end_in(plan, y)
    return best, plan


@kernel
def _end_in(plan: IntArray, split: int) -> None:
    """Record a third-layer split as the end of its parts in a plan."""
    p, q = _low_part(split), _high_part(split)
    if p != NO_PART:
        plan[0, p, 1] = SINGLE if q == NO_PART else PAIR + q
    if q != NO_PART:
        plan[1, q, 1] = SINGLE if p == NO_PART else PAIR + p


@kernel
def _clash(x: int, y: int) -> bool:
    """Return whether two third-layer splits need the same part."""
    same_low: bool = _low_part(x) != NO_PART and _low_part(x) == _low_part(y)
    same_high: bool = _high_part(x) != NO_PART and _high_part(x) == _high_part(y)
    return same_low or same_high


@kernel
def _low_part(split: int) -> int:
    if split < OF_HIGH:
        return split - OF_LOW
    return (split - OF_BOTH) // 2 if OF_BOTH <= split < NO_SPLIT else NO_PART


@kernel
def _high_part(split: int) -> int:
    if OF_HIGH <= split < OF_BOTH:
        return split - OF_HIGH
    return (split - OF_BOTH) % 2 if OF_BOTH <= split < NO_SPLIT else NO_PART
