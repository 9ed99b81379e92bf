"""Nodes of one tree, checked, and trees joined to an :class:`Ensemble`."""

from collections.abc import Mapping, Sequence
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
        """For codes 0, 1, ..., one beyond ``n_codes``, and a missing value, bool (n_codes + 2,).

        Parameters
        ----------
        n_codes : more than any code listed
        """
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
        """The nodes that a row can get to; XGBoost keeps pruned ones in its files.

        Parameters
        ----------
        n_columns : of the model
        source : name of the library, for errors

        Raises
        ------
        UnsupportedModelError
            A node has one child, two parents, or a child or column that is not there.
        """
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
    trees: Sequence[TreeNodes],
    n_columns: int,
    bias: FloatArray,
    dtype: np.dtype[Any],
    margin_unit: float,
    source: str,
) -> Ensemble:
    """An ensemble of trees.

    Parameters
    ----------
    trees : at least one
    n_columns : of the model
    bias : float64 (n_classes,)
    dtype : the type to which the model rounds its input
    margin_unit : as in :class:`Ensemble`
    source : name of the library, for errors

    Raises
    ------
    UnsupportedModelError
        As :meth:`TreeNodes.reachable`; no tree, or a score that is not finite.
    """
    if not trees:
        raise UnsupportedModelError("the model holds no tree; train it for at least one round.")
    trees = [tree.reachable(n_columns, source) for tree in trees]
    score = np.concatenate([tree.score for tree in trees])
    if not (np.isfinite(score).all() and np.isfinite(bias).all()):
        raise UnsupportedModelError(f"the {source} model holds leaf values that are not finite.")
    first = starts(np.array([tree.left.size for tree in trees]))[:-1]

    def shifted(field: str) -> IntArray:
        children = [(getattr(tree, field), at) for tree, at in zip(trees, first, strict=True)]
        return np.concatenate([np.where(c >= 0, c + at, NO_CHILD) for c, at in children])

    column = np.concatenate([tree.column for tree in trees])
    ways = [tree.default_left for tree in trees if tree.default_left is not None]
    return Ensemble(
        n_columns=n_columns,
        root=frozen(first.copy()),
        column=frozen(column),
        last_left=frozen(np.concatenate([tree.last_left for tree in trees])),
        left=frozen(shifted("left")),
        right=frozen(shifted("right")),
        score=frozen(score),
        bias=frozen(bias),
        dtype=dtype,
        margin_unit=margin_unit,
        votes=False,
        default_left=frozen(np.concatenate(ways)) if len(ways) == len(trees) else None,
        sets=_joined_sets(trees, first, column),
    )


def _joined_sets(trees: Sequence[TreeNodes], first: IntArray, column: IntArray) -> SetSplits | None:
    """The splits on category codes of all trees, None without any."""
    sets = {
        int(at) + node: own
        for tree, at in zip(trees, first, strict=True)
        for node, own in tree.sets.items()
    }
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
