"""Compiled evaluation of choices: which leaves are active, and what one move would change."""

import numpy as np

from encoders.core.compiled import inlined, inner, kernel


@inner
def workspace(t):
    """Arrays that :func:`evaluate` fills: misses, lead and load."""
    misses = np.zeros(t.tree_of.size, dtype=np.int64)
    lead = np.zeros(t.need.size, dtype=np.int64)
    load = np.zeros(t.level_limit.size, dtype=np.int64)
    return misses, lead, load


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


@kernel
def move(t, levels, misses, lead, load, on_axis, steps, a, new):
    """Move an axis, profiles included; in a group, entering a category leaves the present one."""
    g = t.group_of[a]
    if g >= 0:
        for i in range(t.group_start[g], t.group_start[g + 1]):
            b = t.group_axes[i]
            if b != a and levels[b] == t.one[b]:
                move_axis(t, levels, misses, lead, load, on_axis, steps, b, 1 - t.one[b])
    move_axis(t, levels, misses, lead, load, on_axis, steps, a, new)


@inner
def move_axis(t, levels, misses, lead, load, on_axis, steps, a, new):
    """Move one axis, updating what :func:`evaluate` and :func:`profiles` filled."""
    axis, lo, hi, leaf_start = t.axis, t.lo, t.hi, t.leaf_start
    axis_start, by_axis, leaf_of = t.axis_start, t.by_axis, t.leaf_of
    weight, level_start, level_weight = t.weight, t.level_start, t.level_weight
    old = levels[a]
    if old == new:
        return
    for i in range(np.uint64(axis_start[a]), np.uint64(axis_start[a + 1])):
        k = np.uint64(by_axis[i])
        was = (lo[k] <= old) & (old <= hi[k])
        now = (lo[k] <= new) & (new <= hi[k])
        if was == now:
            continue
        leaf = np.uint64(leaf_of[k])
        before = misses[leaf]
        after = before + 1 if was else before - 1
        misses[leaf] = after
        if min(before, after) > 1:
            continue
        if before <= 1:
            levels[a] = old
            _add_leaf(
                axis, lo, hi, leaf_start, weight, level_start, levels, before == 0,
                leaf, -1, on_axis, steps,
            )  # fmt: skip
        if after <= 1:
            levels[a] = new
            _add_leaf(
                axis, lo, hi, leaf_start, weight, level_start, levels, after == 0,
                leaf, 1, on_axis, steps,
            )  # fmt: skip
        if min(before, after) == 0:
            for r in range(lead.size):
                lead[r] += -weight[r, leaf] if was else weight[r, leaf]
    first = level_start[a]
    for q in range(load.size):
        load[q] += level_weight[q, first + new] - level_weight[q, first + old]
    levels[a] = new


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


@kernel
def profiles(t, levels, misses):
    """Return how sums change with each axis alone: ``on_axis`` and ``steps``, which moves update.

    ``on_axis[r, a]`` is the weight of active leaves that have a literal on an axis.
    ``steps[r, i]``, with i = t.level_start[a] + a + v, is the difference from level v - 1 to v.
    """
    axis, lo, hi, leaf_start = t.axis, t.lo, t.hi, t.leaf_start
    weight, level_start = t.weight, t.level_start
    on_axis = np.zeros((t.need.size, levels.size), dtype=np.int64)
    steps = np.zeros((t.need.size, t.cost.size + levels.size), dtype=np.int64)
    for leaf in range(misses.size):
        if misses[leaf] <= 1:
            _add_leaf(
                axis, lo, hi, leaf_start, weight, level_start, levels, misses[leaf] == 0,
                leaf, 1, on_axis, steps,
            )  # fmt: skip
    return on_axis, steps


@inlined
def _add_leaf(
    axis, lo, hi, leaf_start, weight, level_start, levels, active, leaf, sign, on_axis, steps
):
    """Add a leaf to the profiles, or subtract it: an active one, or one that misses one literal."""
    for j in range(np.uint64(leaf_start[leaf]), np.uint64(leaf_start[leaf + 1])):
        b = axis[j]
        if ((lo[j] <= levels[b]) & (levels[b] <= hi[j])) != active:
            continue
        at = level_start[b] + b
        for r in range(weight.shape[0]):
            w = sign * weight[r, leaf]
            steps[r, at + lo[j]] += w
            steps[r, at + hi[j] + 1] -= w
            if active:
                on_axis[r, b] += w


@kernel
def lead_axes(t, lead, on_axis, steps, leads):
    """Fill the leads of every level of every axis, all else unchanged, from the profiles."""
    level_start = t.level_start
    for r in range(lead.size):
        for a in range(on_axis.shape[1]):
            running = lead[r] - on_axis[r, a]
            for i in range(level_start[a] + a, level_start[a + 1] + a):
                running += steps[r, i]
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
