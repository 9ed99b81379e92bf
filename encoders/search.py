"""Our own branch and bound over boxes of levels, compiled."""

import time

import numpy as np

from encoders.arrays import IntArray, starts
from encoders.backend import Outcome, Request, Status, StopReason
from encoders.granularity import ceiling_below, unit_of
from encoders.problem import Problem
from encoders.reduce.lagrange import Prices, bound_by_prices
from encoders.search_kernel import FREE, HEAP, NODES, STACK, Pool, run_slice
from encoders.tables import Tables, tabulate

POOL_BYTES = 256 * 2**20
LARGEST_POOL, FIRST_POOL = 200_000, 1024
FIRST_SLICE, SLICE_S = 64, 0.02
# Choices that differ by less are equal: far below the gap that "optimal" allows.
EQUAL = 1e-12


def solve(problem: Problem, request: Request) -> Outcome:
    """Best-first branch and bound.

    A node is a box of levels. Its cheapest choice bounds its cost; the best leaves that fit the
    box and can be paid for bound every row. It is split where the near side loses most of a
    row's slack and the far side costs most. Open nodes take at most 256 MiB; when they run
    short, the search goes depth first.

    The lower bound is the least bound of all open nodes. Pure and thread safe; runs outside the
    interpreter lock, on one thread.
    """
    began = time.perf_counter()
    tables, unit = tabulate(problem), unit_of(problem)
    pool = _make_pool(problem)
    forbidden, forbidden_start = _boxes(problem)
    prices = _prices(problem, tables, ceiling_below(request.cutoff, unit))
    build_s = time.perf_counter() - began
    upper, lower, slice_nodes = request.cutoff, 0.0, FIRST_SLICE
    choices: list[IntArray] = []
    point = np.zeros(problem.n_axes, dtype=np.int64)
    reserve = _reserve(problem)
    reason: StopReason = "proved"
    while pool.counts[HEAP] + pool.counts[STACK] > 0:
        if request.stop.is_set():
            reason = "interrupted"
        elif time.perf_counter() - began >= request.time_limit_s:
            reason = "time_limit"
        if reason != "proved":
            break
        slice_began = time.perf_counter()
        upper = min(upper, request.worth(problem))
        pool = _grown(pool, slice_nodes, reserve)
        cost = run_slice(
            tables,
            prices,
            pool,
            point,
            _below(upper, unit),
            forbidden,
            forbidden_start,
            slice_nodes,
            reserve,
        )
        if np.isfinite(cost):
            choices.append(point.copy())
            upper = problem.distance(point)
            request.on_choice(choices[-1])
            request.on_bounds(upper, min(lower, upper))
        slice_nodes = _next_slice(slice_nodes, time.perf_counter() - slice_began)
        floor = min(_floor(pool), upper)
        if floor > lower:
            lower = floor
            request.on_bounds(upper if choices else np.inf, lower)
    if choices and problem.distance(choices[-1]) > upper:  # a rival's is better
        choices = []
    return _outcome(reason, choices, upper, lower, pool, (began, build_s))


def _prices(problem: Problem, tables: Tables, upper: float) -> Prices:
    """A bound by prices where there is one: a sum of costs, and something to stay below."""
    if problem.aggregate == "sum" and np.isfinite(upper):
        return bound_by_prices(tables, upper)
    return Prices(0.0, 0.0, np.zeros(problem.n_leaves), np.zeros(problem.cost.size))


def _below(upper: float, unit: float) -> float:
    equal = EQUAL * abs(upper) if np.isfinite(upper) else 0.0
    return min(upper - equal, ceiling_below(upper, unit))


def _next_slice(nodes: int, seconds: float) -> int:
    """Slices short enough to be stopped soon, long enough to cost nothing."""
    return int(np.clip(nodes * SLICE_S / max(seconds, 1e-6), FIRST_SLICE, 8 * nodes))


def _reserve(problem: Problem) -> int:
    """Slots that depth first may need: two per split on the way to a single choice."""
    return 2 * int(problem.size.sum()) + 64


def _make_pool(problem: Problem) -> Pool:
    """A pool holding the whole problem as its only node."""
    slots = FIRST_POOL + _reserve(problem)
    lo = np.zeros((slots, problem.n_axes), dtype=np.int32)
    hi = np.zeros((slots, problem.n_axes), dtype=np.int32)
    hi[0] = problem.size - 1
    heap = np.zeros(slots, dtype=np.int64)
    free = np.arange(slots, dtype=np.int64)[::-1].copy()
    count = np.zeros(4, dtype=np.int64)
    count[HEAP], count[FREE] = 1, slots - 1
    return Pool(lo, hi, np.zeros(slots), heap, heap.copy(), free, count, np.full(1, np.inf))


def _grown(pool: Pool, nodes: int, reserve: int) -> Pool:
    """A pool with room for a slice, twice as large if it has to be and may be."""
    slots, n_axes = pool.lo.shape
    largest = min(LARGEST_POOL, POOL_BYTES // (8 * n_axes + 32)) + reserve
    if pool.counts[FREE] >= reserve + nodes or slots >= largest:
        return pool
    more = int(min(max(slots, nodes), largest - slots))
    free = np.zeros(slots + more, dtype=np.int64)
    held = int(pool.counts[FREE])
    free[:held] = pool.free[:held]
    free[held : held + more] = np.arange(slots, slots + more)
    pool.counts[FREE] += more
    nothing = np.zeros(more, dtype=np.int64)
    box = np.zeros((more, n_axes), dtype=np.int32)
    return Pool(
        lo=np.concatenate([pool.lo, box]),
        hi=np.concatenate([pool.hi, box]),
        key=np.concatenate([pool.key, np.zeros(more)]),
        heap=np.concatenate([pool.heap, nothing]),
        stack=np.concatenate([pool.stack, nothing]),
        free=free,
        counts=pool.counts,
        floor=pool.floor,
    )


def _floor(pool: Pool) -> float:
    """The least bound of all open nodes."""
    top = pool.key[pool.heap[0]] if pool.counts[HEAP] else np.inf
    deep = pool.floor[0] if pool.counts[STACK] else np.inf
    return float(min(top, deep))


def _boxes(problem: Problem) -> tuple[IntArray, IntArray]:
    """Forbidden boxes as rows of (axis, lo, hi)."""
    rows = [np.stack([box.axis, box.lo, box.hi], axis=1) for box in problem.forbidden]
    start = starts(np.array([len(row) for row in rows], dtype=np.int64))
    return np.concatenate([np.zeros((0, 3), dtype=np.int64), *rows]), start


def _outcome(
    reason: StopReason,
    choices: list[IntArray],
    upper: float,
    lower: float,
    pool: Pool,
    times: tuple[float, float],
) -> Outcome:
    began, build_s = times
    status: Status
    if reason == "proved":
        status, lower = ("optimal" if choices else "infeasible"), upper
    else:
        status = "feasible" if choices else "unknown"
    return Outcome(
        status=status,
        stop_reason=reason,
        choices=tuple(reversed(choices)),
        upper=upper if choices else np.inf,
        lower=lower if choices or reason != "proved" else np.inf,
        build_s=build_s,
        solve_s=time.perf_counter() - began - build_s,
        raw=f"{int(pool.counts[NODES])} nodes",
    )
