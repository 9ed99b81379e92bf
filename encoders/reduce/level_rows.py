"""What level rows say about one move of a walk."""

from encoders.compiled import inner


@inner
def load_kept(t, load, a, old, new):
    """Whether no level row is in the way of a move, or broken even more by it.

    Parameters
    ----------
    t : see :mod:`encoders.compiled`
    load : as in :func:`encoders.reduce.local_moves.evaluate`
    a, old, new : axis, and its levels before and after
    """
    first = t.level_start[a]
    for q in range(load.size):
        change = t.level_weight[q, first + new] - t.level_weight[q, first + old]
        if change > 0 and load[q] + change > 0:
            return False
    return True


@inner
def load_eased(t, load, a, old, new):
    """Whether a move takes weight from a level row that is broken.

    Parameters
    ----------
    t, load, a, old, new : as in :func:`load_kept`
    """
    first = t.level_start[a]
    for q in range(load.size):
        if load[q] > 0 and t.level_weight[q, first + new] < t.level_weight[q, first + old]:
            return True
    return False


@inner
def swap_kept(t, load, left, a, broken):
    """Whether no level row is in the way of a group that goes from one category to another.

    Parameters
    ----------
    t, load : as in :func:`load_kept`
    left, a : axes of the categories before and after
    broken : whether a level row is broken; one of these has to gain by it
    """
    weight, old, new = t.level_weight, t.level_start[left], t.level_start[a]
    eased = not broken
    for q in range(load.size):
        freed = weight[q, old + t.one[left]] - weight[q, old + 1 - t.one[left]]
        change = weight[q, new + t.one[a]] - weight[q, new + 1 - t.one[a]]
        if change > 0 and load[q] - freed + change > 0:
            return False
        eased = eased or (load[q] > 0 and change < freed)
    return eased
