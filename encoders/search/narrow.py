"""The tables of one box: deep in a search few leaves still fit, and only those are looked at."""

import numpy as np

from encoders.core.compiled import inlined, inner, kernel
from encoders.problem.flat_problem import Tables
from encoders.search.open_nodes import PRICED, SHUT, SKIPPED

# Nodes at most that are looked at in one box, depth first. With more, boxes are looked at that best
# first would not come to; with fewer, tables are made more often.
DIVE = 256
# The same where boxes have prices of their own: multipliers are forgotten after it. With 256
# forests with isolation trees on SE take 1.3 times as long.
PRICED_DIVE = 1024
# Prices are found for boxes where at most 2 of 3 leaves fit: with all of them forests on SP take
# the same time; with half of them 2.7 times as long.
FITTING, OF = 2, 3
# They are expensive where they prune no node: once they prune less than one in so many, they are
# computed for one of EVERY nodes. Forests with 500 isolation trees are like this on rows of SE.
WORTH, TRIALS, EVERY = 32, 64, 16
NARROW = 4  # tables are made where at most one of so many leaves fits; else they save too little


@inlined
def is_narrow(live):
    """Return whether so few leaves fit that making smaller tables is worth its time."""
    return NARROW * live.sum() <= live.size


@inner
def is_worth_pricing(repricing, counts, live):
    """Return whether to price a node: few leaves fit, and such prices have pruned enough nodes."""
    if repricing is None or repricing.coupling.axis.size == 0:
        return False
    worth = OF * live.sum() <= FITTING * live.size
    if worth and counts[PRICED] > TRIALS + WORTH * counts[SHUT]:
        counts[SKIPPED] += 1
        worth = counts[SKIPPED] % EVERY == 0
    return worth


@kernel
def narrowed(t, live, lo, hi):
    """Return tables of the trees with several live leaves, these leaves, and those taken out.

    A tree with one live leaf is taken out: the box is shrunk to it in place, and its weight is
    subtracted from each row's minimum. Axes and levels stay as they are.
    """
    own, out = _parted(live, t.tree_start)
    for leaf in out:
        for k in range(t.leaf_start[leaf], t.leaf_start[leaf + 1]):
            lo[t.axis[k]] = max(lo[t.axis[k]], t.lo[k])
            hi[t.axis[k]] = min(hi[t.axis[k]], t.hi[k])
    leaf_start, axis, low, high = _literals(own, t.leaf_start, t.axis, t.lo, t.hi, lo, hi)
    tree_of, tree_start = _trees(own, t.tree_of)
    weight, order, need = _rows(own, out, t.weight, t.order, t.need)
    tables = Tables(
        t.level_start, t.cost, t.base, t.is_max, t.best, t.unimodal, tree_start, leaf_start,
        axis, low, high, t.leaf_of, tree_of, t.by_axis, t.axis_start, weight, need, order,
        t.level_weight, t.level_limit, t.group_of, t.group_start, t.group_axes, t.one,
    )  # fmt: skip
    return tables, own, out


@inner
def _parted(live, tree_start):
    """Return the live leaves of trees with several, and the only live leaves of other trees."""
    own = np.empty(live.size, dtype=np.int64)
    out = np.empty(tree_start.size - 1, dtype=np.int64)
    n_own, n_out = 0, 0
    for tree in range(tree_start.size - 1):
        before = n_own
        for leaf in range(tree_start[tree], tree_start[tree + 1]):
            if live[leaf]:
                own[n_own] = leaf
                n_own += 1
        if n_own == before + 1:
            n_own -= 1
            out[n_out] = own[n_own]
            n_out += 1
    return own[:n_own].copy(), out[:n_out].copy()


@inner
def _literals(own, leaf_start, axis, leaf_lo, leaf_hi, lo, hi):
    """Return the literals of given leaves that a box does not imply: leaf_start, axis, lo, hi."""
    start = np.zeros(own.size + 1, dtype=np.int64)
    most = 0
    for leaf in own:
        most += leaf_start[leaf + 1] - leaf_start[leaf]
    axes = np.empty(most, dtype=np.int64)
    low, high = np.empty_like(axes), np.empty_like(axes)
    at = 0
    for i in range(own.size):
        for k in range(leaf_start[own[i]], leaf_start[own[i] + 1]):
            a = axis[k]
            if leaf_lo[k] > lo[a] or leaf_hi[k] < hi[a]:
                axes[at], low[at], high[at] = a, leaf_lo[k], leaf_hi[k]
                at += 1
        start[i + 1] = at
    return start, axes[:at].copy(), low[:at].copy(), high[:at].copy()


@inner
def _trees(own, tree_of):
    """Return the renumbered tree of each leaf, and the first leaf of each tree."""
    place = np.empty(own.size, dtype=np.int64)
    start = np.empty(own.size + 1, dtype=np.int64)
    n_trees = 0
    for i in range(own.size):
        if i == 0 or tree_of[own[i]] != tree_of[own[i - 1]]:
            start[n_trees] = i
            n_trees += 1
        place[i] = n_trees - 1
    start[n_trees] = own.size
    return place, start[: n_trees + 1].copy()


@inner
def _rows(own, out, weight, order, need):
    """Return weights, order (heaviest first) and needs of rows without trees in ``out``."""
    own_weight = np.empty((need.size, own.size), dtype=np.int64)
    own_order = np.empty_like(own_weight)
    left = need.copy()
    place = np.full(order.shape[1], -1, dtype=np.int64)
    for i in range(own.size):
        place[own[i]] = i
    for r in range(need.size):
        for leaf in out:
            left[r] -= weight[r, leaf]
        for i in range(own.size):
            own_weight[r, i] = weight[r, own[i]]
        at = 0
        for i in range(place.size):
            if place[order[r, i]] >= 0:
                own_order[r, at] = place[order[r, i]]
                at += 1
    return own_weight, own_order, left
