"""Compiled traversal of set splits: the classes of cells that reach each leaf."""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import IntArray, UnsignedArray, read_only
from encoders.core.compiled import kernel
from encoders.trees.ways import Splits


class SetClasses(NamedTuple):
    """Classes of cells that each set sends left, in packed flags.

    Attributes
    ----------
    group : index of each column among the columns with sets, int64 (n_columns,), -1 if none.
    width : bytes of the flags of each column with sets, int64 (n_groups,).
    first : first byte of each set in ``bits``, int64 (n_sets,).
    bits : packed flags, set by set, uint8.
    """

    group: IntArray
    width: IntArray
    first: IntArray
    bits: UnsignedArray


class SetLimits(NamedTuple):
    """Leaves that not all cells of a column reach, column by column, tree by tree.

    Attributes
    ----------
    entry : first entry of each column in ``node``, int64 (n_groups,).
    byte : first byte of each column in ``bits``, int64 (n_groups,).
    node : node of each of these leaves, int64 (n_limits,).
    bits : packed flags of the classes that reach the leaf, uint8 (n_bytes,).
    deepest : largest number of set splits above a leaf.
    """

    entry: IntArray
    byte: IntArray
    node: IntArray
    bits: UnsignedArray
    deepest: int


def no_limits(n_groups: int) -> SetLimits:
    """Return limits without memory for entries, with which entries are only counted."""
    none = np.zeros(n_groups, dtype=np.int64)
    first = read_only(none)
    return SetLimits(first, first, none[:0], np.zeros(0, dtype=np.uint8), 0)


@kernel
def limits_of(s: Splits, root: IntArray, t: SetClasses, limits: SetLimits) -> IntArray:
    """Return the number of entries of each column, and fill them in if there is memory for them.

    The result is int64 (n_groups + 1,). Its last item is the largest number of set splits above a
    leaf. Only ``limits.node`` and ``limits.bits`` are written.
    """
    of_column, to_left, to_right, of_node = s.column, s.left, s.right, s.of_node
    group, width, first, every = t.group, t.width, t.first, t.bits
    node_of, bits, fill = limits.node, limits.bits, limits.node.size > 0
    n_groups, widest, n_nodes = width.size, width.max(), of_column.size
    # State of the path: its columns with sets, the set splits of each, the classes that remain.
    path, turns = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    split, times = np.empty(n_groups, np.int64), np.zeros(n_groups, np.int64)
    now = np.full((n_groups, widest), np.uint8(255))
    before = np.empty((limits.deepest, widest), np.uint8)  # the flags before each set split
    counts, n_split, above = np.zeros(n_groups + 1, np.int64), 0, 0
    for tree in range(root.size):
        depth, path[0], turns[0] = 0, root[tree], 0
        while depth >= 0:
            node = path[depth]
            if of_column[node] < 0:
                counts[n_groups] = max(counts[n_groups], above)
                for place in range(n_split):
                    g = split[place]
                    if fill:
                        node_of[limits.entry[g] + counts[g]] = node
                        begin = limits.byte[g] + counts[g] * width[g]
                        for at in range(width[g]):
                            bits[begin + at] = now[g, at]
                    counts[g] += 1
                depth -= 1
                continue
            turn = turns[depth]
            if of_node.size > 0 and of_node[node] >= 0:
                g = group[of_column[node]]
                if turn == 0:
                    if times[g] == 0:
                        split[n_split] = g
                        n_split += 1
                    times[g] += 1
                    above += 1
                for at in range(width[g] if fill else 0):
                    if turn == 0:
                        before[above - 1, at] = now[g, at]
                    now[g, at] = before[above - 1, at]
                    flags = every[first[of_node[node]] + at]
                    if turn < 2:
                        now[g, at] &= flags if turn == 0 else ~flags
                if turn == 2:
                    above -= 1
                    times[g] -= 1
                    if times[g] == 0:
                        n_split -= 1  # columns leave the path in reverse order
            turns[depth] += 1
            if turn == 2:
                depth -= 1
            else:
                depth += 1
                path[depth], turns[depth] = to_left[node] if turn == 0 else to_right[node], 0
    return counts
