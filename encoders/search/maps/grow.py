"""Boxes cut until every one is decided: the tree of a map, and how large it will be."""

import numpy as np

from encoders.core.compiled import kernel
from encoders.search.maps.look import look

NODES, WAITING = 0, 1  # of ``counts``: nodes written, boxes that wait


@kernel
def grow(t, goal, tree, lo, hi, begin, end, parent, leaves, counts, until):
    """Explore boxes, left side first, until ``until`` nodes are written or the arrays are full."""
    n_trees, n_rows, n_leaves = t.tree_start.size - 1, t.need.size, t.tree_of.size
    most = np.empty((n_rows, n_trees), dtype=np.int64)
    least = np.empty((n_rows, n_trees), dtype=np.int64)
    first = np.empty(n_trees + 1, dtype=np.int64)
    gain = np.zeros(t.cost.size)
    while counts[WAITING] > 0 and counts[NODES] < until:
        box, node = counts[WAITING] - 1, counts[NODES]
        if box + 2 > len(lo) or end[box] + n_leaves > leaves.size:
            return
        counts[NODES] += 1
        counts[WAITING] -= 1
        if parent[box] >= 0:
            tree[parent[box], 2] = node
        known, at, stop = look(
            t, goal, lo[box], hi[box], leaves, begin[box], end[box], most, least, first, gain
        )
        tree[node, 0] = known
        tree[node, 1] = at
        tree[node, 2] = 0
        if known < 0:
            continue
        begin[box], end[box], parent[box] = end[box], stop, node
        begin[box + 1], end[box + 1], parent[box + 1] = begin[box], stop, -1
        for a in range(lo.shape[1]):
            lo[box + 1, a] = lo[box, a]
            hi[box + 1, a] = hi[box, a]
        lo[box, known] = at
        hi[box + 1, known] = at - 1
        counts[WAITING] += 2


@kernel
def dive(t, goal, lo, hi, leaves, sides):
    """Follow one path down to a decided box, with random sides.

    Weighted by two to the depth, what many paths meet is on average what there is in all (Knuth
    1975, *Estimating the efficiency of backtrack programs*).

    Return the nodes and the leaves looked at that the whole tree would then have, and the leaves
    that were looked at here.
    """
    n_trees, n_rows, n_leaves = t.tree_start.size - 1, t.need.size, t.tree_of.size
    most = np.empty((n_rows, n_trees), dtype=np.int64)
    least = np.empty((n_rows, n_trees), dtype=np.int64)
    first = np.empty(n_trees + 1, dtype=np.int64)
    gain = np.zeros(t.cost.size)
    nodes, looks, here, weight, end = 0.0, 0.0, 0, 1.0, n_leaves
    for right in sides:
        nodes += weight
        looks += weight * end
        here += end
        known, at, stop = look(t, goal, lo, hi, leaves, 0, end, most, least, first, gain)
        if known < 0:
            break
        for i in range(end, stop):
            leaves[i - end] = leaves[i]
        end = stop - end
        weight *= 2.0
        if right:
            lo[known] = at
        else:
            hi[known] = at - 1
    return nodes, looks, here


@kernel
def merged(tree):
    """Return the tree with equally decided sides merged, and its depth."""
    n = len(tree)
    last = np.empty(n, dtype=np.int64)  # the first node that is not below
    depth = np.zeros(n, dtype=np.int64)
    for node in range(n - 1, -1, -1):
        last[node] = node + 1
        if tree[node, 0] < 0:
            continue
        right = tree[node, 2]
        last[node] = last[right]
        depth[node] = 1 + max(depth[node + 1], depth[right])
        if tree[node, 0] >= 0 and tree[node + 1, 0] < 0 and tree[node + 1, 0] == tree[right, 0]:
            tree[node, 0] = tree[right, 0]
            depth[node] = 0
    place = np.full(n, -1, dtype=np.int64)
    node, count = 0, 0
    while node < n:
        place[node] = count
        count += 1
        node = node + 1 if tree[node, 0] >= 0 else last[node]
    kept = np.empty((count, 3), dtype=np.int32)
    for node in range(n):
        if place[node] >= 0:
            kept[place[node], 0] = tree[node, 0]
            kept[place[node], 1] = tree[node, 1]
            kept[place[node], 2] = place[tree[node, 2]] if tree[node, 0] >= 0 else 0
    return kept, depth[0]
