"""Contributions of leaves and levels to a lower bound."""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.problem.flat_problem import Tables


class Prices(NamedTuple):
    """The best bound found, and what each leaf and level adds to it.

    ``constant + sum of the leaves' prices + sum of the levels' prices`` bounds the cost of every
    choice with these leaves and levels from below.

    Attributes
    ----------
    bound : float64, the sum of ``constant`` and the least price of each tree and axis
    constant : float64
    leaf : float64 (n_leaves,)
    level : float64 (n_levels,)
    """

    bound: float
    constant: float
    leaf: FloatArray
    level: FloatArray

    def within(self, leaf: IntArray, taken: IntArray, level: IntArray) -> "Prices":
        """Return the prices of a smaller problem, with bound -inf."""
        constant = self.constant + float(self.leaf[taken].sum())
        return Prices(-np.inf, constant, self.leaf[leaf], self.level[level])


def no_prices(t: Tables) -> Prices:
    """Return prices that bound nothing."""
    return Prices(0.0, 0.0, np.zeros(t.tree_of.size), np.zeros(t.cost.size))
