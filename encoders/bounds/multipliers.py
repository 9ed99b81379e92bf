"""Prices on the rows between trees and axes: what a Lagrangian bound can be computed from again."""

from typing import NamedTuple

import numpy as np

from encoders.arrays import FloatArray
from encoders.bounds.lagrange import (
    STEPS,
    Coupling,
    add_up,
    ascend,
    couple,
    price_leaves,
    price_levels,
)
from encoders.bounds.prices import Prices
from encoders.compiled import kernel
from encoders.problem.flat_problem import Tables


class Multipliers(NamedTuple):
    """Prices on the rows themselves: what a bound can be computed from again by anybody.

    Attributes
    ----------
    price : float64 (n_rows,), at least 0, of the rows of :class:`Coupling`
    worth : float64 (n_leaf_rows,), at least 0, of all of a leaf row's minimum
    toll : float64 (n_level_rows,), at least 0, of the largest weight of a level row
    """

    price: FloatArray
    worth: FloatArray
    toll: FloatArray


def multipliers(t: Tables, coupling: Coupling, upper: float) -> Multipliers:
    """Those of :func:`bound_by_prices`.

    Parameters
    ----------
    t, upper : as of :func:`bound_by_prices`
    coupling : rows of the same tables
    """
    kept = Multipliers(
        np.zeros(coupling.axis.size), np.zeros(t.need.size), np.zeros(coupling.allowed.size)
    )
    leaf, level = np.zeros(t.tree_of.size), np.zeros(t.cost.size)
    ascend(t, coupling, upper, STEPS, leaf, level, *kept)
    return kept


class RisingPrices(NamedTuple):
    """:class:`Prices` that hold for any needs: with more needed the constant rises.

    Attributes
    ----------
    bound, constant, leaf, level : as of :class:`Prices`, at the needs they were found at
    worth : float64 (n_leaf_rows,), by how much bound and constant rise when a row needs 1 more
    """

    bound: float
    constant: float
    leaf: FloatArray
    level: FloatArray
    worth: FloatArray


def rising_prices(t: Tables, upper: float, steps: int) -> RisingPrices:
    """As :func:`bound_by_prices`, and what the needs are worth.

    Parameters
    ----------
    t, upper, steps : as there
    """
    coupling = couple(t)
    leaf, level = np.zeros(t.tree_of.size), np.zeros(t.cost.size)
    kept = np.zeros(coupling.axis.size), np.zeros(t.need.size), np.zeros(coupling.allowed.size)
    bound, constant = ascend(t, coupling, upper, steps, leaf, level, *kept)
    return RisingPrices(bound, constant, leaf, level, kept[1] / np.maximum(t.need, 1))


def priced_by(t: Tables, coupling: Coupling, given: Multipliers) -> Prices:
    """What leaves and levels cost at prices on the rows.

    Parameters
    ----------
    t : of a problem with objective "sum"
    coupling : rows of the same tables
    given : any that are at least 0
    """
    leaf, level = np.zeros(t.tree_of.size), np.zeros(t.cost.size)
    bound, constant = price_all(t, coupling, given, leaf, level)
    return Prices(bound, constant, leaf, level)


@kernel
def price_all(t, c, given, leaf_price, level_price):
    """The bound and its constant at prices as they are; fills what leaves and levels cost.

    Parameters
    ----------
    t : see :mod:`encoders.compiled`
    c : :class:`Coupling`
    given : :class:`Multipliers`
    leaf_price, level_price : as of :func:`ascend`
    """
    chosen = np.zeros(t.tree_start.size - 1, dtype=np.int64)
    point = np.zeros(t.best.size, dtype=np.int64)
    chain = np.zeros(c.axis.size)
    constant = t.base
    for r in range(t.need.size):
        constant += given.worth[r] * (t.need[r] / max(t.need[r], 1))
    for q in range(c.allowed.size):
        constant -= given.toll[q] * c.allowed[q]
    add_up(c.group_start, c.below, given.price, chain)
    total, _ = price_leaves(
        t.tree_start,
        t.leaf_start,
        c.hi_row,
        c.lo_row,
        c.share,
        chain,
        given.worth,
        leaf_price,
        chosen,
    )
    total += constant
    total += price_levels(
        t.level_start,
        t.cost,
        c.axis,
        c.level,
        c.below,
        given.price,
        c.load,
        given.toll,
        level_price,
        point,
    )
    return total, constant
