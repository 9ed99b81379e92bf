"""A good counterfactual in milliseconds: greedy walks and minimised training rows."""

from collections.abc import Sequence

import numpy as np

from encoders.core.arrays import IntArray, runs
from encoders.core.compiled import inlined, inner, kernel
from encoders.core.errors import Over, never
from encoders.presolve.level_rows import load_eased, load_kept, swap_kept
from encoders.presolve.local_moves import (
    category_of,
    deficit,
    evaluate,
    lead_axes,
    move,
    move_axis,
    profile_groups,
    profiles,
    total_cost,
    workspace,
)
from encoders.problem.flat_problem import Tables
from encoders.problem.problem import Problem

WALKS = (1.0, 2.0)  # exponents of the gain: with larger ones a walk prefers large gains
# Choices that are improved further. Commit d43e781: polishing these alone, and reading tables once,
# made incumbents 2 to 3 times faster.
POLISHED = 3
# Starts one after another that end where others did: those after them seldom end anywhere cheaper.
# XGBoost's 100 trees take 1 to 3 % less for it on six tables, forests up to 4 %; answers are equal.
AGREED = 3
TINY = 1e-12  # least cost of a step, so that gain over cost is finite
# Literals of all moves that are made in one call: 0.2 s on large models; each call costs as much as
# one move more.
PIECE = 10_000_000
MANY_LITERALS = 100_000  # with fewer a call polishes several axes; so many take 0.2 s an axis
# How a call of descend ended: rows do not hold, all is done, it can be walked on, shrunk on.
STUCK, DONE, WALKING, SHRINKING = 0, 1, 2, 3
# Typed, because numba compiles functions again for a plain number.
UNLIMITED = NOWHERE = np.int64(-1)


def find_incumbent(
    problem: Problem,
    t: Tables,
    starts: IntArray,
    over: Over = never,
    powers: Sequence[float] = WALKS,
    polished: int = POLISHED,
) -> IntArray | None:
    """Return the cheapest choice found that satisfies every constraint, or None."""
    found: dict[bytes, IntArray] = {}
    for power in powers:
        _walked(t, t.best, power, over, found)
    agreed = 0
    for start in _repaired(t, starts):
        if over() or agreed == AGREED:
            break
        known = len(found)
        if _walked(t, start, 1.0, over, found):
            agreed = agreed + 1 if len(found) == known else 0
    best, cheapest = None, np.inf
    for levels in sorted(found.values(), key=problem.distance)[: max(polished, 1)]:
        if polished:
            polish_all(problem, t, levels, over)
        cost = problem.distance(levels)
        if cost < cheapest and problem.admits(levels):
            best, cheapest = levels, cost
    return best


def _walked(
    t: Tables, start: IntArray, power: float, over: Over, found: dict[bytes, IntArray]
) -> bool:
    """Walk from a choice; where all rows hold in the end, that is put to what was found."""
    levels = start.copy()
    holds = not over() and descend_all(t, levels, power, over)
    if holds:
        found[levels.tobytes()] = levels
    return holds


