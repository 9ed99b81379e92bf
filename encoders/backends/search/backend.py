"""Our own branch and bound over boxes of levels, compiled."""

import time

import numpy as np

from encoders.arrays import IntArray, starts
from encoders.backends.best_so_far import BestSoFar
from encoders.backends.interface import Outcome, Request, StopReason
from encoders.backends.search.loop import run_slice
from encoders.backends.search.narrow import DIVE
from encoders.backends.search.open_nodes import (
    HEAP,
    NODES,
    STACK,
    floor_of,
    grown,
    make_pool,
    slots_in_reserve,
)
from encoders.backends.stopping import why
from encoders.bounds.lagrange import FEW_STEPS, STEPS, bound_by_prices
from encoders.bounds.prices import Prices
from encoders.problem.cost_unit import ceiling_below, unit_of
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import Problem

# Nodes until stop and time limit are looked at first, and seconds between looks after that: with
# longer slices a stop is heard later.
FIRST_SLICE, SLICE_S = 64, 0.02
# Nodes after which better prices are worth their time; with fewer, easy searches pay for them.
HARD = 200
# Of the cost: choices that differ by less are equal, far below the gap that "optimal" allows.
EQUAL = 1e-12


def solve(problem: Problem, request: Request) -> Outcome:
    """Best-first branch and bound.

    A node is a box of levels. Its cheapest choice bounds its cost; the best leaves that fit the
    box and can be paid for bound every row. It is split where the near side loses most of a
    row's slack and the far side costs most. Open nodes take at most 256 MiB; when they run
    short, the search goes depth first.

    The lower bound is the least bound of all open nodes. Pure and thread safe; runs outside the
    interpreter lock, on one thread.

    Parameters
    ----------
    problem : with any objective
    request : its ``threads`` counts for nothing
    """
    began = time.perf_counter()
    tables, unit = tabulate(problem), unit_of(problem)
    pool = make_pool(problem)
    forbidden, forbidden_start = forbidden_boxes(problem)
    prices = request.prices
    if prices is None:
        prices = prices_of(problem, tables, ceiling_below(request.cutoff, unit), FEW_STEPS)
    build_s = time.perf_counter() - began
    best, upper, slice_nodes = BestSoFar(problem, request), request.cutoff, FIRST_SLICE
    point = np.zeros(problem.n_axes, dtype=np.int64)
    reserve = slots_in_reserve(problem)
    reason: StopReason = "proved"
    quick = True
    while pool.counts[HEAP] + pool.counts[STACK] > 0:
        if request.stop.is_set() or time.perf_counter() - began >= request.time_limit_s:
            reason = why(request)
            break
        slice_began = time.perf_counter()
        upper = min(upper, request.cutoff_now(problem))
        if quick and pool.counts[NODES] >= HARD and np.isfinite(upper):
            quick, prices = False, prices_of(problem, tables, below(upper, unit), STEPS)
        pool = grown(pool, slice_nodes + DIVE, reserve)
        cost = run_slice(
            tables,
            prices,
            pool,
            point,
            below(upper, unit),
            forbidden,
            forbidden_start,
            slice_nodes,
            reserve,
            min(DIVE, slice_nodes),
        )
        if np.isfinite(cost):
            best.found(point.copy())
            upper = best.upper
        slice_nodes = _next_slice(slice_nodes, time.perf_counter() - slice_began)
        best.at_least(min(floor_of(pool), upper))
    solve_s = time.perf_counter() - began - build_s
    raw = f"{int(pool.counts[NODES])} nodes"
    if reason != "proved":
        return best.ended(reason, build_s, solve_s, raw)
    return (best.nothing if best.beaten() else best.proved)(build_s, solve_s, raw)


def prices_of(problem: Problem, tables: Tables, upper: float, steps: int = STEPS) -> Prices:
    """A bound by prices where there is one: a sum of costs, and something to stay below.

    Parameters
    ----------
    problem, tables : of which choices are looked for
    upper : what they have to undercut
    steps : at most so many
    """
    if problem.aggregate == "sum" and np.isfinite(upper):
        return bound_by_prices(tables, upper, steps)
    return Prices(0.0, 0.0, np.zeros(problem.n_leaves), np.zeros(problem.cost.size))


def below(upper: float, unit: float) -> float:
    """What a choice has to stay below, so that it is cheaper by more than rounding.

    Parameters
    ----------
    upper : cost to undercut, inf for none
    unit : of cost, as of :func:`encoders.problem.cost_unit.unit_of`
    """
    equal = EQUAL * abs(upper) if np.isfinite(upper) else 0.0
    return min(upper - equal, ceiling_below(upper, unit))


def _next_slice(nodes: int, seconds: float) -> int:
    """Slices short enough to be stopped soon, long enough to cost nothing."""
    return int(np.clip(nodes * SLICE_S / max(seconds, 1e-6), FIRST_SLICE, 8 * nodes))


def forbidden_boxes(problem: Problem) -> tuple[IntArray, IntArray]:
    """Forbidden boxes as rows of (axis, lo, hi), and where each begins.

    Parameters
    ----------
    problem : of which what is forbidden is looked at
    """
    rows = [np.stack([box.axis, box.lo, box.hi], axis=1) for box in problem.forbidden]
    start = starts(np.array([len(row) for row in rows], dtype=np.int64))
    return np.concatenate([np.zeros((0, 3), dtype=np.int64), *rows]), start
