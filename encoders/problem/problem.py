"""The finite-domain problem every solver sees: pick one level per axis, keep every row."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, frozen, owners, starts
from encoders.errors import BrokenProblemError
from encoders.problem.partition import broken_tree, covered

OnBounds = Callable[[float, float], None]  # told (upper, lower) bounds on the optimal cost
Spans = dict[int, tuple[int, int]]  # axis -> (lo, hi)


@dataclass(frozen=True, eq=False)
class LeafRow:
    """``sum of weight[l] over the active leaves >= minimum``, in exact integers.

    Weights are at least 0, and the least weight of every tree is 0.

    Attributes
    ----------
    weight : int64 (n_leaves,)
    minimum : what the active leaves weigh at least
    """

    weight: IntArray
    minimum: int

    @staticmethod
    def normalised(weight: IntArray, minimum: int, tree_start: IntArray) -> "LeafRow":
        """The same row with the least weight of every tree 0.

        Parameters
        ----------
        weight : int64 (n_leaves,)
        minimum : of the row as given; lowered by what the weights are
        tree_start : int64 (n_trees + 1,)
        """
        least = np.minimum.reduceat(weight, tree_start[:-1])
        lowered = weight - np.repeat(least, np.diff(tree_start))
        return LeafRow(frozen(lowered), int(minimum) - int(least.sum()))


@dataclass(frozen=True, eq=False)
class LevelRow:
    """``sum of weight[level] over the chosen levels <= maximum``.

    Weights are at least 0: what prices on such rows are off by is counted on that.

    Attributes
    ----------
    weight : int64 (n_levels,)
    maximum : what the chosen levels weigh at most
    """

    weight: IntArray
    maximum: int


@dataclass(frozen=True, eq=False)
class Box:
    """``lo <= level <= hi`` on each of the named axes; all int64 arrays of one length.

    Attributes
    ----------
    axis : each at most once
    lo, hi : levels counted within the axis
    """

    axis: IntArray
    lo: IntArray
    hi: IntArray


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise the cost of the chosen levels.

    An axis is an ordered domain of levels: the cells of a column, or the two levels (0, 1) of
    one category of a one-hot group. Exactly one leaf per tree is active: the one whose literals
    ``lo <= level <= hi`` all hold. Everything is sparse; nothing is leaves x levels.

    Attributes
    ----------
    level_start : int64 (n_axes + 1,); axis a has the levels level_start[a]:level_start[a + 1]
    cost : float64 (n_levels,), finite and >= 0
    aggregate : the objective is the "sum" or the "max" of the chosen levels' costs
    one_hot : groups of level ids, exactly one of each group is chosen
    tree_start : int64 (n_trees + 1,), leaves of tree t
    leaf_start : int64 (n_leaves + 1,), literals of leaf l
    axis, lo, hi : int64 (n_literals,), levels counted within their axis
    leaf_rows, level_rows : linear constraints
    forbidden : boxes that must not contain the choice
    exact : False if integer rounding may exceed the margin, so that nothing is proved
    """

    level_start: IntArray
    cost: FloatArray
    aggregate: Literal["sum", "max"]
    one_hot: tuple[IntArray, ...]
    tree_start: IntArray
    leaf_start: IntArray
    axis: IntArray
    lo: IntArray
    hi: IntArray
    leaf_rows: tuple[LeafRow, ...]
    level_rows: tuple[LevelRow, ...]
    exact: bool = True
    forbidden: tuple[Box, ...] = ()

    @property
    def n_axes(self) -> int:
        """How many axes there are."""
        return int(self.level_start.size - 1)

    @property
    def n_leaves(self) -> int:
        """How many leaves all trees have together."""
        return int(self.leaf_start.size - 1)

    def __getstate__(self) -> dict[str, Any]:
        # What is looked up again is not sent to other processes.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def size(self) -> IntArray:
        """Levels per axis, int64 (n_axes,)."""
        return frozen(np.diff(self.level_start))

    @cached_property
    def axis_of(self) -> IntArray:
        """The axis of each level, int64 (n_levels,)."""
        return frozen(owners(self.level_start))

    @cached_property
    def leaf_of(self) -> IntArray:
        """The leaf of each literal, int64 (n_literals,)."""
        return frozen(owners(self.leaf_start))

    @cached_property
    def tree_of(self) -> IntArray:
        """The tree of each leaf, int64 (n_leaves,)."""
        return frozen(owners(self.tree_start))

    def spans(self, leaf: int) -> Spans:
        """The box of a leaf: lo and hi of each axis that it has a literal on.

        Parameters
        ----------
        leaf : counted over all trees
        """
        own = slice(int(self.leaf_start[leaf]), int(self.leaf_start[leaf + 1]))
        ends = zip(self.lo[own].tolist(), self.hi[own].tolist(), strict=True)
        return dict(zip(self.axis[own].tolist(), ends, strict=True))

    def distance(self, levels: IntArray) -> float:
        """Objective value of a choice of levels, int64 (n_axes,).

        Parameters
        ----------
        levels : int64 (n_axes,), within the axes
        """
        chosen = self.cost[self.level_start[:-1] + levels]
        return float(chosen.sum() if self.aggregate == "sum" else chosen.max(initial=0.0))

    def active_leaves(self, levels: IntArray) -> IntArray:
        """The leaf of each tree that holds the choice, int64 (n_trees,).

        In a reduced problem a choice may lie in no leaf of some tree; there are then fewer.

        Parameters
        ----------
        levels : int64 (n_axes,)
        """
        held = levels[self.axis]
        broken = (held < self.lo) | (held > self.hi)
        misses = np.bincount(self.leaf_of[broken], minlength=self.n_leaves)
        return np.flatnonzero(misses == 0)

    def admits(self, levels: IntArray) -> bool:
        """Whether a choice keeps every constraint.

        Parameters
        ----------
        levels : int64 (n_axes,), within the axes
        """
        return self.keeps_rows(levels) and not self.forbids(levels)

    def keeps_rows(self, levels: IntArray) -> bool:
        """Whether a choice keeps every constraint, cut off or not.

        Parameters
        ----------
        levels : int64 (n_axes,), within the axes
        """
        chosen = self.level_start[:-1] + levels
        is_chosen = np.zeros(self.cost.size, dtype=np.bool_)
        is_chosen[chosen] = True
        leaves = self.active_leaves(levels)
        return (
            leaves.size == self.tree_start.size - 1
            and all(is_chosen[group].sum() == 1 for group in self.one_hot)
            and all(int(row.weight[leaves].sum()) >= row.minimum for row in self.leaf_rows)
            and all(int(row.weight[chosen].sum()) <= row.maximum for row in self.level_rows)
        )

    def forbids(self, levels: IntArray) -> bool:
        """Whether a choice has been cut off.

        Parameters
        ----------
        levels : int64 (n_axes,)
        """
        return any(_inside(box, levels) for box in self.forbidden)

    def least_in(self, low: IntArray, high: IntArray) -> float:
        """A lower bound on what choices within a box cost: of each axis its cheapest level there.

        Parameters
        ----------
        low, high : int64 (n_axes,), the first and the last level of each axis
        """
        ends = zip(self.level_start[:-1] + low, self.level_start[:-1] + high + 1, strict=True)
        least = [self.cost[first:end].min(initial=np.inf) for first, end in ends]
        return float(sum(least) if self.aggregate == "sum" else max(least, default=0.0))

    def check(self) -> None:
        """Make the invariants sure that proofs rest on; for problems as posed, not reduced ones.

        Raises
        ------
        BrokenProblemError
            The leaves of some tree do not part the choices among them, or a cost, weight or level
            is out of its range.
        """
        size, first = self.size, self.level_start[:-1]
        axis_of = self.axis_of
        groups = tuple((axis_of[g], g - first[axis_of[g]]) for g in self.one_hot)
        shares = covered(
            self.tree_start, self.leaf_start, self.axis, self.lo, self.hi, size, groups
        )
        tree = broken_tree(shares)
        if tree is not None:
            raise BrokenProblemError(f"the leaves of tree {tree} do not part the space.")
        whole = {
            "every axis has a level": (size > 0).all(),
            "costs are finite and at least 0": (np.isfinite(self.cost) & (self.cost >= 0)).all(),
            "literals are within their axis": (
                (self.lo >= 0) & (self.lo <= self.hi) & (self.hi < size[self.axis])
            ).all(),
            "the least leaf weight of every tree is 0": all(
                (np.minimum.reduceat(row.weight, self.tree_start[:-1]) == 0).all()
                for row in self.leaf_rows
            ),
            "level weights are at least 0": all((r.weight >= 0).all() for r in self.level_rows),
            "every group has a category": all(group.size for group in self.one_hot),
        }
        for law, holds in whole.items():
            if not holds:
                raise BrokenProblemError(f"it is not so that {law}.")

    def with_axis(self, cost: FloatArray) -> "Problem":
        """The same problem with one more axis, which no leaf looks at.

        Parameters
        ----------
        cost : float64 (n_levels,), of its levels
        """
        nothing = np.zeros(cost.size, dtype=np.int64)
        return replace(
            self,
            level_start=frozen(np.append(self.level_start, self.level_start[-1] + cost.size)),
            cost=frozen(np.concatenate([self.cost, cost])),
            level_rows=tuple(
                LevelRow(frozen(np.concatenate([row.weight, nothing])), row.maximum)
                for row in self.level_rows
            ),
        )

    def only(self, alive: BoolArray) -> "Problem":
        """The same problem without some leaves; a choice that lies in one of them keeps no row.

        Parameters
        ----------
        alive : bool (n_leaves,), at least one in each tree
        """
        tree_start = starts(np.add.reduceat(alive, self.tree_start[:-1], dtype=np.int64))
        literal = alive[owners(self.leaf_start)]
        return replace(
            self,
            tree_start=frozen(tree_start),
            leaf_start=frozen(starts(np.diff(self.leaf_start)[alive])),
            axis=frozen(self.axis[literal]),
            lo=frozen(self.lo[literal]),
            hi=frozen(self.hi[literal]),
            leaf_rows=tuple(
                LeafRow.normalised(row.weight[alive], row.minimum, tree_start)
                for row in self.leaf_rows
            ),
        )

    def without(self, levels: IntArray) -> "Problem":
        """The same problem, with the region that shares all leaves with ``levels`` cut off.

        Parameters
        ----------
        levels : int64 (n_axes,), a choice with one active leaf in every tree
        """
        literal = np.isin(self.leaf_of, self.active_leaves(levels))
        axis, inverse = np.unique(self.axis[literal], return_inverse=True)
        lo = np.zeros(axis.size, dtype=np.int64)
        hi = self.size[axis] - 1
        np.maximum.at(lo, inverse, self.lo[literal])
        np.minimum.at(hi, inverse, self.hi[literal])
        return replace(self, forbidden=(*self.forbidden, Box(axis, lo, hi)))


def _inside(box: Box, levels: IntArray) -> bool:
    return bool(((levels[box.axis] >= box.lo) & (levels[box.axis] <= box.hi)).all())
