"""Validation of the nodes of a tree, and joining of trees to an :class:`Ensemble`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, frozen, starts
from encoders.core.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import SetSplits

NO_CHILD = -1  # the value in scikit-learn and treelite


@dataclass(frozen=True, eq=False)
class CodeSet:
    """Split on category codes, which are whole numbers from 0."""

    codes: IntArray  # listed codes, int64 (n_codes,)
    listed_left: bool  # whether listed codes go left; all other codes take the other way
    missing_left: bool  # whether a missing value goes left

    def goes_left(self, n_codes: int) -> BoolArray:
        """Return whether codes 0, ..., ``n_codes``, and a missing value go left, (n_codes + 2,)."""
        left: BoolArray = np.full(n_codes + 2, not self.listed_left)
        left[self.codes] = self.listed_left
        left[-1] = self.missing_left
        return left


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """Nodes of one tree, with the fields of :class:`Ensemble` and local ids; node 0 is the root.

    Attributes
    ----------
    column, left, right : column and children of each node, int64 (n_nodes,), -1 at a leaf.
    last_left : largest value that goes left, float64 (n_nodes,).
    score : scores of each node, float64 (n_nodes, n_classes), 0 at inner nodes.
    default_left : whether a missing value goes left, bool (n_nodes,); None if the library accepts
        none.
    sets : splits on sets of codes, by node.
    """

    column: IntArray
    last_left: FloatArray
    left: IntArray
    right: IntArray
    score: FloatArray
    default_left: BoolArray | None = None
    sets: Mapping[int, CodeSet] = field(default_factory=dict)

    def reachable(self, n_columns: int, source: str) -> "TreeNodes":
        """Return the reachable nodes; UnsupportedModelError if they are not a tree.

        XGBoost's files contain pruned nodes.
        """
        size = self.left.size
        children = np.stack([self.left, self.right])
        inner = self.left != NO_CHILD
        column = self.column[inner]
        if (inner != (self.right != NO_CHILD)).any():
            raise _no_tree(source, "a node has a single child")
        if children.max() >= size or children.min() < NO_CHILD:
            raise _no_tree(source, "a child is missing")
        if ((column < 0) | (column >= n_columns)).any():
            raise _no_tree(source, "a split is on an unknown column")
        if _each_after_its_parent(children[:, inner], np.flatnonzero(inner), size):
            return self
        seen: BoolArray = np.zeros(size, dtype=np.bool_)
        level, place = np.zeros(1, dtype=np.int64), np.empty(size, dtype=np.int64)
        while level.size:
            place[level] = np.arange(level.size)  # a node that occurs twice has its last index only
            if seen[level].any() or (place[level] != np.arange(level.size)).any():
                raise _no_tree(source, "a node has two parents")
            seen[level] = True
            level = children[:, level[inner[level]]].ravel()
        return self if seen.all() else self.only(seen)

    def only(self, remaining: BoolArray) -> "TreeNodes":
        number = np.append(np.cumsum(remaining) - 1, NO_CHILD)  # number[-1] is for NO_CHILD
        return TreeNodes(
            self.column[remaining],
            self.last_left[remaining],
            number[self.left[remaining]],
            number[self.right[remaining]],
            self.score[remaining],
            None if self.default_left is None else self.default_left[remaining],
            {int(number[node]): split for node, split in self.sets.items() if remaining[node]},
        )


def _each_after_its_parent(children: IntArray, parents: IntArray, size: int) -> bool:
    """Return whether each node except the root has exactly one parent with a lower id.

    Then all nodes are reachable. Libraries that number nodes in the order of creation have this
    property, and it is fast to check.
    """
    met = np.bincount(children.ravel(), minlength=size)
    return bool((children > parents).all() and met[0] == 0 and (met[1:] == 1).all())


def _no_tree(source: str, why: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"the nodes of the {source} model are not a tree: {why}. The file is damaged; train or "
        "save the model again."
    )


def joined(
    trees: Iterable[TreeNodes],
    n_columns: int,
    bias: FloatArray,
    dtype: np.dtype[Any],
    margin_unit: float,
    source: str,
    n_nodes: int | None = None,
) -> Ensemble:
    """Return trees as one ensemble; ``source`` names the library in errors."""
    if n_nodes is None:
        trees = list(trees)
        n_nodes = sum(tree.left.size for tree in trees)
    ways, always = np.empty(n_nodes, dtype=np.bool_), True
    nodes, first = _empty_nodes(ways, bias.size), [0]
    sets: dict[int, CodeSet] = {}
    for tree in trees:
        part, at = tree.reachable(n_columns, source), first[-1]
        here = slice(at, at + part.left.size)
        nodes.column[here], nodes.last_left[here] = part.column, part.last_left
        for children, child in ((nodes.left, part.left), (nodes.right, part.right)):
            children[here] = np.where(child >= 0, child + at, NO_CHILD)
        nodes.score[here] = part.score
        if part.default_left is None:
            always = False
        else:
            ways[here] = part.default_left
        sets.update({at + node: members for node, members in part.sets.items()})
        first.append(here.stop)
    if first[-1] == 0:
        raise UnsupportedModelError("the model has no trees. Train it for at least one round.")
    if first[-1] < n_nodes:
        nodes = nodes.only(np.arange(n_nodes) < first[-1])
    if not (np.isfinite(nodes.score).all() and np.isfinite(bias).all()):
        raise UnsupportedModelError(
            f"the {source} model has leaf values that are not finite. Train it on a finite target."
        )
    return Ensemble(
        n_columns=n_columns,
        root=frozen(np.array(first[:-1], dtype=np.int64)),
        column=frozen(nodes.column),
        last_left=frozen(nodes.last_left),
        left=frozen(nodes.left),
        right=frozen(nodes.right),
        score=frozen(nodes.score),
        bias=frozen(bias),
        dtype=dtype,
        margin_unit=margin_unit,
        votes=False,
        default_left=frozen(ways[: first[-1]]) if always else None,
        sets=_joined_sets(sets, nodes.column),
    )


def _empty_nodes(ways: BoolArray, n_classes: int) -> TreeNodes:
    """Return uninitialised nodes, as many as ``ways`` has entries."""
    column, left, right = (np.empty(ways.size, dtype=np.int64) for _ in range(3))
    return TreeNodes(column, np.empty(ways.size), left, right, np.empty((ways.size, n_classes)))


def _joined_sets(sets: Mapping[int, CodeSet], column: IntArray) -> SetSplits | None:
    """Return the splits on category codes of all trees; None without any."""
    if not sets:
        return None
    n_codes: dict[int, int] = {}
    for node, split in sets.items():
        most = int(split.codes.max(initial=0)) + 1
        n_codes[int(column[node])] = max(n_codes.get(int(column[node]), 1), most)
    members = [split.goes_left(n_codes[int(column[node])]) for node, split in sets.items()]
    of_node = np.full(column.size, -1, dtype=np.int64)
    of_node[list(sets)] = np.arange(len(sets))
    return SetSplits(
        frozen(of_node),
        frozen(starts(np.array([cells.size for cells in members]))[:-1]),
        frozen(np.concatenate(members)),
        {each: frozen(np.arange(n, dtype=np.float64)) for each, n in sorted(n_codes.items())},
    )
