"""Split nodes of a problem's trees, recovered from the boxes of their leaves."""

from dataclasses import dataclass

import numpy as np

from encoders.core.arrays import IntArray, starts
from encoders.problem.problem import Problem, Spans


@dataclass(frozen=True, eq=False)
class Nodes:
    """Split nodes: node n sends axis <= level to its left leaves, the others to the right.

    Attributes
    ----------
    tree, depth, axis, level : int64 (n_nodes,); depth -1 marks nodes with an empty side.
    left_start, right_start : int64 (n_nodes + 1,), ranges of each node in ``left`` and ``right``.
    left, right : int64, leaves on either side.
    """

    tree: IntArray
    depth: IntArray
    axis: IntArray
    level: IntArray
    left_start: IntArray
    left: IntArray
    right_start: IntArray
    right: IntArray


def find_nodes(problem: Problem) -> Nodes:
    """Return the nodes of a binary tree with the same leaves, for every tree of the problem.

    Where leaves were ruled out, several splits may separate the remaining ones, and the first is
    taken. If these do not fill their side, nodes of depth -1 with one empty side restrict it.
    """
    found: list[_Node] = []
    for tree in range(problem.tree_start.size - 1):
        first, last = int(problem.tree_start[tree]), int(problem.tree_start[tree + 1])
        spans = {leaf: problem.spans(leaf) for leaf in range(first, last)}
        size = {int(a): (0, int(n) - 1) for a, n in enumerate(problem.size)}
        open_sets = [(list(spans), 0, size)]
        while open_sets:
            leaves, depth, box = open_sets.pop()
            edges, box = _edges(tree, leaves, spans, box)
            found += edges
            split = _split(leaves, spans)
            if split is not None:
                found.append(_Node(tree, depth, *split))
                _, _, left, right = split
                open_sets += [(left, depth + 1, box), (right, depth + 1, box)]
    return _flat(found)


@dataclass(frozen=True)
class _Node:
    tree: int
    depth: int
    axis: int
    level: int
    left: list[int]
    right: list[int]


def _edges(
    tree: int, leaves: list[int], spans: dict[int, Spans], box: Spans
) -> tuple[list[_Node], Spans]:
    """Nodes that keep the axes within what the leaves of a set fill, and that tighter box."""
    nodes, tighter = [], dict(box)
    for axis in _common(leaves, spans):
        lo = min(spans[leaf][axis][0] for leaf in leaves)
        hi = max(spans[leaf][axis][1] for leaf in leaves)
        if lo > box[axis][0]:
            nodes.append(_Node(tree, -1, axis, lo - 1, [], leaves))
        if hi < box[axis][1]:
            nodes.append(_Node(tree, -1, axis, hi, leaves, []))
        tighter[axis] = (max(lo, box[axis][0]), min(hi, box[axis][1]))
    return nodes, tighter


def _split(
    leaves: list[int], spans: dict[int, Spans]
) -> tuple[int, int, list[int], list[int]] | None:
    """Return the first axis and level that separate whole leaves, and both sides, or None."""
    for axis in _common(leaves, spans):
        for level in sorted({spans[leaf][axis][1] for leaf in leaves}):
            left = [leaf for leaf in leaves if spans[leaf][axis][1] <= level]
            right = [leaf for leaf in leaves if spans[leaf][axis][0] > level]
            if left and right and len(left) + len(right) == len(leaves):
                return axis, level, left, right
    return None


def _common(leaves: list[int], spans: dict[int, Spans]) -> list[int]:
    """Axes that every leaf of the set has a literal on."""
    return sorted(set(spans[leaves[0]]).intersection(*(spans[leaf] for leaf in leaves)))


def _flat(nodes: list[_Node]) -> Nodes:
    columns = np.array([(n.tree, n.depth, n.axis, n.level) for n in nodes], dtype=np.int64)
    tree, depth, axis, level = columns.reshape(-1, 4).T
    return Nodes(
        tree=tree,
        depth=depth,
        axis=axis,
        level=level,
        left_start=starts(np.array([len(n.left) for n in nodes], dtype=np.int64)),
        left=np.array([leaf for n in nodes for leaf in n.left], dtype=np.int64),
        right_start=starts(np.array([len(n.right) for n in nodes], dtype=np.int64)),
        right=np.array([leaf for n in nodes for leaf in n.right], dtype=np.int64),
    )
