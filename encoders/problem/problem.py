"""The finite-domain problem of all solvers: choose one level per axis subject to linear rows."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, frozen, owners, starts
from encoders.core.errors import BrokenProblemError
from encoders.problem.partition import broken_tree, covered

OnBounds = Callable[[float, float], None]  # called with (upper, lower) bounds on the optimal cost
Spans = dict[int, tuple[int, int]]  # axis -> (lo, hi)


@dataclass(frozen=True, eq=False)
class LeafRow:
    """Constraint ``sum of weight[l] over the active leaves >= minimum``, in exact integers.

    Weights are at least 0, and the least weight of every tree is 0.

    Attributes
    ----------
    weight : ndarray of int64, shape (n_leaves,)
        Weight of each leaf.
    minimum : int
        Minimum of the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from encoders.problem.problem import LeafRow
    >>> row = LeafRow.normalised(np.array([2, 5]), 3, np.array([0, 2]))
    >>> row.weight.tolist(), row.minimum
    ([0, 3], 1)
    """

    weight: IntArray
    minimum: int

    @staticmethod
    def normalised(weight: IntArray, minimum: int, tree_start: IntArray) -> "LeafRow":
        """Return an equivalent row in which the least weight of every tree is 0.

        Parameters
        ----------
        weight : ndarray of int64, shape (n_leaves,)
            Weight of each leaf, of any sign.
        minimum : int
            Minimum of the sum.
        tree_start : ndarray of int64, shape (n_trees + 1,)
            First leaf of each tree, and the number of leaves.

        Returns
        -------
        LeafRow
            The row with shifted weights and minimum.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.problem.problem import LeafRow
        >>> row = LeafRow.normalised(np.array([-1, 1, 3, 0]), 2, np.array([0, 2, 4]))  # two trees
        >>> row.weight.tolist(), row.minimum
        ([0, 2, 3, 0], 3)
        """
        least = np.minimum.reduceat(weight, tree_start[:-1])
        lowered = weight - np.repeat(least, np.diff(tree_start))
        return LeafRow(frozen(lowered), int(minimum) - int(least.sum()))

    def largest(self, tree_start: IntArray) -> int:
        """Return the largest sum of the weights of one leaf per tree.

        Parameters
        ----------
        tree_start : ndarray of int64, shape (n_trees + 1,)
            First leaf of each tree, and the number of leaves.

        Returns
        -------
        int
            The sum of the heaviest leaves.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.problem.problem import LeafRow
        >>> LeafRow(np.array([0, 2, 3, 0]), 2).largest(np.array([0, 2, 4]))
        5
        """
        return int(np.maximum.reduceat(self.weight, tree_start[:-1]).sum())


@dataclass(frozen=True, eq=False)
class LevelRow:
    """Constraint ``sum of weight[level] over the chosen levels <= maximum``.

    Weights are at least 0; the error bounds of multipliers on such rows rely on this.

    Attributes
    ----------
    weight : ndarray of int64, shape (n_levels,)
        Weight of each level.
    maximum : int
        Maximum of the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from encoders.problem.problem import LevelRow
    >>> at_most_one_change = LevelRow(np.array([0, 1, 1, 0, 1]), 1)
    """

    weight: IntArray
    maximum: int


@dataclass(frozen=True, eq=False)
class Box:
    """Box ``lo <= level <= hi`` on some axes; the other axes are unrestricted.

    Attributes
    ----------
    axis : ndarray of int64, shape (n_bounds,)
        Restricted axes, each at most once.
    lo : ndarray of int64, shape (n_bounds,)
        First level of the box on each axis, counted within the axis.
    hi : ndarray of int64, shape (n_bounds,)
        Last level of the box on each axis, counted within the axis.

    Examples
    --------
    >>> import numpy as np
    >>> from encoders.problem.problem import Box
    >>> box = Box(axis=np.array([0, 2]), lo=np.array([1, 0]), hi=np.array([3, 0]))
    """

    axis: IntArray
    lo: IntArray
    hi: IntArray


@dataclass(frozen=True, eq=False)
class Problem:
    """Problem of minimising the cost of a choice of one level per axis, subject to constraints.

    An axis is an ordered domain of levels: the cells of a column, or the two levels (0, 1) of one
    category of a one-hot group. In each tree exactly one leaf is active: the leaf whose literals
    ``lo <= level <= hi`` all hold. All data is sparse: no array has size leaves x levels.

    Attributes
    ----------
    level_start : ndarray of int64, shape (n_axes + 1,)
        First level of each axis: axis a has the levels level_start[a]:level_start[a + 1].
    cost : ndarray of float64, shape (n_levels,)
        Cost of each level, finite and at least 0.
    aggregate : {"sum", "max"}
        How the costs of the chosen levels are combined.
    one_hot : tuple of ndarray of int64
        Groups of level ids; exactly one of each group is chosen.
    tree_start : ndarray of int64, shape (n_trees + 1,)
        First leaf of each tree.
    leaf_start : ndarray of int64, shape (n_leaves + 1,)
        First literal of each leaf.
    axis : ndarray of int64, shape (n_literals,)
        Axis of each literal.
    lo : ndarray of int64, shape (n_literals,)
        First level of each literal, counted within the axis.
    hi : ndarray of int64, shape (n_literals,)
        Last level of each literal, counted within the axis.
    leaf_rows : tuple of LeafRow
        Linear constraints on the active leaves.
    level_rows : tuple of LevelRow
        Linear constraints on the chosen levels.
    exact : bool, default True
        Whether proofs hold; False if integer rounding may exceed the margin.
    forbidden : tuple of Box, default ()
        Boxes that must not contain the choice.

    Examples
    --------
    >>> import numpy as np
    >>> from encoders.testing import NAMED
    >>> problem = NAMED[0].problem  # one axis of four levels; the first is not allowed
    >>> levels = np.array([1])
    >>> problem.admits(levels), problem.distance(levels)
    (True, 0.25)
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
        """Number of axes."""
        return int(self.level_start.size - 1)

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees together."""
        return int(self.leaf_start.size - 1)

    def __getstate__(self) -> dict[str, Any]:
        # Cached properties are not sent to other processes.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def size(self) -> IntArray:
        """Number of levels of each axis, int64 (n_axes,)."""
        return frozen(np.diff(self.level_start))

    @cached_property
    def axis_of(self) -> IntArray:
        """Axis of each level, int64 (n_levels,)."""
        return frozen(owners(self.level_start))

    @cached_property
    def leaf_of(self) -> IntArray:
        """Leaf of each literal, int64 (n_literals,)."""
        return frozen(owners(self.leaf_start))

    @cached_property
    def tree_of(self) -> IntArray:
        """Tree of each leaf, int64 (n_leaves,)."""
        return frozen(owners(self.tree_start))

    def spans(self, leaf: int) -> Spans:
        """Return the box of a leaf.

        Parameters
        ----------
        leaf : int
            Index of the leaf among those of all trees.

        Returns
        -------
        dict of int to (int, int)
            First and last level by axis, for the axes that the leaf restricts.

        Examples
        --------
        >>> from encoders.testing import NAMED
        >>> problem = NAMED[0].problem
        >>> [problem.spans(leaf) for leaf in range(problem.n_leaves)]
        [{0: (0, 0)}, {0: (1, 3)}]
        """
        literals = slice(int(self.leaf_start[leaf]), int(self.leaf_start[leaf + 1]))
        ends = zip(self.lo[literals].tolist(), self.hi[literals].tolist(), strict=True)
        return dict(zip(self.axis[literals].tolist(), ends, strict=True))

    def distance(self, levels: IntArray) -> float:
        """Return the objective value of a choice.

        Parameters
        ----------
        levels : ndarray of int64, shape (n_axes,)
            The chosen level of each axis, counted within the axis.

        Returns
        -------
        float
            The sum or the maximum of the costs of the chosen levels.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.testing import NAMED
        >>> [NAMED[0].problem.distance(np.array([level])) for level in range(4)]
        [0.0, 0.25, 0.5, 1.0]
        """
        chosen = self.cost[self.level_start[:-1] + levels]
        return float(chosen.sum() if self.aggregate == "sum" else chosen.max(initial=0.0))

    def active_leaves(self, levels: IntArray) -> IntArray:
        """Return the leaf of each tree that contains a choice.

        In a reduced problem, a choice may be outside of all leaves of a tree.

        Parameters
        ----------
        levels : ndarray of int64, shape (n_axes,)
            The chosen level of each axis, counted within the axis.

        Returns
        -------
        ndarray of int64, shape (n_active,)
            The active leaves, at most one per tree.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.testing import NAMED
        >>> problem = NAMED[0].problem  # one tree of two leaves
        >>> [problem.active_leaves(np.array([level])).tolist() for level in range(4)]
        [[0], [1], [1], [1]]
        """
        chosen = levels[self.axis]
        broken = (chosen < self.lo) | (chosen > self.hi)
        misses = np.bincount(self.leaf_of[broken], minlength=self.n_leaves)
        return np.flatnonzero(misses == 0)

    def admits(self, levels: IntArray) -> bool:
        """Return whether a choice satisfies every constraint.

        Parameters
        ----------
        levels : ndarray of int64, shape (n_axes,)
            The chosen level of each axis, counted within the axis.

        Returns
        -------
        bool
            Whether the choice satisfies all rows and groups and is in no forbidden box.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.testing import NAMED
        >>> [NAMED[0].problem.admits(np.array([level])) for level in range(4)]
        [False, True, True, True]
        """
        return self.keeps_rows(levels) and not self.forbids(levels)

    def keeps_rows(self, levels: IntArray) -> bool:
        """Return whether a choice satisfies every row and group, forbidden or not.

        Parameters
        ----------
        levels : ndarray of int64, shape (n_axes,)
            The chosen level of each axis, counted within the axis.

        Returns
        -------
        bool
            Whether the choice satisfies all rows and groups.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.testing import NAMED
        >>> levels = np.array([1])
        >>> problem = NAMED[0].problem.without(levels)
        >>> problem.keeps_rows(levels), problem.admits(levels)
        (True, False)
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
        """Return whether a forbidden box contains a choice.

        Parameters
        ----------
        levels : ndarray of int64, shape (n_axes,)
            The chosen level of each axis, counted within the axis.

        Returns
        -------
        bool
            Whether some forbidden box contains the choice.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.testing import NAMED
        >>> levels = np.array([1])
        >>> problem = NAMED[0].problem.without(levels)
        >>> problem.forbids(levels), problem.forbids(np.array([0]))
        (True, False)
        """
        return any(_inside(box, levels) for box in self.forbidden)

    def least_in(self, low: IntArray, high: IntArray) -> float:
        """Return a lower bound on the cost of all choices within a box.

        Parameters
        ----------
        low : ndarray of int64, shape (n_axes,)
            First level of the box on each axis.
        high : ndarray of int64, shape (n_axes,)
            Last level of the box on each axis.

        Returns
        -------
        float
            The sum or the maximum of the cheapest costs of the axes within the box.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.testing import NAMED
        >>> NAMED[0].problem.least_in(np.array([2]), np.array([3]))
        0.5
        """
        ends = zip(self.level_start[:-1] + low, self.level_start[:-1] + high + 1, strict=True)
        least = [self.cost[first:end].min(initial=np.inf) for first, end in ends]
        return float(sum(least) if self.aggregate == "sum" else max(least, default=0.0))

    def check(self) -> None:
        """Check the invariants that proofs rely on; a reduced problem need not satisfy them.

        Raises
        ------
        BrokenProblemError
            If the leaves of some tree do not partition the space of choices, or a cost, weight or
            level is out of range.

        Examples
        --------
        >>> from dataclasses import replace
        >>> from encoders.problem.problem import BrokenProblemError
        >>> from encoders.testing import NAMED
        >>> try:
        ...     replace(NAMED[0].problem, cost=-NAMED[0].problem.cost).check()
        ... except BrokenProblemError as error:
        ...     print(error)
        problem invariant violated: costs are finite and at least 0.
        """
        size, first = self.size, self.level_start[:-1]
        axis_of = self.axis_of
        groups = tuple((axis_of[g], g - first[axis_of[g]]) for g in self.one_hot)
        shares = covered(
            self.tree_start, self.leaf_start, self.axis, self.lo, self.hi, size, groups
        )
        tree = broken_tree(shares)
        if tree is not None:
            raise BrokenProblemError(
                f"problem invariant violated: the leaves of tree {tree} do not partition the space."
            )
        invariants = {
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
        for invariant, holds in invariants.items():
            if not holds:
                raise BrokenProblemError(f"problem invariant violated: {invariant}.")

    def with_axis(self, cost: FloatArray) -> "Problem":
        """Return the problem with an additional axis that no leaf restricts.

        Parameters
        ----------
        cost : ndarray of float64, shape (n_levels,)
            Costs of the levels of the new axis.

        Returns
        -------
        Problem
            The problem with the axis appended.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.testing import NAMED
        >>> problem = NAMED[0].problem.with_axis(np.array([0.0, 0.5]))
        >>> problem.n_axes, problem.distance(np.array([1, 1]))
        (2, 0.75)
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
        """Return the problem with only some of its leaves; choices in other leaves are infeasible.

        Parameters
        ----------
        alive : ndarray of bool, shape (n_leaves,)
            Whether each leaf remains; at least one per tree must.

        Returns
        -------
        Problem
            The problem with the remaining leaves.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.testing import NAMED
        >>> problem = NAMED[0].problem
        >>> problem.n_leaves, problem.only(np.array([False, True])).n_leaves
        (2, 1)
        """
        tree_start = starts(np.add.reduceat(alive, self.tree_start[:-1], dtype=np.int64))
        literal = alive[self.leaf_of]
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
        """Return the problem without the region that has the same active leaves as a choice.

        Parameters
        ----------
        levels : ndarray of int64, shape (n_axes,)
            The choice, with one active leaf in every tree.

        Returns
        -------
        Problem
            The problem with the region as an additional forbidden box.

        Examples
        --------
        >>> from encoders.testing import optimum, random_problem
        >>> problem = random_problem(seed=0)
        >>> cost, levels = optimum(problem)
        >>> cost, optimum(problem.without(levels))[0]
        (0.02, 0.52)
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
