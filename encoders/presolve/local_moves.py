"""Compiled evaluation of choices: which leaves are active, and what one move would change."""

import numpy as np

from encoders.core.compiled import inlined, inner, kernel


@inner
def workspace(t):
    """Room for :func:`evaluate` and :func:`profile`: misses, lead, load and ``out``."""
    widest = 0
    for a in range(t.best.size):
        widest = max(widest, t.level_start[a + 1] - t.level_start[a])
    misses = np.zeros(t.tree_of.size, dtype=np.int64)
    lead = np.zeros(t.need.size, dtype=np.int64)
    load = np.zeros(t.level_limit.size, dtype=np.int64)
    return misses, lead, load, np.zeros((lead.size, widest + 1), dtype=np.int64)


@kernel
def evaluate(t, levels, misses, lead, load):
    """Fill the literals each leaf misses, the leaf rows' leads and the level rows' loads."""
    leaf_axis = t.axis
    leaf_hi = t.hi
    leaf_start = t.leaf_start
    level_limit = t.level_limit
    level_start = t.level_start
    level_weight = t.level_weight
    leaf_lo = t.lo
    need = t.need
    weight = t.weight
    for leaf in range(misses.size):
        n_misses = 0
        for k in range(np.uint64(leaf_start[leaf]), np.uint64(leaf_start[leaf + 1])):
            v = levels[np.uint64(leaf_axis[k])]
            n_misses += (v < leaf_lo[k]) | (v > leaf_hi[k])
        misses[leaf] = n_misses
    for r in range(need.size):
        lead[r] = -need[r]
        for leaf in range(misses.size):
            if misses[leaf] == 0:
                lead[r] += weight[r, leaf]
    for q in range(level_limit.size):
        load[q] = -level_limit[q]
        for a in range(levels.size):
            load[q] += level_weight[q, level_start[a] + levels[a]]


@inner
def set_level(t, levels, misses, lead, load, a, new):
    """Move one axis, updating what :func:`evaluate` filled."""
    axis_start = t.axis_start
    by_axis = t.by_axis
    leaf_hi = t.hi
    leaf_of = t.leaf_of
    level_start = t.level_start
    level_weight = t.level_weight
    leaf_lo = t.lo
    weight = t.weight
    old = levels[a]
    if old == new:
        return
    for i in range(np.uint64(axis_start[a]), np.uint64(axis_start[a + 1])):
        k = np.uint64(by_axis[i])
        was = (leaf_lo[k] <= old) & (old <= leaf_hi[k])
        now = (leaf_lo[k] <= new) & (new <= leaf_hi[k])
        if was == now:
            continue
        leaf = np.uint64(leaf_of[k])
        if was:
            if misses[leaf] == 0:
                for r in range(lead.size):
                    lead[r] -= weight[r, leaf]
            misses[leaf] += 1
        else:
            misses[leaf] -= 1
            if misses[leaf] == 0:
                for r in range(lead.size):
                    lead[r] += weight[r, leaf]
    first = level_start[a]
    for q in range(load.size):
        load[q] += level_weight[q, first + new] - level_weight[q, first + old]
    levels[a] = new


@kernel
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


@inner
def category_of(t, g, levels):
    """Return the axis of a group's chosen category, -1 if there is none."""
    for i in range(t.group_start[g], t.group_start[g + 1]):
        if levels[t.group_axes[i]] == t.one[t.group_axes[i]]:
            return t.group_axes[i]
    return -1


@inner
def total_cost(t, levels):
    """Objective of a choice."""
    base = t.base
    cost_of = t.cost
    is_max = t.is_max
    level_start = t.level_start
    total = base
    for a in range(levels.size):
        c = cost_of[level_start[a] + levels[a]]
        if is_max:
            total = max(total, c)
        else:
            total += c
    return total


@inner
def deficit(lead, load):
    """Return how far a choice is from keeping all rows; 0 if it does."""
    missing = 0.0
    for r in range(lead.size):
        if lead[r] < 0:
            missing -= lead[r]
    for q in range(load.size):
        if load[q] > 0:
            missing = np.inf
    return missing


