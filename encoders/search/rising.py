"""The cheapest choice at each of several rising demands, by one branch and bound.

The queries of a front differ only in the minimum of the leaf rows. What costs too much for a
demand does so for all lower ones, and what can't reach a demand can't reach higher ones. So one
node is bounded for many demands at once; see :mod:`.demands`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray
from encoders.presolve.bounds.coupling import couple
from encoders.presolve.bounds.lagrange import LARGEST, bound_by_prices
from encoders.presolve.bounds.multipliers import zero_multipliers
from encoders.presolve.bounds.prices import Prices, no_prices
from encoders.problem.cost_unit import below, unit_of
from encoders.problem.flat_problem import Tables
from encoders.problem.problem import Problem
from encoders.search.backend import forbidden_boxes
from encoders.search.demands import Demands
from encoders.search.loop import run_slice
from encoders.search.narrow import DIVE
from encoders.search.open_nodes import (
    LOOKED,
    NODES,
    floor_of,
    grown,
    is_open,
    make_pool,
    slots_in_reserve,
)
from encoders.search.outside import tell_outside
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
    tables = tables._replace(need=need[0].copy())
    demands, prices, priced = _demands(problem, tables, need, limit), no_prices(tables), False
    pool, reserve = make_pool(problem, limit.size), slots_in_reserve(problem)
    boxes = forbidden_boxes(problem)
    point = np.zeros(problem.n_axes, dtype=np.int64)
    n_nodes = min(FIRST_SLICE, 1 + MOST // (SLICES * max(problem.n_leaves, 1)))
    while is_open(pool) and not settled.all() and not over():
        if pool.counts[LOOKED] >= MOST * (1 + settled.sum()):
            break
        if not priced and pool.counts[LOOKED] >= HARD * problem.n_leaves:
            if lowered is not None:
                told = np.array([below(each, unit) for each in lowered(settled)])
                np.minimum(demands.limit, told, out=demands.limit)
            priced = True
            if problem.aggregate == "sum" and problem.n_leaves:
                demands, prices = _priced(demands, tables, settled)
        pool = grown(pool, n_nodes + DIVE, reserve)
        run_slice(
            tables, prices, None, pool, point, np.inf, boxes, n_nodes, reserve + DIVE, DIVE,
            demands, None,
        )  # fmt: skip
        for i in np.flatnonzero(np.isfinite(demands.cost)):
            demands.limit[i] = min(demands.limit[i], below(float(demands.cost[i]), unit))
        settled = demands.limit <= floor_of(pool)
    return Risen(demands.choice, demands.cost, settled, floor_of(pool), int(pool.counts[NODES]))


def _demands(problem: Problem, tables: Tables, need: IntArray, limit: FloatArray) -> Demands:
    """Return demands without solutions and with zero prices."""
    return Demands(
        need=need,
        limit=limit,
        cost=np.full(limit.size, np.inf),
        choice=np.zeros((limit.size, problem.n_axes), dtype=np.int64),
        constant=np.zeros(limit.size),
        worth=np.zeros(need.shape[1]),
        outside=tell_outside(tables),
    )


def _priced(demands: Demands, tables: Tables, settled: BoolArray) -> tuple[Demands, Prices]:
    """Return demands and prices, found for the demand in the middle of those not settled."""
    need, limit = demands.need, demands.limit
    left = np.flatnonzero(~settled)
    at = left[left.size // 2]
    own = tables._replace(need=need[at])
    coupling = couple(own)
    kept = zero_multipliers(coupling)
    prices = bound_by_prices(own, float(limit[at]), STEPS, coupling=coupling, kept=kept)
    worth = kept.worth / coupling.unit
    constant = prices.constant + (need - need[at]) @ worth
    # Sums of larger numbers would be off by too much; such prices bound nothing.
    constant[np.abs(constant) > LARGEST * limit] = -np.inf
    return demands._replace(constant=constant, worth=worth), prices
