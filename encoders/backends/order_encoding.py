"""The order encoding of axes: ``y[a, m]`` is true iff axis a is at most level m.

Constraint programming, linear models, clauses and SMT formulas share it, each with its own kind
of variables. An axis of n levels has n - 1 variables, in order of axes and levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from encoders.core.arrays import BoolArray, IntArray, owners, starts
from encoders.problem.problem import Problem

T = TypeVar("T")
Number = TypeVar("Number", np.float64, np.int64)


@dataclass(frozen=True, eq=False)
class OrderEncoding:
    """Positions of the variables of each axis.

    Attributes
    ----------
    first : int64 array of shape (n_axes + 1,)
        Position of each axis' first variable: ``y[a, m]`` is at ``first[a] + m``.
    axis, level : int64 array of shape (n,)
        Axis a and level m of each variable.

    Examples
    --------
    >>> from encoders.backends.order_encoding import OrderEncoding
    >>> from encoders.testing import NAMED
    >>> encoding = OrderEncoding.of(NAMED[0].problem)  # one axis of four levels
    >>> encoding.n, encoding.level.tolist(), encoding.chained.tolist()
    (3, [0, 1, 2], [0, 1])
    """

    first: IntArray
    axis: IntArray
    level: IntArray

    @staticmethod
    def of(problem: Problem) -> "OrderEncoding":
        """Return the encoding of a problem's axes.

        Parameters
        ----------
        problem : Problem
            The problem, of which only the axes are read.

        Returns
        -------
        OrderEncoding
            The encoding.

        Examples
        --------
        >>> from encoders.backends.order_encoding import OrderEncoding
        >>> from encoders.testing import random_problem
        >>> problem = random_problem(seed=0)
        >>> problem.size.tolist(), OrderEncoding.of(problem).first.tolist()
        ([4, 3, 2], [0, 3, 5, 6])
        """
        first = starts(problem.size - 1)
        axis = owners(first)
        return OrderEncoding(first, axis, np.arange(axis.size) - first[axis])

    @property
    def n(self) -> int:
        """Number of variables."""
        return int(self.axis.size)

    @property
    def chained(self) -> IntArray:
        """Positions of the variables that imply the next one, int64."""
        if not self.n:
            return self.axis
        return np.flatnonzero(self.axis[:-1] == self.axis[1:])

    def at_most(self, a: int, m: int, y: Sequence[T], true: T, false: T) -> T:
        """Return the literal of "axis a is at most level m".

        Parameters
        ----------
        a : int
            The axis.
        m : int
            The level, which may lie beyond either end of the axis.
        y : sequence of length n
            The variables.
        true, false : object
            The constants for levels beyond the last and before the first one.

        Returns
        -------
        object
            A variable or one of the two constants.

        Examples
        --------
        >>> from encoders.backends.order_encoding import OrderEncoding
        >>> from encoders.testing import NAMED
        >>> encoding = OrderEncoding.of(NAMED[0].problem)  # one axis of four levels
        >>> variables = ["y0", "y1", "y2"]
        >>> [encoding.at_most(0, level, variables, "true", "false") for level in (-1, 0, 2, 3)]
        ['false', 'y0', 'y2', 'true']
        """
        if m < 0:
            return false
        place = int(self.first[a]) + m
        return y[place] if place < self.first[a + 1] else true

    def levels(self, holds: BoolArray) -> IntArray:
        """Return the choice that a truth assignment encodes.

        Parameters
        ----------
        holds : bool array of shape (n,)
            Value of each variable.

        Returns
        -------
        int64 array of shape (n_axes,)
            The level of each axis.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.backends.order_encoding import OrderEncoding
        >>> from encoders.testing import NAMED
        >>> encoding = OrderEncoding.of(NAMED[0].problem)  # one axis of four levels
        >>> encoding.levels(np.array([False, True, True])).tolist()
        [1]
        """
        below = np.bincount(self.axis[holds], minlength=self.first.size - 1)
        levels: IntArray = np.diff(self.first) - below
        return levels

    def steps(self, weight: NDArray[Number]) -> NDArray[Number]:
        """Return the increase of the weight from each level to the next.

        ``weight of axis a = weight[its last level] - sum over m of steps[a, m] * y[a, m]``

        Parameters
        ----------
        weight : float64 or int64 array of shape (n_levels,)
            Weight of each level.

        Returns
        -------
        array of shape (n,)
            The differences, of the weights' type.

        Examples
        --------
        >>> from encoders.backends.order_encoding import OrderEncoding
        >>> from encoders.testing import NAMED
        >>> problem = NAMED[0].problem
        >>> problem.cost.tolist()
        [0.0, 0.25, 0.5, 1.0]
        >>> OrderEncoding.of(problem).steps(problem.cost).tolist()
        [0.25, 0.25, 0.5]
        """
        last = self.first[1:] + np.arange(self.first.size - 1)
        inner = np.ones(weight.size, dtype=np.bool_)
        inner[last] = False
        return np.diff(weight, append=weight[-1:])[inner]
