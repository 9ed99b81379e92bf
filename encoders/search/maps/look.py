"""A box of levels: which goals all its choices reach and which none does, or where to cut it."""

from encoders.core.compiled import inner
from encoders.search.node import propagate_groups

# What is known of a box, where an axis to cut would stand: -1 minus the set of goals, as bits, that
# all of its choices reach; the others none does. Or that it was not looked into.
NONE, OPEN = -1, -(2**30)


@inner
def look(t, goal, lo, hi, leaves, begin, end, most, least, first, gain):
    """Decide a box or find its cut, and write the leaves that fit it behind those of its parent.

    A goal is decided where the worst leaves that fit the box keep each of its rows, or the best
    ones break one. A box that leaves a goal undecided is cut at the splits of trees whose remaining
    leaves differ most for their number.

    Return the decision or the axis to cut, the first level of the right side, and where the leaves
    end.
    """
    if not propagate_groups(t, lo, hi):
        return NONE, 0, end
    stop = _fitting(t, lo, hi, leaves, begin, end, most, least, first)
    known, r, n_rows = NONE, 0, t.need.size
    while r < n_rows:
        none, every, g = False, True, goal[r]
        while r < n_rows and goal[r] == g:
            best, worst = 0, 0
            for tree in range(first.size - 1):
                if first[tree] == first[tree + 1]:
                    return NONE, 0, end
                best += most[r, tree]
                worst += least[r, tree]
            none = none or best < t.need[r]
            every = every and worst >= t.need[r]
            r += 1
        if not none and not every:
            axis, at = _cut(t, lo, hi, leaves, most, least, first, gain)
            return axis, at, stop
        if every and not none:
            known -= 1 << g
    return known, 0, end


@inner
def _fitting(t, lo, hi, leaves, begin, end, most, least, first):
    """Write the leaves that fit the box, and the range of each tree in each row."""
    axis, leaf_lo, leaf_hi, leaf_start = t.axis, t.lo, t.hi, t.leaf_start
    tree_of, weight = t.tree_of, t.weight
    n_rows = t.need.size
    stop, tree = end, -1
    for i in range(begin, end):
        leaf = leaves[i]
        fits = True
        for k in range(leaf_start[leaf], leaf_start[leaf + 1]):
            if leaf_lo[k] > hi[axis[k]] or leaf_hi[k] < lo[axis[k]]:
                fits = False
                break
        if not fits:
            continue
        while tree < tree_of[leaf]:
            tree += 1
            first[tree] = stop
            for r in range(n_rows):
                most[r, tree] = weight[r, leaf]
                least[r, tree] = weight[r, leaf]
        for r in range(n_rows):
            most[r, tree] = max(most[r, tree], weight[r, leaf])
            least[r, tree] = min(least[r, tree], weight[r, leaf])
        leaves[stop] = leaf
        stop += 1
    while tree < first.size - 1:
        tree += 1
        first[tree] = stop
    return stop


@inner
def _cut(t, lo, hi, leaves, most, least, first, gain):
    """Return where to cut a box: an axis and the first level of the right side; OPEN if nowhere."""
    axis, leaf_lo, leaf_start, level_start = t.axis, t.lo, t.leaf_start, t.level_start
    for tree in range(first.size - 1):
        torn = 0.0
        for r in range(t.need.size):
            torn += most[r, tree] - least[r, tree]
        share = torn / (first[tree + 1] - first[tree])
        for i in range(first[tree], first[tree + 1]):
            leaf = leaves[i]
            for k in range(leaf_start[leaf], leaf_start[leaf + 1]):
                if leaf_lo[k] > lo[axis[k]]:
                    gain[level_start[axis[k]] + leaf_lo[k]] += share
    largest, best, at = 0.0, OPEN, 0
    for a in range(lo.size):
        for v in range(lo[a] + 1, hi[a] + 1):
            if gain[level_start[a] + v] > largest:
                largest, best, at = gain[level_start[a] + v], a, v
            gain[level_start[a] + v] = 0.0
    return best, at
