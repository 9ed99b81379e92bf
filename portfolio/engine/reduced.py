"""Reduction of a problem, solving of the remaining one, and lifting of its answer."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from encoders.backends.attempt import Provenance, Report, SolveReported, extent, in_turn
from encoders.backends.interface import Outcome, Request, Status, StopReason
from encoders.backends.stopping import why
from encoders.core.arrays import IntArray
from encoders.core.errors import Over
from encoders.presolve.reduction import Reduction, Starts, reduce, reduce_more
from encoders.problem.cost_unit import ceiling_below, unit_of
from encoders.problem.problem import Problem


@dataclass(frozen=True)
class Step:
    """Solver of the remaining problem, and its time limit before the next one starts."""

    solve: SolveReported  # solver, one backend or a race
    seconds: float = float("inf")  # time limit in seconds, inf for all remaining time


@dataclass(frozen=True)
class Plan:
    """Steps that run one after another until one proves, with the reason for this choice."""

    steps: Sequence[Step]  # sequence of at least one step
    why: str = ""  # reason in words, or ""


Pick = Callable[[Problem, Request], "Plan"]


@dataclass(eq=False)
class ReductionMemo:
    """Reduction of the last problem, with which later solves of it begin; for one thread."""

    problem: Problem | None = None
    reduction: Reduction | None = None

    def reduce(
        self, problem: Problem, starts: IntArray | Starts, request: Request, over: Over
    ) -> Reduction:
        """Return the reduction of a problem, continued if the last one was of the same problem."""
        base, bounds = self.reduction, request.on_bounds
        if base is not None and self.problem is problem and request.cutoff <= base.upper:
            now = reduce_more(base, request.cutoff, bounds, over, _lifted_to(base, request))
        else:
            now = reduce(problem, starts, request.cutoff, bounds, over, request.refuses)
        self.problem, self.reduction = problem, now
        return now


def solve_reduced(
    problem: Problem,
    request: Request,
    pick: Pick,
    starts: IntArray | Starts,
    memo: ReductionMemo | None = None,
) -> Report:
    """Reduce a problem, solve the remaining one, and return the report on the original one."""
    began = time.perf_counter()
    deadline = began + request.time_limit_s
    reduction, reduce_s = _reduced(problem, starts, request, deadline, memo)
    deadline = min(deadline, time.perf_counter() + request.turn_s)
    plan: Plan | None = None
    steps: list[Step] = []
    done: list[Report] = []
    while reduction.problem is not None:
        cutoff = ceiling_below(reduction.upper, unit_of(reduction.problem))
        refuses = _lifted_to(reduction, request)
        limited = replace(request, cutoff=cutoff, prices=reduction.prices, refuses=refuses)
        if not done and time.perf_counter() >= deadline:
            return joined(problem, [_report_of(problem, reduction, why(request))], reduce_s)
        if plan is None:
            plan = pick(reduction.problem, limited)
            steps = list(plan.steps)
        step = steps.pop(0)
        remaining_s = deadline - time.perf_counter()
        limited = replace(limited, time_limit_s=max(0.0, min(step.seconds, remaining_s)))
        report = step.solve(reduction.problem, limited).decided(plan.why)
        done.append(replace(report, outcome=_lifted(problem, reduction, report.outcome)))
        remaining_s = deadline - time.perf_counter()
        if not steps or report.outcome.stop_reason != "time_limit" or remaining_s <= 0:
            return joined(problem, done, reduce_s)
        if report.outcome.choices:  # a better incumbent may allow more reduction
            better = np.array(done[-1].outcome.choices[:1])
            reduction, more = _reduced(problem, better, request, deadline)
            reduce_s += more
    return joined(problem, [*done, _report_of(problem, reduction, "proved")], reduce_s)


def solve_left(
    problem: Problem, first_report: Report, remaining: Reduction, request: Request, pick: Pick
) -> Report:
    """Solve the remaining problem, and return the joint report with the known one."""
    if remaining.problem is None or remaining.upper <= first_report.outcome.lower:
        done = _report_of(problem, remaining, "proved")
        return joined(problem, [first_report, done], first_report.reduce_s)
    request.on_bounds(remaining.upper, first_report.outcome.lower)
    nothing = np.empty((0, remaining.problem.n_axes), dtype=np.int64)
    limited = replace(request, cutoff=remaining.upper, refuses=_lifted_to(remaining, request))
    report = solve_reduced(remaining.problem, limited, pick, nothing)
    done = replace(report, outcome=_lifted(problem, remaining, report.outcome))
    both = joined(problem, [first_report, done], first_report.reduce_s + report.reduce_s)
    return replace(both, provenance=report.provenance)


def _reduced(
    problem: Problem,
    starts: IntArray | Starts,
    request: Request,
    deadline: float,
    memo: ReductionMemo | None = None,
) -> tuple[Reduction, float]:
    began = time.perf_counter()

    def over() -> bool:
        return request.stop.is_set() or time.perf_counter() >= deadline

    reduction = (memo or ReductionMemo()).reduce(problem, starts, request, over)
    return reduction, time.perf_counter() - began


def _lifted_to(reduction: Reduction, request: Request) -> Callable[[IntArray], bool] | None:
    """Return a callback that tests whether a lifted choice is rejected, or None."""
    refuses = request.refuses
    return None if refuses is None else lambda choice: refuses(reduction.lift.up(choice))


def joined(problem: Problem, reports: Sequence[Report], reduce_s: float) -> Report:
    """Return the last report, with the choices, the best bound and the times of all."""
    outcomes = [report.outcome for report in reports]
    choices = sorted((c for o in outcomes for c in o.choices), key=problem.distance)
    upper = min(outcome.upper for outcome in outcomes)
    provenances = [report.provenance for report in reports]
    solvers = [p.backend for p in provenances if p.backend != "reduce"] or ["reduce"]
    outcome = replace(
        outcomes[-1],
        choices=tuple(choices),
        upper=upper,
        lower=min(max(outcome.lower for outcome in outcomes), upper),
        build_s=sum(outcome.build_s for outcome in outcomes),
        solve_s=sum(outcome.solve_s for outcome in outcomes),
    )
    provenance = Provenance(
        backend=solvers[-1],
        remaining=provenances[0].remaining,
        attempts=in_turn([p.attempts for p in provenances]),
        certified_by=provenances[-1].certified_by,
        decision=provenances[0].decision,
    )
    return Report(outcome, provenance, reduce_s)


def _report_of(problem: Problem, reduction: Reduction, reason: StopReason) -> Report:
    """Return the report of a solve that ended after reduction."""
    incumbent, proved = reduction.incumbent, reason == "proved"
    status: Status = "optimal" if proved else "feasible"
    if incumbent is None:
        status = "infeasible" if proved else "unknown"
    outcome = Outcome(
        status=status,
        stop_reason=reason,
        choices=() if incumbent is None else (incumbent,),
        upper=np.inf if incumbent is None else problem.distance(incumbent),
        lower=reduction.upper if proved else reduction.lower,
        build_s=0.0,
        solve_s=0.0,
        raw="nothing left after reduction" if proved else "no time left after reduction",
    )
    if proved or reduction.problem is None:
        return Report(outcome, Provenance("reduce"))
    return Report(outcome, Provenance("reduce", extent(reduction.problem)))


def _lifted(problem: Problem, reduction: Reduction, outcome: Outcome) -> Outcome:
    """Return the original problem's outcome: the incumbent is optimal if nothing is cheaper."""
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
        lower=min(max(outcome.lower, reduction.lower), reduction.upper),
    )
