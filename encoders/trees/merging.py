"""Merging of the trees that split one and the same column into a single tree over its cells."""

from dataclasses import dataclass, field, replace

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, frozen
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import SetSplits

LEAF = -1


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
    new = _NewNodes(ensemble.n_sums)
    for column, trees in several.items():
        leaves = np.stack([_leaves(ensemble, sets, column, at) for at in trees], axis=1)
        new.add(column, leaves, ensemble.score[leaves].sum(axis=1))
    others = np.ones(ensemble.root.size, dtype=np.bool_)
    others[[at for trees in several.values() for at in trees]] = False
    return _with_nodes(ensemble, sets, np.repeat(others, ends - ensemble.root), others, new)


def _leaves(ensemble: Ensemble, sets: SetSplits, column: int, tree: int) -> IntArray:
    """Return the leaf of a tree in each cell of its only column, int64 (n_cells,)."""
    node = np.full(sets.edges[column].size + 2, ensemble.root[tree])
    cells = np.arange(node.size)
    while (inner := ensemble.column[node] >= 0).any():
        smaller = sets.goes_left[sets.first[sets.of_node[node[inner]]] + cells[inner]]
        node[inner] = np.where(smaller, ensemble.left[node[inner]], ensemble.right[node[inner]])
    return node


@dataclass(eq=False)
class _NewNodes:
    """Nodes of new trees, in lists; ids begin at 0."""

    n_sums: int
    root: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    lower: list[int] = field(default_factory=list)
    upper: list[int] = field(default_factory=list)
    score: list[FloatArray] = field(default_factory=list)
    members: dict[int, BoolArray] = field(default_factory=dict)  # by node

    def add(self, column: int, leaves: IntArray, score: FloatArray) -> None:
        """Add a balanced tree over the cells of a column, with a leaf for each row of leaves."""
        _, first, group = np.unique(leaves, axis=0, return_index=True, return_inverse=True)
        group = np.argsort(np.argsort(first))[np.ravel(group)]  # in the order of the cells
        scores = score[np.sort(first)]
        self.root.append(len(self.column))
        self._node(column, scores, group, 0, len(scores))

    def _node(self, column: int, scores: FloatArray, group: IntArray, first: int, end: int) -> int:
        at, leaf = len(self.column), end - first == 1
        self.column.append(LEAF if leaf else column)
        self.lower.append(LEAF)
        self.upper.append(LEAF)
        self.score.append(scores[first] if leaf else np.zeros(self.n_sums))
        if not leaf:
            middle = (first + end) // 2
            self.members[at] = group < middle
            self.lower[at] = self._node(column, scores, group, first, middle)
            self.upper[at] = self._node(column, scores, group, middle, end)
        return at


def _with_nodes(
    ensemble: Ensemble, sets: SetSplits, nodes: BoolArray, trees: BoolArray, new: _NewNodes
) -> Ensemble:
    """Return an ensemble of some of its trees, whose nodes are given, and new ones."""
    number, count = np.cumsum(nodes) - 1, int(nodes.sum())

    def joined(old: IntArray, added: list[int]) -> IntArray:
        moved = np.where(old >= 0, number[old], LEAF)
        fresh = np.array(added, dtype=np.int64)
        return frozen(np.concatenate([moved, np.where(fresh >= 0, fresh + count, LEAF)]))

    n_new = len(new.column)
    splits = np.zeros(count + n_new, dtype=np.bool_)
    splits[[count + at for at in new.members]] = True
    of_node = np.append(sets.of_node[nodes], np.full(n_new, LEAF))
    ways = ensemble.default_left
    if ways is not None:
        ways = frozen(np.append(ways[nodes], np.zeros(n_new, dtype=np.bool_)))
    return replace(
        ensemble,
        root=joined(ensemble.root[trees], new.root),
        column=frozen(np.append(ensemble.column[nodes], new.column).astype(np.int64)),
        last_left=frozen(np.append(ensemble.last_left[nodes], np.full(n_new, -np.inf))),
        left=joined(ensemble.left[nodes], new.lower),
        right=joined(ensemble.right[nodes], new.upper),
        score=frozen(np.concatenate([ensemble.score[nodes], new.score])),
        default_left=ways,
        sets=replace(sets, of_node=frozen(of_node)).joined(splits, list(new.members.values())),
    )
