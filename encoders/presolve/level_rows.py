"""Checks of level rows for one move of a walk."""

from encoders.core.compiled import inner


@inner
def load_kept(t, load, a, old, new):
    """Return whether a move neither breaks a level row nor adds weight to a broken one."""
    first = t.level_start[a]
    for q in range(load.size):
        change = t.level_weight[q, first + new] - t.level_weight[q, first + old]
        if change > 0 and load[q] + change > 0:
            return False
    return True


@inner
def load_eased(t, load, a, old, new):
    """Return whether a move takes weight from a level row that is broken."""
    first = t.level_start[a]
    for q in range(load.size):
        if load[q] > 0 and t.level_weight[q, first + new] < t.level_weight[q, first + old]:
            return True
    return False


@inner
def swap_kept(t, load, left, a, broken):
    """Return whether level rows allow a group to go from one category to another."""
    weight, old, new = t.level_weight, t.level_start[left], t.level_start[a]
    eased = not broken
    for q in range(load.size):
        freed = weight[q, old + t.one[left]] - weight[q, old + 1 - t.one[left]]
        change = weight[q, new + t.one[a]] - weight[q, new + 1 - t.one[a]]
        if change > 0 and load[q] - freed + change > 0:
            return False
        eased = eased or (load[q] > 0 and change < freed)
    return eased
