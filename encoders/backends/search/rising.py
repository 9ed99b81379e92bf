"""The cheapest choice at each of several rising demands, by one branch and bound.

A front asks for the same with more and more of one number: only what the leaf rows need at least
differs. What is too dear for a demand is so for all lower ones, and what can't reach it can't reach
higher ones, so that one box is bounded for many at once; see :mod:`.rising_loop`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray
from encoders.backends.search.backend import FIRST_SLICE, below, forbidden_boxes
from encoders.backends.search.narrow import DIVE
from encoders.backends.search.open_nodes import (
    FREE,
    HEAP,
    LOOKED,
    NODES,
    floor_of,
    grown,
    make_pool,
    slots_in_reserve,
)
from encoders.backends.search.rising_loop import Demands, rising_slice
from encoders.bounds.lagrange import FEW_STEPS, LARGEST
from encoders.bounds.rising_prices import RisingPrices, rising_prices
from encoders.problem.cost_unit import unit_of
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import Problem

PRICED = 2  # demands at which prices are found; more take longer than the nodes that they save
# Leaves that nodes look at for each demand settled, and for the one that is next, some 2 s. Demands
# that take more are better looked at one by one, each with a reduction of its own. With a fifth,
# most that one search settles sooner are solved twice.
MOST = 10_000_000
SLICES = 8  # of so many looks, at least; with fewer, more is looked at in vain


@dataclass(frozen=True, eq=False)
class Risen:
    """What the search found for each demand.

    Attributes
    ----------
    choices : int64 (n_demands, n_axes), the cheapest where ``cost`` is finite
    cost : float64 (n_demands,), inf where nothing was found below the limit
    settled : bool (n_demands,), whether nothing is cheaper than that, or than the limit
    lower : nothing is cheaper than that at demands that are not settled
    nodes : how many boxes were looked at
    """

    choices: IntArray
    cost: FloatArray
    settled: BoolArray
    lower: float
    nodes: int


def search_rising(
    problem: Problem, need: IntArray, upper: FloatArray, over: Callable[[], bool]
) -> Risen:
    """For each demand the cheapest choice that costs less than its limit, as far as it gets.

    Parameters
    ----------
    problem : the minima of its leaf rows count for nothing
    need : int64 (n_demands, n_rows), what the rows need at least; no row's falls
    upper : float64 (n_demands,), the limits; finite, and none is below the one before
    over : whether to stop
    """
    tables, unit = tabulate(problem), unit_of(problem)
    limit = np.array([below(each, unit) for each in upper])
    demands = _demands(problem, tables, need, limit)
    tables = tables._replace(need=need[0].copy())
    pool, reserve = make_pool(problem), slots_in_reserve(problem)
    forbidden, forbidden_start = forbidden_boxes(problem)
    settled = np.zeros(limit.size, dtype=np.bool_)
    n_nodes = min(FIRST_SLICE, 1 + MOST // (SLICES * max(problem.n_leaves, 1)))
    while pool.counts[HEAP] and not over():
        if pool.counts[LOOKED] >= MOST * (1 + settled.sum()):
            break
        pool = grown(pool, n_nodes + DIVE, reserve)
        if pool.counts[FREE] < reserve:
            break
        rising_slice(tables, demands, pool, forbidden, forbidden_start, n_nodes)
        for i in np.flatnonzero(np.isfinite(demands.cost)):
            demands.limit[i] = min(demands.limit[i], below(float(demands.cost[i]), unit))
        settled = demands.limit <= floor_of(pool)
    return Risen(demands.choice, demands.cost, settled, floor_of(pool), int(pool.counts[NODES]))


def _demands(problem: Problem, tables: Tables, need: IntArray, limit: FloatArray) -> Demands:
    """With prices found at some demands, for each those that bound it best."""
    n_demands = limit.size
    at = np.unique(np.linspace(0, n_demands - 1, PRICED + 2).round().astype(np.int64)[1:-1])
    found = [_prices(problem, tables, need[i], float(limit[i])) for i in at]
    constants = np.array(
        [own.constant + (need - need[i]) @ own.worth for i, own in zip(at, found, strict=True)]
    )
    # Sums of larger numbers would be off by too much; such prices bound nothing.
    constants[np.abs(constants) > LARGEST * limit] = -np.inf
    best = (constants + np.array([[own.bound - own.constant] for own in found])).argmax(axis=0)
    return Demands(
        need=need,
        limit=limit,
        cost=np.full(n_demands, np.inf),
        choice=np.zeros((n_demands, problem.n_axes), dtype=np.int64),
        prices=best,
        constant=constants[best, np.arange(n_demands)],
        leaf=np.array([own.leaf for own in found]),
        level=np.array([own.level for own in found]),
        worth=np.array([own.worth for own in found]),
    )


def _prices(problem: Problem, tables: Tables, need: IntArray, limit: float) -> RisingPrices:
    if problem.aggregate == "sum" and problem.n_leaves:
        return rising_prices(tables._replace(need=need), limit, FEW_STEPS)
    none = np.zeros(problem.n_leaves), np.zeros(problem.cost.size), np.zeros(need.size)
    return RisingPrices(0.0, 0.0, *none)
