"""Balanced trees over consecutive cells of one column."""

import numpy as np

from encoders.core.arrays import IntArray
from encoders.trees.tree_nodes import NO_CHILD


def balanced(n_leaves: int) -> tuple[IntArray, IntArray]:
    """Return the children of each node of a balanced tree, int64 (2, n_nodes), and its splits.

    Nodes precede their children, leaves are in the order of their nodes, and a leaf has children
    -1. A split sends the leaves up to its number left.
    """
    nodes: list[list[int]] = []

    def grow(first: int, end: int) -> int:
        at, middle = len(nodes), (first + end) // 2
        nodes.append([NO_CHILD, NO_CHILD, middle - 1])
        if end - first > 1:
            nodes[at][:2] = grow(first, middle), grow(middle, end)
        return at

    grow(0, n_leaves)
    table = np.array(nodes, dtype=np.int64).T
    return table[:2], table[2]
