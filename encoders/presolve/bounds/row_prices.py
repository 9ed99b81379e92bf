"""Prices on the rows between trees and axes: what a Lagrangian bound can be computed from again."""

from dataclasses import dataclass

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.presolve.bounds.coupling import Coupling, couple
from encoders.presolve.bounds.lagrange import (
    STEPS,
    price_leaves,
    price_levels,
    price_rows,
    raise_bound,
)
from encoders.presolve.bounds.prices import Prices
from encoders.problem.flat_problem import Tables


@dataclass(frozen=True, eq=False)
class RowPrices:
    """Multipliers of single rows, and the prices of leaves and levels that they imply.

    Attributes
    ----------
    tree, axis : int64 (n_rows,), tree and axis of each row.
    first, last : int64 (n_rows,), levels of the axis if the tree's leaf is the active one.
    price : float64 (n_rows,), above 0, multiplier of each row.
    worth : float64 (n_leaf_rows,), multiplier of one unit of a leaf row.
    prices : prices of leaves and levels, low enough to hold when weights are rounded differently.
    """

    tree: IntArray
    axis: IntArray
    first: IntArray
    last: IntArray
    price: FloatArray
    worth: FloatArray
    prices: Prices


def row_prices(t: Tables, upper: float, grain: float) -> RowPrices:
    """Return prices as :func:`bound_by_prices` does, without level rows."""
    t = t._replace(level_weight=t.level_weight[:0], level_limit=t.level_limit[:0])
    c = couple(t, by_level=False)
    price: FloatArray = np.zeros(c.axis.size)
    worth, leaf, level = np.zeros(t.need.size), np.zeros(t.tree_of.size), np.zeros(t.cost.size)
    raise_bound(t, c, upper, STEPS, leaf, level, (price, worth, np.zeros(0)))
    price[:] = np.floor(price / grain) * grain
    tree = np.zeros(c.axis.size, dtype=np.int64)
    tree[c.row] = np.repeat(t.tree_of, np.diff(c.row_start))
    told = np.flatnonzero(price > 0)
    axis, at, below = c.axis[told], c.level[told], c.below[told]
    end = np.diff(t.level_start)[axis] - 1
    return RowPrices(
        tree=tree[told],
        axis=axis,
        first=np.where(below, 0, at + 1),
        last=np.where(below, at, end),
        price=price[told],
        worth=worth / c.unit,
        prices=_priced(t, c, price, worth),
    )


def _priced(t: Tables, c: Coupling, price: FloatArray, worth: FloatArray) -> Prices:
    """Return prices less what rounding leaf rows at another scale may change.

    Each weight and the minimum may change by up to a unit of ours.
    """
    chain, leaf, level = np.zeros(price.size), np.zeros(t.tree_of.size), np.zeros(t.cost.size)
    chosen = np.zeros(t.tree_start.size - 1, dtype=np.int64)
    point = np.zeros(t.best.size, dtype=np.int64)
    price_rows(t.level_start, c, price, chain, level)
    total, _ = price_leaves(t.tree_start, c, chain, worth, leaf, chosen)
    total += price_levels(t.level_start, t.cost, c.load, c.allowed, level, point)
    need = np.maximum(t.need, 1).astype(np.float64)
    most = np.maximum.reduceat(t.weight, t.tree_start[:-1], axis=1).sum(axis=1)
    off = worth * (2 * chosen.size + 8) / c.unit * np.maximum(1.0, most / need)
    constant = t.base + float((worth * c.needed - off).sum())
    return Prices(total + constant, constant, leaf, level)