@inlined
def profile(
    axis_start, by_axis, leaf_of, leaf_lo, leaf_hi, weight, size, levels, misses, lead, a, out
):
    """Leads of every level of an axis, all else unchanged: ``out[r, v]``."""
    old = levels[a]
    for r in range(lead.size):
        for v in range(size + 1):
            out[r, v] = 0
        rest = lead[r]
        for i in range(axis_start[a], axis_start[a + 1]):
            k = by_axis[i]
            leaf = leaf_of[k]
            inside = leaf_lo[k] <= old <= leaf_hi[k]
            others = misses[leaf] - (0 if inside else 1)
            if others == 0:
                w = weight[r, leaf]
                out[r, leaf_lo[k]] += w
                out[r, leaf_hi[k] + 1] -= w
                if inside:
                    rest -= w
        running = rest
        for v in range(size):
            running += out[r, v]
            out[r, v] = running


@inner
def profile_axes(t, levels, misses, lead, rest, leads):
    """Leads of every level of every axis, all else unchanged, of axes that are in no group.

    One pass over the leaves for all axes: few leaves are active, or would be by a single move.
    """
    axis, lo, hi, leaf_start = t.axis, t.lo, t.hi, t.leaf_start
    weight, level_start = t.weight, t.level_start
    leads[:] = 0
    for r in range(lead.size):
        rest[r] = lead[r]
    for leaf in range(misses.size):
        if misses[leaf] > 1:
            continue
        active = misses[leaf] == 0
        for k in range(leaf_start[leaf], leaf_start[leaf + 1]):
            a = axis[k]
            if (lo[k] <= levels[a] <= hi[k]) != active:
                continue
            first = level_start[a] + a
            for r in range(lead.size):
                w = weight[r, leaf]
                leads[r, first + lo[k]] += w
                leads[r, first + hi[k] + 1] -= w
                if active:
                    rest[r, a] -= w
    for r in range(lead.size):
        for a in range(levels.size):
            running = rest[r, a]
            for i in range(level_start[a] + a, level_start[a + 1] + a):
                running += leads[r, i]
                leads[r, i] = running


@kernel
def profile_groups(t, levels, misses, whole, entered):
    """Fill the change by each category, all else unchanged: ``whole[r, g] + entered[r, a]``.

    One pass over the leaves for all groups: a thousand categories of one group have literals in
    the same leaves. A leaf counts as one that says "is" on at most one axis of a group, and "is
    not" on no axis beside it, as :func:`encoders.formulation.pose.pose` makes them.
    """
    group_of, one, axis, lo, hi = t.group_of, t.one, t.axis, t.lo, t.hi
    leaf_start, weight = t.leaf_start, t.weight
    whole[:] = 0
    entered[:] = 0
    for leaf in range(misses.size):
        if misses[leaf] > 1:
            continue
        first, end = leaf_start[leaf], leaf_start[leaf + 1]
        only, gained = -1, misses[leaf] == 1
        if gained:  # it opens where the group of the one literal that does not hold goes elsewhere
            k = first
            while lo[k] <= levels[axis[k]] <= hi[k]:
                k += 1
            only = group_of[axis[k]]
            if only < 0:
                continue
            if lo[k] == one[axis[k]]:
                for r in range(weight.shape[0]):
                    entered[r, axis[k]] += weight[r, leaf]
                continue
            for r in range(weight.shape[0]):
                whole[r, only] += weight[r, leaf]
        for k in range(first, end):
            a = axis[k]
            g = group_of[a]
            if g < 0 or (gained and g != only):
                continue
            if lo[k] <= one[a] <= hi[k]:
                for r in range(weight.shape[0]):
                    whole[r, g] -= weight[r, leaf]
            else:
                for r in range(weight.shape[0]):
                    entered[r, a] -= weight[r, leaf]
