"""Multipliers of the rows of a Lagrangian bound; leaf and level prices are computed from them."""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.presolve.bounds.coupling import Coupling


class Multipliers(NamedTuple):
    """Lagrangian multipliers of rows, all at least 0.

    Attributes
    ----------
    price : float64 (n_rows,), multipliers of the rows between trees and axes.
    worth : float64 (n_leaf_rows,), multipliers of the leaf rows, in units of their largest sum.
    toll : float64 (n_level_rows,), multipliers of the level rows, in units of their largest weight.
    """

    price: FloatArray
    worth: FloatArray
    toll: FloatArray


def zero_multipliers(coupling: Coupling) -> Multipliers:
    """Room for those of all rows, zeros."""
    sizes = coupling.axis.size, coupling.needed.size, coupling.allowed.size
    return Multipliers(*map(np.zeros, sizes))


def unpriced() -> Multipliers:
    """Return empty multipliers, for searches without prices."""
    return Multipliers(np.zeros(0), np.zeros(0), np.zeros(0))
