"""Nodes of one tree, checked, and trees joined to an :class:`Ensemble`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, frozen, starts
from encoders.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import SetSplits

NO_CHILD = -1  # as scikit-learn and treelite write it


@dataclass(frozen=True, eq=False)
class CodeSet:
    """A split on category codes, which are whole numbers from 0.

    Attributes
    ----------
    codes : int64 (n_codes,), those that are listed
    listed_left : whether they go left; all other codes go the other way
    missing_left : where a value goes that is missing
    """

    codes: IntArray
    listed_left: bool
    missing_left: bool

    def goes_left(self, n_codes: int) -> BoolArray:
        """For codes 0, 1, ..., one beyond ``n_codes``, and a missing value, bool (n_codes + 2,)."""
        left: BoolArray = np.full(n_codes + 2, not self.listed_left)
        left[self.codes] = self.listed_left
        left[-1] = self.missing_left
        return left


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """One tree; fields as of :class:`Ensemble`, the root first, node ids its own.

    Attributes
    ----------
    column, left, right : int64 (n_nodes,), -1 at a leaf
    last_left : float64 (n_nodes,)
    score : float64 (n_nodes, n_classes), 0 at inner nodes
    default_left : bool (n_nodes,), where a missing value goes; None where the library takes none
    sets : by node, splits that send a set of codes one way
    """

    column: IntArray
    last_left: FloatArray
    left: IntArray
    right: IntArray
    score: FloatArray
    default_left: BoolArray | None = None
    sets: Mapping[int, CodeSet] = field(default_factory=dict)

    def reachable(self, n_columns: int, source: str) -> "TreeNodes":
        """The nodes that a row can get to; XGBoost keeps pruned ones in its files."""
        size = self.left.size
        children = np.stack([self.left, self.right])
        inner = self.left != NO_CHILD
        column = self.column[inner]
        if (inner != (self.right != NO_CHILD)).any():
            raise _no_tree(source, "one has a single child")
        if children.max() >= size or children.min() < NO_CHILD:
            raise _no_tree(source, "a child is missing")
        if ((column < 0) | (column >= n_columns)).any():
            raise _no_tree(source, "a split is on an unknown column")
        if _each_after_its_parent(children[:, inner], np.flatnonzero(inner), size):
            return self
        seen: BoolArray = np.zeros(size, dtype=np.bool_)
        level, place = np.zeros(1, dtype=np.int64), np.empty(size, dtype=np.int64)
        while level.size:
            place[level] = np.arange(level.size)  # a node that is met twice has the last one alone
            if seen[level].any() or (place[level] != np.arange(level.size)).any():
                raise _no_tree(source, "a node has two parents")
            seen[level] = True
            level = children[:, level[inner[level]]].ravel()
        return self if seen.all() else self._only(seen)

    def _only(self, kept: BoolArray) -> "TreeNodes":
        number = np.append(np.cumsum(kept) - 1, NO_CHILD)  # the last is that of no child
        return TreeNodes(
            self.column[kept],
            self.last_left[kept],
            number[self.left[kept]],
            number[self.right[kept]],
            self.score[kept],
            None if self.default_left is None else self.default_left[kept],
            {int(number[node]): own for node, own in self.sets.items() if kept[node]},
        )


def _each_after_its_parent(children: IntArray, parents: IntArray, size: int) -> bool:
    """Whether each node but the first one has one parent, before it, so that a row can get to all.

    Libraries that number nodes as they make them have them so; it is known at a glance.
    """
    met = np.bincount(children.ravel(), minlength=size)
    return bool((children > parents).all() and met[0] == 0 and (met[1:] == 1).all())


def _no_tree(source: str, why: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"the {source} model's nodes are no trees: {why}; the file is damaged, train or save it "
        "anew."
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
    """An ensemble of trees."""
    if n_nodes is None:
        trees = list(trees)
        n_nodes = sum(tree.left.size for tree in trees)
    ways, always = np.empty(n_nodes, dtype=np.bool_), True
    found, first = _room(ways, bias.size), [0]
    sets: dict[int, CodeSet] = {}
    for tree in trees:
        own, at = tree.reachable(n_columns, source), first[-1]
        here = slice(at, at + own.left.size)
        found.column[here], found.last_left[here] = own.column, own.last_left
        for mine, child in ((found.left, own.left), (found.right, own.right)):
            mine[here] = np.where(child >= 0, child + at, NO_CHILD)
        found.score[here] = own.score
        if own.default_left is None:
            always = False
        else:
            ways[here] = own.default_left
        sets.update({at + node: members for node, members in own.sets.items()})
        first.append(here.stop)
    if first[-1] == 0:
        raise UnsupportedModelError("the model holds no tree; train it for at least one round.")
    if first[-1] < n_nodes:
        found = found._only(np.arange(n_nodes) < first[-1])
    if not (np.isfinite(found.score).all() and np.isfinite(bias).all()):
        raise UnsupportedModelError(f"the {source} model holds leaf values that are not finite.")
    return Ensemble(
        n_columns=n_columns,
        root=frozen(np.array(first[:-1], dtype=np.int64)),
        column=frozen(found.column),
        last_left=frozen(found.last_left),
        left=frozen(found.left),
        right=frozen(found.right),
        score=frozen(found.score),
        bias=frozen(bias),
        dtype=dtype,
        margin_unit=margin_unit,
        votes=False,
        default_left=frozen(ways[: first[-1]]) if always else None,
        sets=_joined_sets(sets, found.column),
    )


def _room(ways: BoolArray, n_classes: int) -> TreeNodes:
    """Nodes to be filled in, as many as there are places for their ways."""
    column, left, right = (np.empty(ways.size, dtype=np.int64) for _ in range(3))
    return TreeNodes(column, np.empty(ways.size), left, right, np.empty((ways.size, n_classes)))


def _joined_sets(sets: Mapping[int, CodeSet], column: IntArray) -> SetSplits | None:
    """The splits on category codes of all trees, by node; None without any."""
    if not sets:
        return None
    n_codes: dict[int, int] = {}
    for node, own in sets.items():
        most = int(own.codes.max(initial=0)) + 1
        n_codes[int(column[node])] = max(n_codes.get(int(column[node]), 1), most)
    members = [own.goes_left(n_codes[int(column[node])]) for node, own in sets.items()]
    of_node = np.full(column.size, -1, dtype=np.int64)
    of_node[list(sets)] = np.arange(len(sets))
    return SetSplits(
        frozen(of_node),
        frozen(starts(np.array([own.size for own in members]))[:-1]),
        frozen(np.concatenate(members)),
        {own: frozen(np.arange(n, dtype=np.float64)) for own, n in sorted(n_codes.items())},
    )
