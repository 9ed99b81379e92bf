"""Merge pairs of small trees whose product has no more leaves than both have together.

The product's leaves are the pairs of leaves that fit together, so it has exactly the same
choices; but its best leaf is at most what both best leaves add up to, which strengthens every
bound that looks at one tree at a time.
"""

from dataclasses import replace

import numpy as np

from encoders.arrays import starts
from encoders.problem.problem import LeafRow, Problem, Spans

SMALL = 4  # leaves at most of a tree that is tried; the work for a pair grows with its square
Leaf = tuple[Spans, tuple[int, ...]]


def merge_pairs(problem: Problem) -> Problem:
    """The same problem with fewer trees; itself if no pair is worth it.

    Trees that split the same axes are tried with each other. Levels, and with them the way back,
    stay as they are.

    Parameters
    ----------
    problem : stays as it is
    """
    size = np.diff(problem.tree_start)
    small = np.flatnonzero(size <= SMALL).tolist()
    if len(small) < 2:
        return problem
    trees = {tree: _leaves(problem, tree) for tree in small}
    pending = sorted(small, key=lambda tree: sorted(_axes(trees[tree])))
    merged: list[list[Leaf]] = []
    current = trees[pending[0]]
    for tree in pending[1:]:
        product = _product(current, trees[tree]) if _axes(current) & _axes(trees[tree]) else None
        if product is not None:
            current = product
        else:
            merged.append(current)
            current = trees[tree]
    merged.append(current)
    if len(merged) == len(small):
        return problem
    large = [_leaves(problem, t) for t in np.flatnonzero(size > SMALL).tolist()]
    return _rebuilt(problem, large + merged)


def _leaves(problem: Problem, tree: int) -> list[Leaf]:
    """Boxes and weights of a tree's leaves."""
    return [
        (problem.spans(leaf), tuple(int(row.weight[leaf]) for row in problem.leaf_rows))
        for leaf in range(int(problem.tree_start[tree]), int(problem.tree_start[tree + 1]))
    ]


def _axes(leaves: list[Leaf]) -> set[int]:
    return {a for spans, _ in leaves for a in spans}


def _product(first: list[Leaf], second: list[Leaf]) -> list[Leaf] | None:
    """Leaves that fit together, None if there are none, or more than both trees have."""
    pairs = []
    for spans, weights in first:
        for others, more in second:
            both = _intersection(spans, others)
            if both is not None:
                pairs.append((both, weights, more))
                if len(pairs) > len(first) + len(second):
                    return None
    return [
        (both, tuple(w + m for w, m in zip(weights, more, strict=True)))
        for both, weights, more in pairs
    ] or None


def _intersection(first: Spans, second: Spans) -> Spans | None:
    both = first | second
    for axis in first.keys() & second.keys():
        (lo, hi), (low, high) = first[axis], second[axis]
        if lo > high or low > hi:
            return None
        both[axis] = (max(lo, low), min(hi, high))
    return both


def _rebuilt(problem: Problem, trees: list[list[Leaf]]) -> Problem:
    """The problem with these trees instead of its own; every tree's least weight is 0 again."""
    leaves = [leaf for tree in trees for leaf in tree]
    literals = [(a, *spans[a]) for spans, _ in leaves for a in sorted(spans)]
    axis, lo, hi = np.array(literals, dtype=np.int64).reshape(-1, 3).T
    tree_start = starts(np.array([len(tree) for tree in trees], dtype=np.int64))
    rows = tuple(
        LeafRow.normalised(
            np.array([weights[r] for _, weights in leaves], dtype=np.int64),
            row.minimum,
            tree_start,
        )
        for r, row in enumerate(problem.leaf_rows)
    )
    return replace(
        problem,
        tree_start=tree_start,
        leaf_start=starts(np.array([len(spans) for spans, _ in leaves], dtype=np.int64)),
        axis=axis.copy(),
        lo=lo.copy(),
        hi=hi.copy(),
        leaf_rows=rows,
    )
