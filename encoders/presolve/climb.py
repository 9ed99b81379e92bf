"""From a choice towards all rows, while some axes stay: greedy, whatever it costs."""

import numpy as np

from encoders.core.compiled import inner, kernel
from encoders.presolve.local_moves import (
    category_of,
    deficit,
    evaluate,
    lead_axes,
    move,
    move_axis,
    profile_groups,
    profiles,
    workspace,
)


@kernel
def climb(t, levels, moves):
    """Move one axis after another, each time so that least is missing, until no move helps."""
    misses, lead, load = workspace(t)
    evaluate(t, levels, misses, lead, load)
    on_axis, steps = profiles(t, levels, misses)
    leads = np.zeros(steps.shape, dtype=np.int64)
    missing = deficit(lead, load)
    whole = np.zeros((lead.size, t.group_start.size), dtype=np.int64)
    entered = np.zeros((lead.size, levels.size), dtype=np.int64)
    for _ in range(4 * levels.size):
        if missing == 0:
            break
        lead_axes(t, lead, on_axis, steps, leads)
        least, axis, level = _best_move(t, levels, misses, lead, leads, whole, entered, moves)
        if least >= missing:
            break
        move(t, levels, misses, lead, load, on_axis, steps, axis, level)
        missing = least
    return missing


@inner
def _best_move(t, levels, misses, lead, leads, whole, entered, moves):
    """Return the deficit after the best move, and its axis and level."""
    level_start = t.level_start
    group_of, group_start, group_axes, one = t.group_of, t.group_start, t.group_axes, t.one
    least, axis, level = np.inf, -1, -1
    for a in range(levels.size):
        size = level_start[a + 1] - level_start[a]
        if not moves[a] or size < 2 or group_of[a] >= 0:
            continue
        first = level_start[a] + a
        for v in range(size):
            missing = 0.0
            for r in range(lead.size):
                missing += max(0, -leads[r, first + v])
            if missing < least:
                least, axis, level = missing, a, v
    if group_start.size > 1:
        profile_groups(t, levels, misses, whole, entered)
    for g in range(group_start.size - 1):
        left = category_of(t, g, levels)
        if left < 0 or not moves[left] or level_start[left + 1] - level_start[left] < 2:
            continue
        for i in range(group_start[g], group_start[g + 1]):
            a = group_axes[i]
            if a == left or level_start[a + 1] - level_start[a] < 2:
                continue
            missing = 0.0
            for r in range(lead.size):
                missing += max(0, -lead[r] - whole[r, g] - entered[r, a])
            if missing < least:
                least, axis, level = missing, a, one[a]
    return least, axis, level


@kernel
def take_back(t, levels, own, axes, start):
    """Set one set of axes after another to their own levels, where all rows are still kept."""
    misses, lead, load = workspace(t)
    evaluate(t, levels, misses, lead, load)
    on_axis, steps = profiles(t, levels, misses)
    best = levels.copy()
    for i in range(start.size - 2, -1, -1):
        for at in range(start[i], start[i + 1]):
            a = axes[at]
            move_axis(t, levels, misses, lead, load, on_axis, steps, a, own[a])
        kept = deficit(lead, load) == 0
        for at in range(start[i], start[i + 1]):
            a = axes[at]
            if kept:
                best[a] = levels[a]
            else:
                move_axis(t, levels, misses, lead, load, on_axis, steps, a, best[a])


@kernel
def keeping(t, choices):
    """Which choices keep all rows, bool (n_choices,)."""
    misses, lead, load = workspace(t)
    kept = np.zeros(len(choices), dtype=np.bool_)
    for i in range(len(choices)):
        evaluate(t, choices[i], misses, lead, load)
        kept[i] = deficit(lead, load) == 0
    return kept
