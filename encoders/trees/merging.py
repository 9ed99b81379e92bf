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
    """Return the same sums with one tree for each column that trees split into sets alone.

    A linear model of one-hot encoded columns has a tree per category. Merged, a column has one
    leaf for the cells that are in the same leaves of all its trees: only these surely have the same
    prediction, to the last bit. A column of numbers gets thresholds instead of sets, unless a tree
    of several columns splits it too.
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
    others = np.ones(ensemble.root.size, dtype=np.bool_)
    others[[at for trees in trees_of.values() for at in trees]] = False
    beside = np.unique(ensemble.column[np.repeat(others, ends - ensemble.root)]).tolist()
    ordered = sets.numbers.intersection(trees_of).difference(beside)
    merged = {
        column: trees
        for column, trees in sorted(trees_of.items())
        if len(trees) > 1 or column in ordered
    }
    if not merged:
        return ensemble
    for column in trees_of.keys() - merged.keys():
        others[trees_of[column]] = True
    new = [
        (_ordered if column in ordered else _merged)(ensemble, sets, column, trees)
        for column, trees in merged.items()
    ]
    nodes = np.repeat(others, ends - ensemble.root)
    return _with_trees(ensemble, sets.without(ordered), nodes, others, new)


def _leaves(ensemble: Ensemble, sets: SetSplits, column: int, trees: list[int]) -> IntArray:
    """Return the leaves of trees in each cell of their only column, int64 (n_cells, n_trees)."""
    node = np.tile(ensemble.root[trees], (sets.edges[column].size + 2, 1))
    cells = np.arange(len(node))[:, None] + np.zeros_like(node)
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
    last_left : threshold of each node, float64 (n_nodes,), -inf where it splits into sets.
    members : cells that each split into sets sends left, bool (n_cells,) each.
    """

    children: IntArray
    column: IntArray
    score: FloatArray
    last_left: FloatArray
    members: list[BoolArray]


def _merged(ensemble: Ensemble, sets: SetSplits, column: int, trees: list[int]) -> _Tree:
    """Return a balanced tree with one leaf for the cells that are in the same leaves of trees."""
    leaves = _leaves(ensemble, sets, column, trees)
    _, first, group = np.unique(leaves, axis=0, return_index=True, return_inverse=True)
    group = np.argsort(np.argsort(first))[np.ravel(group)]  # in the order of the cells
    tree, last = _balanced(ensemble, column, leaves[np.sort(first)])
    return replace(tree, members=[group <= at for at in last.tolist()])


def _ordered(ensemble: Ensemble, sets: SetSplits, column: int, trees: list[int]) -> _Tree:
    """Return a balanced tree with thresholds between neighbouring cells in different leaves.

    Missing values go right, to the last leaf.
    """
    leaves = _leaves(ensemble, sets, column, trees)
    ends = np.append(sets.edges[column], np.finfo(np.float64).max)
    turns = np.flatnonzero((leaves[1:] != leaves[:-1]).any(axis=1))
    tree, last = _balanced(ensemble, column, leaves[np.append(turns, ends.size)])
    tree.last_left[tree.column >= 0] = ends[turns[last]]
    return tree


def _balanced(ensemble: Ensemble, column: int, leaves: IntArray) -> tuple[_Tree, IntArray]:
    """Return a tree with a leaf per row of ``leaves``, and the last row left of each split."""
    children, last = balanced(len(leaves))
    inner = children[0] != NO_CHILD
    score = np.zeros((inner.size, ensemble.n_sums))
    score[~inner] = ensemble.score[leaves].sum(axis=1)
    columns, thresholds = np.where(inner, column, NO_CHILD), np.full(inner.size, -np.inf)
    return _Tree(children, columns, score, thresholds, []), last[inner]


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

    by_set = [(tree.column >= 0) & bool(tree.members) for tree in new]
    splits = np.concatenate([np.zeros(count, dtype=np.bool_), *by_set])
    members = [cells for tree in new for cells in tree.members]
    of_all = replace(sets, of_node=extended(sets.of_node, -1)).joined(splits, members)
    ways, last_left = ensemble.default_left, [ensemble.last_left[nodes]]
    return replace(
        ensemble,
        root=frozen(np.append(number[ensemble.root[trees]], root[:-1])),
        column=frozen(column),
        last_left=frozen(np.concatenate(last_left + [tree.last_left for tree in new])),
        left=children(ensemble.left, 0),
        right=children(ensemble.right, 1),
        score=frozen(np.concatenate([ensemble.score[nodes], *(tree.score for tree in new)])),
        default_left=None if ways is None else extended(ways, False),
        sets=of_all if of_all.edges else None,
    )
