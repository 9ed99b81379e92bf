"""Reduce, solve what is left, lift the answer."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from encoders.arrays import IntArray
from encoders.backend import Backend, Outcome, Request
from encoders.compiling import compile_notice
from encoders.problem import Problem
from encoders.reduce.incumbent import improve
from encoders.reduce.reduction import Reduction, reduce
from encoders.reduce.tighten import tighten

Pick = Callable[[Problem], Backend]


def solve_reduced(problem: Problem, request: Request, pick: Pick, starts: IntArray) -> Outcome:
    """Outcome of the original problem, by way of its reduction.

    Parameters
    ----------
    pick : the backend for the reduced problem
    starts : choices from which to look for an incumbent, int64 (n_starts, n_axes)
    """
    began = time.perf_counter()
    with compile_notice(improve, tighten):
        reduction = reduce(problem, starts, request.cutoff, request.on_bounds)
    reduce_s = time.perf_counter() - began
    if reduction.problem is None:
        return _proved_by_reduction(problem, reduction, reduce_s)
    backend = pick(reduction.problem)
    left = request.time_limit_s - reduce_s
    asked = replace(request, time_limit_s=left, cutoff=reduction.upper, hint=None)
    outcome = backend.load()(reduction.problem, asked)
    outcome = replace(outcome, backend=backend.name, left=_extent(reduction.problem))
    return _lifted(problem, reduction, outcome, reduce_s)


def solve_plain(problem: Problem, request: Request, pick: Pick) -> Outcome:
    """Outcome of the unreduced problem by the backend's plain formulation."""
    backend = pick(problem)
    outcome = backend.load()(problem, replace(request, formulation=backend.plain))
    return replace(outcome, backend=backend.name, left=_extent(problem))


def _extent(problem: Problem) -> tuple[int, int]:
    return problem.cost.size - problem.n_axes, problem.n_leaves


def _proved_by_reduction(problem: Problem, reduction: Reduction, reduce_s: float) -> Outcome:
    held = reduction.incumbent
    upper = np.inf if held is None else problem.distance(held)
    return Outcome(
        status="infeasible" if held is None else "optimal",
        stop_reason="proved",
        choices=() if held is None else (held,),
        upper=upper,
        lower=reduction.upper,
        build_s=0.0,
        solve_s=0.0,
        raw="nothing left after reduction",
        reduce_s=reduce_s,
        backend="reduce",
    )


def _lifted(problem: Problem, reduction: Reduction, outcome: Outcome, reduce_s: float) -> Outcome:
    """What the reduced outcome says of the original: nothing better is worth the incumbent."""
    choices = [reduction.lift.up(choice) for choice in outcome.choices]
    if reduction.incumbent is not None:
        choices.append(reduction.incumbent)
    choices.sort(key=problem.distance)
    upper = problem.distance(choices[0]) if choices else np.inf
    status = outcome.status
    if choices and status in ("infeasible", "unknown"):
        status = "optimal" if status == "infeasible" else "feasible"
    return replace(
        outcome,
        status=status,
        choices=tuple(choices),
        upper=upper,
        lower=min(outcome.lower, reduction.upper),
        reduce_s=reduce_s,
    )
