"""Reduce, solve what is left, lift the answer."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from encoders.arrays import IntArray
from encoders.attempt import in_turn
from encoders.backend import Outcome, Request, Solve
from encoders.granularity import ceiling_below, unit_of
from encoders.problem import Problem
from encoders.reduce.reduction import Reduction, reduce


@dataclass(frozen=True)
class Step:
    """A way to solve what is left, and how long it may try before the next one does."""

    solve: Solve
    seconds: float = float("inf")


@dataclass(frozen=True)
class Plan:
    """Steps that follow each other until one proves, and why these, in words."""

    steps: Sequence[Step]
    why: str = ""


Pick = Callable[[Problem, Request], "Plan"]


def solve_reduced(problem: Problem, request: Request, pick: Pick, starts: IntArray) -> Outcome:
    """Outcome of the original problem, by way of its reduction.

    Parameters
    ----------
    pick : how to solve the reduced problem, given it and the request with its cutoff
    starts : choices from which to look for an incumbent, int64 (n_starts, n_axes)
    """
    began = time.perf_counter()
    reduction, reduce_s = _reduced(problem, starts, request)
    plan: Plan | None = None
    steps: list[Step] = []
    done: list[Outcome] = []
    while reduction.problem is not None:
        worth = ceiling_below(reduction.upper, unit_of(reduction.problem))
        asked = replace(request, cutoff=worth, hint=None)
        if plan is None:
            plan = pick(reduction.problem, asked)
            steps = list(plan.steps)
        step = steps.pop(0)
        left = request.time_limit_s - (time.perf_counter() - began)
        asked = replace(asked, time_limit_s=max(0.0, min(step.seconds, left)))
        outcome = replace(step.solve(reduction.problem, asked), decision=plan.why)
        done.append(_lifted(problem, reduction, outcome))
        left = request.time_limit_s - (time.perf_counter() - began)
        if not steps or outcome.stop_reason != "time_limit" or left <= 0:
            return _joined(problem, done, reduce_s)
        if outcome.choices:  # a better incumbent: there may be less left to decide
            better = np.array(done[-1].choices[:1])
            reduction, more = _reduced(problem, better, request)
            reduce_s += more
    return _joined(problem, [*done, _proved_by_reduction(problem, reduction)], reduce_s)


def _reduced(problem: Problem, starts: IntArray, request: Request) -> tuple[Reduction, float]:
    began = time.perf_counter()
    reduction = reduce(problem, starts, request.cutoff, request.on_bounds)
    return reduction, time.perf_counter() - began


def _joined(problem: Problem, outcomes: list[Outcome], reduce_s: float) -> Outcome:
    """The last outcome, with the choices, the best bound and the times of all."""
    last = outcomes[-1]
    choices = sorted((c for o in outcomes for c in o.choices), key=problem.distance)
    upper = min(outcome.upper for outcome in outcomes)
    solvers = [o.backend for o in outcomes if o.backend != "reduce"] or ["reduce"]
    return replace(
        last,
        choices=tuple(choices),
        upper=upper,
        lower=min(max(outcome.lower for outcome in outcomes), upper),
        build_s=sum(outcome.build_s for outcome in outcomes),
        solve_s=sum(outcome.solve_s for outcome in outcomes),
        reduce_s=reduce_s,
        backend=solvers[-1],
        left=outcomes[0].left,
        attempts=in_turn([outcome.attempts for outcome in outcomes]),
        certified_by=outcomes[-1].certified_by,
        decision=outcomes[0].decision,
    )


def _proved_by_reduction(problem: Problem, reduction: Reduction) -> Outcome:
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
        backend="reduce",
    )


def _lifted(problem: Problem, reduction: Reduction, outcome: Outcome) -> Outcome:
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
    )
