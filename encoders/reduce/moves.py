"""Compiled evaluation of choices: which leaves are active, and what one move would change."""

import numba
import numpy as np

OPTIONS = {"cache": True, "nogil": True}


@numba.njit(**OPTIONS)
def evaluate(t, levels, misses, lead, load):
    """Fill the literals each leaf misses, the leaf rows' leads and the level rows' loads."""
    misses[:] = 0
    for k in range(t.axis.size):
        v = levels[t.axis[k]]
        if v < t.lo[k] or v > t.hi[k]:
            misses[t.leaf_of[k]] += 1
    for r in range(t.need.size):
        lead[r] = -t.need[r]
        for leaf in range(misses.size):
            if misses[leaf] == 0:
                lead[r] += t.weight[r, leaf]
    for q in range(t.level_limit.size):
        load[q] = -t.level_limit[q]
        for a in range(levels.size):
            load[q] += t.level_weight[q, t.level_start[a] + levels[a]]


@numba.njit(**OPTIONS)
def set_level(t, levels, misses, lead, load, a, new):
    """Move one axis, updating what :func:`evaluate` filled."""
    old = levels[a]
    if old == new:
        return
    for i in range(t.axis_start[a], t.axis_start[a + 1]):
        k = t.by_axis[i]
        was = t.lo[k] <= old <= t.hi[k]
        now = t.lo[k] <= new <= t.hi[k]
        if was == now:
            continue
        leaf = t.leaf_of[k]
        if was:
            if misses[leaf] == 0:
                for r in range(lead.size):
                    lead[r] -= t.weight[r, leaf]
            misses[leaf] += 1
        else:
            misses[leaf] -= 1
            if misses[leaf] == 0:
                for r in range(lead.size):
                    lead[r] += t.weight[r, leaf]
    first = t.level_start[a]
    for q in range(load.size):
        load[q] += t.level_weight[q, first + new] - t.level_weight[q, first + old]
    levels[a] = new


@numba.njit(**OPTIONS)
def move(t, levels, misses, lead, load, a, new):
    """Move an axis; in a group, entering a category leaves the present one.

    Returns the axis that was left (-1 if none), so that the move can be undone.
    """
    left = -1
    g = t.group_of[a]
    if g >= 0:
        for i in range(t.group_start[g], t.group_start[g + 1]):
            b = t.group_axes[i]
            if b != a and levels[b] == t.one[b]:
                left = b
                set_level(t, levels, misses, lead, load, b, 1 - t.one[b])
    set_level(t, levels, misses, lead, load, a, new)
    return left


@numba.njit(**OPTIONS)
def total_cost(t, levels):
    """Objective of a choice."""
    total = t.base
    for a in range(levels.size):
        c = t.cost[t.level_start[a] + levels[a]]
        if t.is_max:
            total = max(total, c)
        else:
            total += c
    return total


@numba.njit(**OPTIONS)
def deficit(lead, load):
    """How far a choice is from keeping all rows; 0 if it does."""
    missing = 0.0
    for r in range(lead.size):
        if lead[r] < 0:
            missing -= lead[r]
    for q in range(load.size):
        if load[q] > 0:
            missing = np.inf
    return missing


@numba.njit(**OPTIONS)
def profile(t, levels, misses, lead, a, out):
    """Leads of every level of an axis, all else unchanged: ``out[r, v]``."""
    size = t.level_start[a + 1] - t.level_start[a]
    old = levels[a]
    for r in range(lead.size):
        for v in range(size + 1):
            out[r, v] = 0
        rest = lead[r]
        for i in range(t.axis_start[a], t.axis_start[a + 1]):
            k = t.by_axis[i]
            leaf = t.leaf_of[k]
            inside = t.lo[k] <= old <= t.hi[k]
            others = misses[leaf] - (0 if inside else 1)
            if others == 0:
                w = t.weight[r, leaf]
                out[r, t.lo[k]] += w
                out[r, t.hi[k] + 1] -= w
                if inside:
                    rest -= w
        running = rest
        for v in range(size):
            running += out[r, v]
            out[r, v] = running
