"""The cheapest choice at each of several rising demands, by one branch and bound.

The queries of a front differ only in the minimum of the leaf rows. What costs too much for a
demand does so for all lower ones, and what can't reach a demand can't reach higher ones. So one
node is bounded for many demands at once; see :mod:`.rising_loop`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray
from encoders.presolve.bounds.lagrange import LARGEST
from encoders.presolve.bounds.rising_prices import rising_prices
from encoders.problem.cost_unit import unit_of
from encoders.problem.flat_problem import Tables
from encoders.problem.problem import Problem
from encoders.search.backend import below, forbidden_boxes
from encoders.search.narrow import DIVE
from encoders.search.open_nodes import (
    FREE,
    HEAP,
    LOOKED,
    NODES,
    Pool,
    floor_of,
    grown,
    make_pool,
    slots_in_reserve,
)
from encoders.search.outside import tell_outside
from encoders.search.rising_loop import Demands, rising_slice
from encoders.search.team import FIRST_SLICE

# Steps for prices in a long search. With prices from the start, easy searches take a fifth longer.
STEPS = 100
# Looks at each leaf after which prices are worth their time. With 300, searches that end soon after
# take up to a tenth longer; with 3000, some long ones do.
HARD = 1000
# Leaves that nodes look at for each demand settled, and for the one that is next, some 2 s. Demands
# that take more are better solved one by one, each with its own reduction. With a fifth,
# most that one search settles sooner are solved twice.
MOST = 10_000_000
SLICES = 8  # of so many looks, at least; with fewer, more is looked at in vain


@dataclass(frozen=True, eq=False)
class Risen:
    """Result of the search for each demand.

    Attributes
    ----------
    choices : int64 (n_demands, n_axes), the cheapest where ``cost`` is finite.
    cost : float64 (n_demands,), inf where nothing was found below the limit.
    settled : bool (n_demands,), whether nothing is cheaper than ``cost``, or than the limit.
    lower : lower bound on the cost at demands that are not settled.
    nodes : number of nodes expanded.
    """

    choices: IntArray
    cost: FloatArray
    settled: BoolArray
    lower: float
    nodes: int


def search_rising(
    problem: Problem,
    tables: Tables,
    need: IntArray,
    upper: FloatArray,
    over: Callable[[], bool],
    lowered: Callable[[BoolArray], FloatArray] | None = None,
) -> Risen:
    """For each demand the cheapest choice that costs less than its limit, as far as it gets."""
    unit = unit_of(problem)
    limit = np.array([below(each, unit) for each in upper])
    settled = np.zeros(limit.size, dtype=np.bool_)
    demands, priced = _demands(problem, need, limit), False
    tables = tables._replace(need=need[0].copy())
    pool, reserve, outside = make_pool(problem), slots_in_reserve(problem), tell_outside(tables)
    forbidden, forbidden_start = forbidden_boxes(problem)
    spans = _spans(pool, limit.size, None)
    n_nodes = min(FIRST_SLICE, 1 + MOST // (SLICES * max(problem.n_leaves, 1)))
    while pool.counts[HEAP] and not settled.all() and not over():
        if pool.counts[LOOKED] >= MOST * (1 + settled.sum()):
            break
        if not priced and pool.counts[LOOKED] >= HARD * problem.n_leaves:
            if lowered is not None:
                told = np.array([below(each, unit) for each in lowered(settled)])
                np.minimum(demands.limit, told, out=demands.limit)
            priced, demands = True, _priced(demands, problem, tables, settled)
        pool = grown(pool, n_nodes + DIVE, reserve)
        if pool.counts[FREE] < reserve:
            break
        spans = _spans(pool, limit.size, spans)
        rising_slice(tables, demands, pool, spans, outside, forbidden, forbidden_start, n_nodes)
        for i in np.flatnonzero(np.isfinite(demands.cost)):
            demands.limit[i] = min(demands.limit[i], below(float(demands.cost[i]), unit))
        settled = demands.limit <= floor_of(pool)
    return Risen(demands.choice, demands.cost, settled, floor_of(pool), int(pool.counts[NODES]))


def _spans(pool: Pool, n_demands: int, held: IntArray | None) -> IntArray:
    """Which demands the nodes of a pool are of interest for, with room for all of its slots."""
    slots = len(pool.lo)
    if held is not None and len(held) == slots:
        return held
    spans = np.tile(np.array([0, n_demands - 1]), (slots, 1))
    if held is not None:
        spans[: len(held)] = held
    return spans


def _demands(problem: Problem, need: IntArray, limit: FloatArray) -> Demands:
    """Return demands without solutions and with zero prices."""
    return Demands(
        need=need,
        limit=limit,
        cost=np.full(limit.size, np.inf),
        choice=np.zeros((limit.size, problem.n_axes), dtype=np.int64),
        constant=np.zeros(limit.size),
        leaf=np.zeros(problem.n_leaves),
        level=np.zeros(problem.cost.size),
        worth=np.zeros(need.shape[1]),
    )


def _priced(demands: Demands, problem: Problem, tables: Tables, settled: BoolArray) -> Demands:
    """With prices found for the demand in the middle of those that are not settled."""
    if problem.aggregate != "sum" or not problem.n_leaves:
        return demands
    need, limit = demands.need, demands.limit
    left = np.flatnonzero(~settled)
    at = left[left.size // 2]
    own = rising_prices(tables._replace(need=need[at]), float(limit[at]), STEPS)
    constant = own.constant + (need - need[at]) @ own.worth
    # Sums of larger numbers would be off by too much; such prices bound nothing.
    constant[np.abs(constant) > LARGEST * limit] = -np.inf
    return demands._replace(constant=constant, leaf=own.leaf, level=own.level, worth=own.worth)
