"""A good counterfactual in milliseconds: greedy walks and minimised training rows."""

import numba
import numpy as np

from encoders.arrays import IntArray
from encoders.problem import Problem
from encoders.reduce.moves import OPTIONS, deficit, evaluate, move, profile, total_cost
from encoders.tables import Tables

WALKS = (0.5, 1.0, 2.0)  # how much a walk prefers large gains to cheap ones


def find_incumbent(problem: Problem, t: Tables, starts: IntArray) -> IntArray | None:
    """The cheapest choice found that keeps every constraint, or None.

    Parameters
    ----------
    starts : int64 (n_starts, n_axes)
        Choices to begin from beside the query itself; they need not keep the rows.
    """
    best, cheapest = None, np.inf
    walks = [(t.best, power) for power in WALKS]
    walks += [(_repaired(problem, t, start), 1.0) for start in starts]
    for start, power in walks:
        levels = start.copy()
        if not improve(t, levels, power):
            continue
        cost = problem.distance(levels)
        if cost < cheapest and problem.admits(levels):
            best, cheapest = levels, cost
    return best


def _repaired(problem: Problem, t: Tables, start: IntArray) -> IntArray:
    """A start may lie outside the admissible categories: it then gets the cheapest one."""
    levels = start.copy()
    for group in problem.one_hot:
        chosen = np.isin(problem.level_start[:-1] + levels, group)
        if chosen.sum() != 1:
            axes = np.searchsorted(problem.level_start, group, side="right") - 1
            levels[axes] = t.best[axes]
    return levels


@numba.njit(**OPTIONS)
def improve(t, levels, power):
    """Walk until all rows hold, then make every change as small as it can be; in place."""
    misses = np.zeros(t.tree_of.size, dtype=np.int64)
    lead = np.zeros(t.need.size, dtype=np.int64)
    load = np.zeros(t.level_limit.size, dtype=np.int64)
    evaluate(t, levels, misses, lead, load)
    widest = 0
    for a in range(levels.size):
        widest = max(widest, t.level_start[a + 1] - t.level_start[a])
    out = np.zeros((lead.size, widest + 1), dtype=np.int64)
    if not _walk(t, levels, misses, lead, load, out, power):
        return False
    _shrink(t, levels, misses, lead, load, out)
    # One change at a time is taken back whole and the gap closed more cheaply, if it can be.
    held = levels.copy()
    cost = total_cost(t, levels)
    for a in range(levels.size):
        if levels[a] == t.best[a] or t.group_of[a] >= 0:
            continue
        move(t, levels, misses, lead, load, a, t.best[a])
        if _walk(t, levels, misses, lead, load, out, power):
            _shrink(t, levels, misses, lead, load, out)
            now = total_cost(t, levels)
            if now < cost:
                cost = now
                held[:] = levels
                continue
        levels[:] = held
        evaluate(t, levels, misses, lead, load)
    return True


@numba.njit(**OPTIONS)
def _walk(t, levels, misses, lead, load, out, power):
    """Greedy: the move with most gain (to a power) per cost, until nothing is missing."""
    tiny = 1e-12
    for _ in range(4 * levels.size + 20):
        missing = deficit(lead, load)
        if missing == 0:
            return True
        now = total_cost(t, levels)
        best_ratio, best_axis, best_level = 0.0, -1, -1
        for a in range(levels.size):
            first, last = t.level_start[a], t.level_start[a + 1]
            if last - first < 2:
                continue
            g = t.group_of[a]
            if g >= 0:
                if levels[a] == t.one[a]:
                    continue
                left = move(t, levels, misses, lead, load, a, t.one[a])
                gain = missing - deficit(lead, load)
                extra = total_cost(t, levels) - now
                move(t, levels, misses, lead, load, a, 1 - t.one[a])
                if left >= 0:
                    move(t, levels, misses, lead, load, left, t.one[left])
                if gain > 0 and gain**power / max(extra, tiny) > best_ratio:
                    best_ratio = gain**power / max(extra, tiny)
                    best_axis, best_level = a, t.one[a]
                continue
            profile(t, levels, misses, lead, a, out)
            for v in range(last - first):
                if v == levels[a] or not _load_kept(t, load, a, levels[a], v):
                    continue
                left_over = 0.0
                for r in range(lead.size):
                    if out[r, v] < 0:
                        left_over -= out[r, v]
                gain = 1.0 if load.size and not np.isfinite(missing) else missing - left_over
                if gain <= 0:
                    continue
                if t.is_max:
                    extra = max(t.cost[first + v] - now, 0.0) + tiny * t.cost[first + v]
                else:
                    extra = t.cost[first + v] - t.cost[first + levels[a]]
                ratio = gain**power / max(extra, tiny)
                if ratio > best_ratio:
                    best_ratio, best_axis, best_level = ratio, a, v
        if best_axis < 0:
            return False
        move(t, levels, misses, lead, load, best_axis, best_level)
    return deficit(lead, load) == 0


@numba.njit(**OPTIONS)
def _load_kept(t, load, a, old, new):
    first = t.level_start[a]
    for q in range(load.size):
        change = t.level_weight[q, first + new] - t.level_weight[q, first + old]
        if change > 0 and load[q] + change > 0:
            return False
    return True


@numba.njit(**OPTIONS)
def _shrink(t, levels, misses, lead, load, out):
    """Set each axis to its cheapest level that keeps all rows, dearest change first."""
    again = True
    while again:
        again = False
        costs = np.zeros(levels.size)
        for a in range(levels.size):
            costs[a] = -t.cost[t.level_start[a] + levels[a]]
        for a in np.argsort(costs):
            first, last = t.level_start[a], t.level_start[a + 1]
            if last - first < 2:
                continue
            g = t.group_of[a]
            if g >= 0:
                if levels[a] == t.one[a] and levels[a] != t.best[a]:
                    again |= _cheaper_category(t, levels, misses, lead, load, g)
                continue
            current = t.cost[first + levels[a]]
            if current <= t.cost[first + t.best[a]]:
                continue
            profile(t, levels, misses, lead, a, out)
            pick = levels[a]
            for v in range(last - first):
                if t.cost[first + v] >= t.cost[first + pick]:
                    continue
                kept = _load_kept(t, load, a, levels[a], v)
                for r in range(lead.size):
                    kept = kept and out[r, v] >= 0
                if kept:
                    pick = v
            if pick != levels[a]:
                move(t, levels, misses, lead, load, a, pick)
                again = True


@numba.njit(**OPTIONS)
def _cheaper_category(t, levels, misses, lead, load, g):
    """Enter the cheapest category of a group that keeps all rows; True if it changed."""
    start = -1
    for i in range(t.group_start[g], t.group_start[g + 1]):
        if levels[t.group_axes[i]] == t.one[t.group_axes[i]]:
            start = t.group_axes[i]
    best, cheapest = start, total_cost(t, levels)
    for i in range(t.group_start[g], t.group_start[g + 1]):
        b = t.group_axes[i]
        if b == start:
            continue
        move(t, levels, misses, lead, load, b, t.one[b])
        if deficit(lead, load) == 0:
            cost = total_cost(t, levels)
            if cost < cheapest:
                best, cheapest = b, cost
    move(t, levels, misses, lead, load, best, t.one[best])
    return best != start
