"""The order encoding of axes: ``y[a, m]`` is true iff axis a is at most level m.

Shared by constraint programming, linear models, clauses and SMT formulas, each of which has its
own kind of variables. An axis of n levels has n - 1 of them, in order of axes and levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from encoders.arrays import BoolArray, IntArray, owners, starts
from encoders.problem.problem import Problem

T = TypeVar("T")
Number = TypeVar("Number", np.float64, np.int64)


@dataclass(frozen=True, eq=False)
class OrderEncoding:
    """Where the variables of each axis are.

    Attributes
    ----------
    first : int64 (n_axes + 1,); ``y[a, m]`` is at ``first[a] + m``
    axis, level : int64 (n,), a and m of each variable
    """

    first: IntArray
    axis: IntArray
    level: IntArray

    @staticmethod
    def of(problem: Problem) -> "OrderEncoding":
        """The variables that a problem needs.

        Parameters
        ----------
        problem : its axes alone are looked at
        """
        first = starts(problem.size - 1)
        axis = owners(first)
        return OrderEncoding(first, axis, np.arange(axis.size) - first[axis])

    @property
    def n(self) -> int:
        """How many variables there are."""
        return int(self.axis.size)

    @property
    def chained(self) -> IntArray:
        """Variables that imply the next one, int64."""
        if not self.n:
            return self.axis
        return np.flatnonzero(self.axis[:-1] == self.axis[1:])

    def at_most(self, a: int, m: int, y: Sequence[T], true: T, false: T) -> T:
        """The literal of "axis a is at most level m".

        Parameters
        ----------
        a : axis
        m : level, -1 or beyond the last one too
        y : the n variables
        true, false : what stands for levels beyond the ends of the axis
        """
        if m < 0:
            return false
        place = int(self.first[a]) + m
        return y[place] if place < self.first[a + 1] else true

    def levels(self, holds: BoolArray) -> IntArray:
        """The choice that values of the variables stand for, int64 (n_axes,).

        Parameters
        ----------
        holds : bool (n,)
        """
        below = np.bincount(self.axis[holds], minlength=self.first.size - 1)
        levels: IntArray = np.diff(self.first) - below
        return levels

    def steps(self, weight: NDArray[Number]) -> NDArray[Number]:
        """How much more each next level weighs, (n,) of the weights' type.

        ``weight of axis a = weight[its last level] - sum over m of steps[a, m] * y[a, m]``

        Parameters
        ----------
        weight : float64 or int64 (n_levels,)
        """
        last = self.first[1:] + np.arange(self.first.size - 1)
        inner = np.ones(weight.size, dtype=np.bool_)
        inner[last] = False
        return np.diff(weight, append=weight[-1:])[inner]
