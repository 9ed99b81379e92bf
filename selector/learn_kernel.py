"""The enumeration of diagrams with one, two and two splits a layer, compiled."""

import numba
import numpy as np

from encoders.arrays import FloatArray, IntArray

LEAF, SINGLE, PAIR = 0, 1, 2


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def leaf_costs(table: FloatArray) -> FloatArray:
    """Cheapest class for each set; ``table`` is (n_sets, n_conditions, 2, n_classes)."""
    n_sets, _, _, n_classes = table.shape
    best = np.full(n_sets, np.inf)
    for i in range(n_sets):
        for k in range(n_classes):
            best[i] = min(best[i], table[i, 0, 0, k] + table[i, 0, 1, k])
    return best


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def split_costs(table: FloatArray) -> tuple[FloatArray, IntArray]:
    """Cheapest split of each set into two classes, and by which condition."""
    n_sets, n_conditions, _, n_classes = table.shape
    best, by = np.full(n_sets, np.inf), np.zeros(n_sets, dtype=np.int64)
    for i in range(n_sets):
        for s in range(n_conditions):
            cost = 0.0
            for side in range(2):
                cheapest = np.inf
                for k in range(n_classes):
                    cheapest = min(cheapest, table[i, s, side, k])
                cost += cheapest
            if cost < best[i]:
                best[i], by[i] = cost, s
    return best, by


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def pair_costs(low: FloatArray, high: FloatArray) -> tuple[FloatArray, IntArray]:
    """As :func:`split_costs`, for the union of a set below the root and one above it."""
    n_low, n_conditions, _, n_classes = low.shape
    n_high = high.shape[0]
    best = np.full((n_low, n_high), np.inf)
    by = np.zeros((n_low, n_high), dtype=np.int64)
    for i in range(n_low):
        for j in range(n_high):
            for s in range(n_conditions):
                cost = 0.0
                for side in range(2):
                    cheapest = np.inf
                    for k in range(n_classes):
                        cheapest = min(cheapest, low[i, s, side, k] + high[j, s, side, k])
                    cost += cheapest
                if cost < best[i, j]:
                    best[i, j], by[i, j] = cost, s
    return best, by


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def best_layers(
    leaf_low: FloatArray,
    leaf_high: FloatArray,
    single_low: FloatArray,
    single_high: FloatArray,
    pair: FloatArray,
    alpha: float,
) -> tuple[float, IntArray]:
    """The cheapest second and third layer below one root split.

    Sets come as 0: the whole side, then for condition s its two halves 1 + 2 s and 2 + 2 s. A
    side is either left whole or split once; each part ends in a leaf, in a split of its own, or
    in a split shared with a part of the other side; at most two splits in the third layer.

    Returns
    -------
    cost without the root's, and int64 (2, 2, 2): for each side and part (set, what becomes of
    it, LEAF, SINGLE, or PAIR + part of the other side), set -1 where there is no second part
    """
    n_low, n_high = (leaf_low.size - 1) // 2, (leaf_high.size - 1) // 2
    best = np.inf
    plan = np.full((2, 2, 2), -1, dtype=np.int64)
    part_low, part_high = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    for a in range(n_low + 1):
        parts_a = 1 if a == 0 else 2
        part_low[0], part_low[1] = (0, -1) if a == 0 else (2 * a - 1, 2 * a)
        base_a = 0.0 if a == 0 else alpha
        for p in range(parts_a):
            base_a += leaf_low[part_low[p]]
        for b in range(n_high + 1):
            parts_b = 1 if b == 0 else 2
            part_high[0], part_high[1] = (0, -1) if b == 0 else (2 * b - 1, 2 * b)
            base = base_a + (0.0 if b == 0 else alpha)
            for p in range(parts_b):
                base += leaf_high[part_high[p]]
            # Gains of third-layer splits: singles 0..3, pairs 4..7 = 4 + 2 * p + q.
            gain = np.full(9, -np.inf)
            gain[8] = 0.0  # no split
            for p in range(parts_a):
                i = part_low[p]
                gain[p] = leaf_low[i] - single_low[i] - alpha
                for q in range(parts_b):
                    j = part_high[q]
                    gain[4 + 2 * p + q] = leaf_low[i] + leaf_high[j] - pair[i, j] - alpha
            for q in range(parts_b):
                j = part_high[q]
                gain[2 + q] = leaf_high[j] - single_high[j] - alpha
            for x in range(9):
                for y in range(x, 9):
                    if (x == y and x != 8) or _clash(x, y):
                        continue
                    cost = base - gain[x] - gain[y]
                    if cost < best - 1e-12:
                        best = cost
                        plan[:] = -1
                        for p in range(parts_a):
                            plan[0, p, 0], plan[0, p, 1] = part_low[p], LEAF
                        for q in range(parts_b):
                            plan[1, q, 0], plan[1, q, 1] = part_high[q], LEAF
                        for z in (x, y):
                            if z < 2:
                                plan[0, z, 1] = SINGLE
                            elif z < 4:
                                plan[1, z - 2, 1] = SINGLE
                            elif z < 8:
                                p, q = (z - 4) // 2, (z - 4) % 2
                                plan[0, p, 1], plan[1, q, 1] = PAIR + q, PAIR + p
    return best, plan


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _clash(x: int, y: int) -> bool:
    """Whether two third-layer splits want the same part."""
    if x == 8 or y == 8:
        return False
    low_x = x if x < 2 else (x - 4) // 2 if x >= 4 else -1
    low_y = y if y < 2 else (y - 4) // 2 if y >= 4 else -1
    high_x = x - 2 if 2 <= x < 4 else (x - 4) % 2 if x >= 4 else -1
    high_y = y - 2 if 2 <= y < 4 else (y - 4) % 2 if y >= 4 else -1
    return (low_x >= 0 and low_x == low_y) or (high_x >= 0 and high_x == high_y)
