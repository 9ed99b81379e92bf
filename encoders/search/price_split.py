"""The split of a node whose prices were just computed: levels to cut off, and where to split.

On one side of a level the bound rises where the cheapest leaf of a tree, or the cheapest level of
the axis, is on the other side. With prices of a larger box, such splits are worse than those of
:mod:`encoders.search.drops`: searches on SP take twice as long.
"""

import numpy as np

from encoders.core.compiled import ONE, inner, kernel
from encoders.search.node import PRUNED, SOLVED, SPLIT

LITTLE = 1e-3  # share of the room that each side gains at least, so that one side alone counts


@kernel
def split_by_prices(t, prices, node, limit):
    """Cut off the levels with which the bound reaches ``limit``, and choose a split.

    Return PRUNED if nothing is left, SOLVED if one choice is left, or SPLIT: then ``split`` has the
    largest product of the gains of both sides.
    """
    below, above = np.zeros(t.cost.size), np.zeros(t.cost.size)
    bound = prices.constant
    bound += _gains_of_leaves(t, prices.leaf, node, below, above)
    bound += _gains_of_levels(t, prices.level, node, below, above)
    if bound >= limit or not _cut(t, node, below, above, limit - bound):
        return PRUNED
    return SPLIT if _choose(t, node, below, above, limit - bound) else SOLVED


@inner
def _gains_of_leaves(t, price, node, below, above):
    """Add the rise of each tree's cheapest leaf if an axis stays below a level, or above it.

    Return the total of the cheapest leaves.
    """
    lo, hi, live, leaf_start, tree_start = node.lo, node.hi, node.live, t.leaf_start, t.tree_start
    width = (hi - lo).max() + 1
    # The least prices of leaves that reach a level, for each axis of the tree's cheapest leaf.
    least_up, least_down = np.empty((lo.size, width)), np.empty((lo.size, width))
    place, axes, free = np.full(lo.size, -1), np.empty(lo.size, np.int64), np.empty(lo.size)
    met, total = np.empty(lo.size, np.int64), 0.0
    for tree in range(tree_start.size - 1):
        best, least = -1, np.inf
        for leaf in range(tree_start[tree], tree_start[tree + 1]):
            if live[leaf] and price[leaf] < least:
                best, least = leaf, price[leaf]
        total += least
        n = 0
        for k in range(leaf_start[best], leaf_start[best + 1]):
            a = t.axis[k]
            if t.lo[k] > lo[a] or t.hi[k] < hi[a]:
                place[a], axes[n], free[n], met[n] = n, a, np.inf, -1
                least_up[n, : hi[a] - lo[a]] = np.inf
                least_down[n, 1 : hi[a] - lo[a] + 1] = np.inf
                n += 1
        for leaf in range(tree_start[tree], tree_start[tree + 1]):
            if not live[leaf]:
                continue
            for k in range(np.uint64(leaf_start[leaf]), np.uint64(leaf_start[leaf + ONE])):
                a = t.axis[k]
                i = place[a]
                if i >= 0:
                    met[i] = leaf
                    # A leaf that does not fit the box any more counts as one at its edge.
                    v = min(max(t.lo[k], lo[a]), hi[a]) - lo[a]
                    least_up[i, v] = min(least_up[i, v], price[leaf])
                    v = max(min(t.hi[k], hi[a]), lo[a]) - lo[a]
                    least_down[i, v] = min(least_down[i, v], price[leaf])
            for i in range(n):
                if met[i] != leaf:
                    free[i] = min(free[i], price[leaf])
        for i in range(n):
            a = axes[i]
            place[a] = -1
            first, running = t.level_start[a] + lo[a], free[i]
            for v in range(hi[a] - lo[a]):
                running = min(running, least_up[i, v])
                if running <= least:
                    break
                below[first + v] += running - least
            running = free[i]
            for v in range(hi[a] - lo[a], 0, -1):
                running = min(running, least_down[i, v])
                if running <= least:
                    break
                above[first + v - 1] += running - least
    return total


@inner
def _gains_of_levels(t, price, node, below, above):
    """Add the rise of the cheapest level of each axis, as above; return the total of these."""
    total = 0.0
    for a in range(node.lo.size):
        first, last = t.level_start[a] + node.lo[a], t.level_start[a] + node.hi[a]
        least = price[first : last + 1].min()
        total += least
        running = np.inf
        for v in range(first, last):
            running = min(running, price[v])
            below[v] += running - least
        running = np.inf
        for v in range(last, first, -1):
            running = min(running, price[v])
            above[v - 1] += running - least
    return total


@inner
def _cut(t, node, below, above, room):
    """Cut off levels on whose side the gain takes the whole room; return False if none is left."""
    for a in range(node.lo.size):
        first, low, high = t.level_start[a], node.lo[a], node.hi[a]
        for v in range(node.lo[a], node.hi[a]):
            if below[first + v] >= room:
                low = max(low, v + 1)
            if above[first + v] >= room:
                high = min(high, v)
        if low > high:
            return False
        node.lo[a], node.hi[a] = low, high
    return True


@inner
def _choose(t, node, below, above, room):
    """Fill ``split`` with the largest product of gains; return whether a split exists.

    A split of a category that :mod:`encoders.search.drops` chose stays: the bound is too low before
    categories are fixed. Without it searches on ST take twice as long.
    """
    lo, hi, point, split, score = node.lo, node.hi, node.point, node.split, 0.0
    a = split[0]
    if t.group_of[a] >= 0 and lo[a] <= split[1] < hi[a]:
        return True
    for a in range(lo.size):
        for v in range(lo[a], hi[a]):
            i = t.level_start[a] + v
            now = (below[i] / room + LITTLE) * (above[i] / room + LITTLE)
            if now > score:
                score = now
                split[0], split[1], split[2] = a, v, 1 if point[a] <= v else 0
    return score > 0.0