def descend_all(t: Tables, levels: IntArray, power: float, over: Over) -> bool:
    """Descend in pieces that take a moment each, in place; return whether all rows hold."""
    every = most_moves(levels.size)
    piece = min(every, max(1, PIECE // max(t.axis.size, 1)))
    end = WALKING
    for _ in range(1 if piece == every else 4 * -(-every // piece)):
        end = descend(t, levels, power, piece)
        if end in (STUCK, DONE) or over():
            break
    return end in (DONE, SHRINKING)


def polish_all(problem: Problem, t: Tables, levels: IntArray, over: Over) -> None:
    """Polish every axis, in pieces that take a moment each."""
    if t.axis.size > MANY_LITERALS:
        for a in np.flatnonzero((levels != t.best) & (t.group_of < 0)).tolist():
            tried = levels.copy()
            tried[a] = t.best[a]
            if over():
                break
            held = descend_all(t, tried, 1.0, over)
            if held and problem.distance(tried) < problem.distance(levels):
                levels[:] = tried
        return
    piece = max(1, PIECE // max(t.axis.size, 1))
    for first in range(0, levels.size, piece):
        if over():
            break
        polish(t, levels, first, min(first + piece, levels.size))


def _repaired(t: Tables, starts: IntArray) -> IntArray:
    """Return starts in which groups without exactly one category get the cheapest one."""
    levels = starts.copy()
    for first, end in runs(t.group_start):
        axes = t.group_axes[first:end]
        wrong = np.flatnonzero((levels[:, axes] == t.one[axes]).sum(axis=1) != 1)
        levels[np.ix_(wrong, axes)] = t.best[axes]
    return levels


@inlined
def most_moves(n_axes):
    """Return the maximum number of moves of a walk."""
    return 4 * n_axes + 20


@kernel
def descend(t, levels, power, most):
    """Walk until all rows hold, then make every change as small as it can be; in place."""
    misses, lead, load = workspace(t)
    evaluate(t, levels, misses, lead, load)
    on_axis, steps = profiles(t, levels, misses)
    end = _walk(t, levels, misses, lead, load, on_axis, steps, power, most)
    if end != DONE:
        return end
    unlimited = most >= most_moves(levels.size)
    most = UNLIMITED if unlimited else most
    return _shrink(t, levels, misses, lead, load, on_axis, steps, most)


@kernel
def polish(t, levels, first, end):
    """Take one change at a time back whole, and close the gap more cheaply if it can be."""
    misses, lead, load = workspace(t)
    evaluate(t, levels, misses, lead, load)
    on_axis, steps = profiles(t, levels, misses)
    best = levels.copy()
    cost = total_cost(t, levels)
    for a in range(first, end):
        if levels[a] == t.best[a] or t.group_of[a] >= 0:
            continue
        move(t, levels, misses, lead, load, on_axis, steps, a, t.best[a])
        most = most_moves(levels.size)
        if _walk(t, levels, misses, lead, load, on_axis, steps, 1.0, most) == DONE:
            _shrink(t, levels, misses, lead, load, on_axis, steps, UNLIMITED)
            now = total_cost(t, levels)
            if now < cost:
                cost = now
                best[:] = levels
                continue
        for b in range(levels.size):
            move_axis(t, levels, misses, lead, load, on_axis, steps, b, best[b])


@inner
def _walk(t, levels, misses, lead, load, on_axis, steps, power, most):
    """Greedy: the move with most gain (to a power) per cost, until nothing is missing."""
    cost, level_start, is_max = t.cost, t.level_start, t.is_max
    group_of, group_start, group_axes, one = t.group_of, t.group_start, t.group_axes, t.one
    whole = np.zeros((lead.size, group_start.size), dtype=np.int64)
    entered = np.zeros((lead.size, levels.size), dtype=np.int64)
    leads = np.zeros(steps.shape, dtype=np.int64)
    for _ in range(most):
        missing = deficit(lead, load)
        if missing == 0:
            return DONE
        broken = load.size > 0 and not np.isfinite(missing)
        now = total_cost(t, levels)
        best_ratio = 0.0
        best_axis: int | np.int64 = NOWHERE
        best_level: int | np.int64 = NOWHERE
        lead_axes(t, lead, on_axis, steps, leads)
        for a in range(levels.size):
            first, size, old = level_start[a], level_start[a + 1] - level_start[a], levels[a]
            if size < 2 or group_of[a] >= 0:
                continue
            for v in range(size):
                if v == old or (load.size and not load_kept(t, load, a, old, v)):
                    continue
                if broken and not load_eased(t, load, a, old, v):
                    continue
                gain = _gain(missing, broken, leads, lead.size, first + a + v)
                if gain <= 0:
                    continue
                if is_max:
                    extra = max(cost[first + v] - now, 0.0) + TINY * cost[first + v]
                else:
                    extra = cost[first + v] - cost[first + old]
                ratio = (gain if power == 1.0 else gain**power) / max(extra, TINY)
                if ratio > best_ratio:
                    best_ratio, best_axis, best_level = ratio, a, v
        if group_start.size > 1:
            profile_groups(t, levels, misses, whole, entered)
        for g in range(group_start.size - 1):
            left = category_of(t, g, levels)
            if left < 0 or level_start[left + 1] - level_start[left] < 2:
                continue
            before, after = level_start[left] + one[left], level_start[left] + 1 - one[left]
            for i in range(group_start[g], group_start[g + 1]):
                a = group_axes[i]
                first, size = level_start[a], level_start[a + 1] - level_start[a]
                if size < 2 or a == left:
                    continue
                left_over = 0.0
                for r in range(lead.size):
                    left_over += max(0, -lead[r] - whole[r, g] - entered[r, a])
                gain = 1.0 / (1.0 + left_over) if broken else missing - left_over
                if gain <= 0:
                    continue
                if load.size and not swap_kept(t, load, left, a, broken):
                    continue
                if is_max:
                    extra = max(cost[first + one[a]], cost[after])
                    extra = max(extra - now, 0.0) + TINY * extra
                else:
                    extra = cost[first + one[a]] - cost[first + 1 - one[a]]
                    extra += cost[after] - cost[before]
                ratio = (gain if power == 1.0 else gain**power) / max(extra, TINY)
                if ratio > best_ratio:
                    best_ratio, best_axis, best_level = ratio, a, one[a]
        if best_axis < 0:
            return STUCK
        move(t, levels, misses, lead, load, on_axis, steps, best_axis, best_level)
    return DONE if deficit(lead, load) == 0 else WALKING


@inlined
def _gain(missing, broken, leads, n_rows, i):
    """Return the decrease of the deficit, or 1 / (1 + deficit) while a level row is broken."""
    left_over = 0.0
    for r in range(n_rows):
        if leads[r, i] < 0:
            left_over -= leads[r, i]
    return 1.0 / (1.0 + left_over) if broken else missing - left_over


@inner
def _shrink(t, levels, misses, lead, load, on_axis, steps, most):
    """Set each axis to its cheapest level that keeps all rows, most expensive change first.

    Return DONE, or SHRINKING after ``most`` moves.
    """
    cost, level_start, best = t.cost, t.level_start, t.best
    leads = np.zeros(steps.shape, dtype=np.int64)
    again, told = True, False  # whether anything has changed, and whether leads are of this choice
    while again:
        again = False
        costs = np.zeros(levels.size)
        for a in range(levels.size):
            costs[a] = -cost[level_start[a] + levels[a]]
        for a in np.argsort(costs):
            first, last = level_start[a], level_start[a + 1]
            if last - first < 2:
                continue
            g = t.group_of[a]
            if g >= 0:
                if levels[a] == t.one[a] and levels[a] != best[a]:
                    told = False
                    again |= _cheaper_category(t, levels, misses, lead, load, on_axis, steps, g)
                continue
            if cost[first + levels[a]] <= cost[first + best[a]]:
                continue
            if not told:
                lead_axes(t, lead, on_axis, steps, leads)
                told = True
            pick = levels[a]
            for v in range(last - first):
                if cost[first + v] >= cost[first + pick]:
                    continue
                kept = load.size == 0 or load_kept(t, load, a, levels[a], v)
                for r in range(lead.size):
                    kept = kept and leads[r, first + a + v] >= 0
                if kept:
                    pick = v
            if pick != levels[a]:
                move(t, levels, misses, lead, load, on_axis, steps, a, pick)
                again, told = True, False
                most -= 1
                if most == 0:
                    return SHRINKING
    return DONE


@inner
def _cheaper_category(t, levels, misses, lead, load, on_axis, steps, g):
    """Enter the cheapest category of a group that keeps all rows; True if it changed."""
    cost, level_start, one = t.cost, t.level_start, t.one
    start = category_of(t, g, levels)
    left = level_start[start]
    saved = cost[left + one[start]] - cost[left + 1 - one[start]]
    best, cheapest = start, total_cost(t, levels)
    for i in range(t.group_start[g], t.group_start[g + 1]):
        b = t.group_axes[i]
        first = level_start[b]
        if b == start or (
            not t.is_max and cost[first + one[b]] - cost[first + 1 - one[b]] >= saved
        ):
            continue
        move(t, levels, misses, lead, load, on_axis, steps, b, one[b])
        if deficit(lead, load) == 0:
            total = total_cost(t, levels)
            if total < cheapest:
                best, cheapest = b, total
    move(t, levels, misses, lead, load, on_axis, steps, best, one[best])
    return best != start
