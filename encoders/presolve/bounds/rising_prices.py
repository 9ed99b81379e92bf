"""A Lagrangian bound that holds for many problems at once: those that differ in what rows need."""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.presolve.bounds.coupling import couple
from encoders.presolve.bounds.lagrange import raise_bound
from encoders.problem.flat_problem import Tables


class RisingPrices(NamedTuple):
    """:class:`Prices` that hold for any needs: the constant rises with the needs.

    Attributes
    ----------
    bound, constant, leaf, level : the attributes of :class:`Prices`, at the original needs.
    worth : float64 (n_leaf_rows,), by how much bound and constant rise when a row needs 1 more.
    """

    bound: float
    constant: float
    leaf: FloatArray
    level: FloatArray
    worth: FloatArray


def rising_prices(t: Tables, upper: float, steps: int) -> RisingPrices:
    """Return the prices of :func:`bound_by_prices`, and how they depend on the needs."""
    coupling = couple(t)
    leaf, level = np.zeros(t.tree_of.size), np.zeros(t.cost.size)
    kept = np.zeros(coupling.axis.size), np.zeros(t.need.size), np.zeros(coupling.allowed.size)
    bound, constant = raise_bound(t, coupling, upper, steps, leaf, level, kept)
    return RisingPrices(bound, constant, leaf, level, kept[1] / np.maximum(t.need, 1))
