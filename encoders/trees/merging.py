"""Merging of the trees that split one and the same column into a single tree over its cells."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, frozen, starts
from encoders.trees.balanced import balanced
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import SetSplits
from encoders.trees.tree_nodes import NO_CHILD


def merged_by_column(ensemble: Ensemble) -> Ensemble:
    """Return the same sums with one tree for each column that several trees split into sets alone.

    A linear model of one-hot encoded columns has a tree per category. Merged, a column has one
    leaf for the cells that are in the same leaves of all its trees: only these surely have the same
    prediction, to the last bit.
    """
    sets = ensemble.sets
    if sets is None:
        return ensemble
    ends = np.append(ensemble.root[1:], ensemble.column.size)
    trees_of: dict[int, list[int]] = {}
    for at, (first, end) in enumerate(zip(ensemble.root.tolist(), ends.tolist(), strict=True)):
        columns = np.unique(ensemble.column[first:end])
        columns = columns[columns >= 0]
        if columns.size == 1 and int(columns[0]) in sets.edges:
            trees_of.setdefault(int(columns[0]), []).append(at)
    several = {column: trees for column, trees in sorted(trees_of.items()) if len(trees) > 1}
    if not several:
        return ensemble
    new = [_merged(ensemble, sets, column, trees) for column, trees in several.items()]
    others = np.ones(ensemble.root.size, dtype=np.bool_)
    others[[at for trees in several.values() for at in trees]] = False
    return _with_trees(ensemble, sets, np.repeat(others, ends - ensemble.root), others, new)


def _leaves(ensemble: Ensemble, sets: SetSplits, column: int, tree: int) -> IntArray:
    """Return the leaf of a tree in each cell of its only column, int64 (n_cells,)."""
    node = np.full(sets.edges[column].size + 2, ensemble.root[tree])
    cells = np.arange(node.size)
    while (inner := ensemble.column[node] >= 0).any():
        smaller = sets.goes_left[sets.first[sets.of_node[node[inner]]] + cells[inner]]
        node[inner] = np.where(smaller, ensemble.left[node[inner]], ensemble.right[node[inner]])
    return node


@dataclass(frozen=True, eq=False)
class _Tree:
    """Tree over the cells of one column.

    Attributes
    ----------
    children : children of each node, int64 (2, n_nodes), -1 at a leaf.
    column : column of each split, int64 (n_nodes,), -1 at a leaf.
    score : scores of each node, float64 (n_nodes, n_sums).
    members : cells that each split sends left, bool (n_cells,) each.
    """

    children: IntArray
    column: IntArray
    score: FloatArray
    members: list[BoolArray]


def _merged(ensemble: Ensemble, sets: SetSplits, column: int, trees: list[int]) -> _Tree:
    """Return a balanced tree with one leaf for the cells that are in the same leaves of trees."""
    leaves = np.stack([_leaves(ensemble, sets, column, at) for at in trees], axis=1)
    _, first, group = np.unique(leaves, axis=0, return_index=True, return_inverse=True)
    group = np.argsort(np.argsort(first))[np.ravel(group)]  # in the order of the cells
    children, last = balanced(first.size)
    inner = children[0] != NO_CHILD
    score = np.zeros((inner.size, ensemble.n_sums))
    score[~inner] = ensemble.score[leaves[np.sort(first)]].sum(axis=1)
    members = [group <= at for at in last[inner].tolist()]
    return _Tree(children, np.where(inner, column, NO_CHILD), score, members)


def _with_trees(
    ensemble: Ensemble, sets: SetSplits, nodes: BoolArray, trees: BoolArray, new: list[_Tree]
) -> Ensemble:
    """Return an ensemble of some of its trees, whose nodes are given, and new ones."""
    number, count = np.cumsum(nodes) - 1, int(nodes.sum())
    sizes = [tree.column.size for tree in new]
    root = count + starts(np.array(sizes, dtype=np.int64))
    column = np.concatenate([ensemble.column[nodes], *(tree.column for tree in new)])

    def children(old: IntArray, side: int) -> IntArray:
        moved = [
            np.where(tree.children[side] >= 0, tree.children[side] + at, NO_CHILD)
            for tree, at in zip(new, root.tolist(), strict=False)
        ]
        before = np.where(old[nodes] >= 0, number[old[nodes]], NO_CHILD)
        return frozen(np.concatenate([before, *moved]))

    def extended(old: Any, value: Any) -> Any:
        return frozen(np.append(old[nodes], np.full(sum(sizes), value)))

    splits = column >= 0
    splits[:count] = False
    ways = ensemble.default_left
    return replace(
        ensemble,
        root=frozen(np.append(number[ensemble.root[trees]], root[:-1])),
        column=frozen(column),
        last_left=extended(ensemble.last_left, -np.inf),
        left=children(ensemble.left, 0),
        right=children(ensemble.right, 1),
        score=frozen(np.concatenate([ensemble.score[nodes], *(tree.score for tree in new)])),
        default_left=None if ways is None else extended(ways, False),
        sets=replace(sets, of_node=extended(sets.of_node, -1)).joined(
            splits, [cells for tree in new for cells in tree.members]
        ),
    )
