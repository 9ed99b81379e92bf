"""Sessions that learn from the run times of their backends."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import ClassVar

from encoders.backends.attempt import Report, RunBackend, SolveReported
from encoders.backends.interface import Outcome, Request
from encoders.formulation.pose import Posed
from encoders.problem.problem import Problem
from encoders.query.goal import Goal
from portfolio.engine.reduced import joined
from portfolio.engine.strategies import Auto, in_session
from portfolio.model.explained_model import ClassView
from selector import BackendTurn, OnlineCosts, line_up
from selector.logs.record import PROOFS
from selector.online import Asked, Took

SolverOf = Callable[[BackendTurn], SolveReported]
MeasuredReport = tuple[Report, Took, float]  # the last: total seconds on the clock
COUNTED = (
    "proved",
    "time_limit",
    "memory_limit",
    "error",
)  # stop reasons that say how long a backend takes


class KeptOnline:
    """:class:`portfolio.engine.strategies.Kept` by "auto", adapted by the session's own run times.

    Every backend keeps its own model, or needs none. Not thread safe, as its session.
    """

    mode: ClassVar[str] = "session"
    in_parts: ClassVar[bool] = False
    together: ClassVar[None] = None

    def __init__(
        self, run_for: Callable[[int, str], RunBackend], auto: Auto, costs: OnlineCosts
    ) -> None:
        self._run_for, self._auto, self._costs = run_for, auto, costs
        self._ready: dict[int, set[str]] = {}  # target -> backends with a model

    def forget(self) -> None:
        """Forget which backends have a model."""
        self._ready = {}

    def solve_posed(self, posed: Posed, view: ClassView, goal: Goal) -> SolveReported:
        """See :class:`portfolio.engine.strategies.Strategy`."""

        def solver_of(turn: BackendTurn) -> SolveReported:
            run = self._run_for(goal.target, turn.backend.name)
            return in_session(turn, run, posed, view, goal)

        return lambda problem, request: self._solve(goal.target, solver_of, problem, request)

    def _solve(
        self, target: int, solver_of: SolverOf, problem: Problem, request: Request
    ) -> Report:
        plan = self._auto.plan(problem, math.inf, 1)
        first_choice = plan.rounds[-1][0]
        turns = {
            turn.backend.name: turn
            for turn in (first_choice, *line_up(problem))
            if turn.backend.capability.sessions
        }
        place, first = self._costs.place_of(plan.leaf), first_choice.backend.name
        others = [name for name in turns if name != first]
        ready = self._ready.setdefault(target, set()) | _afresh(turns.values())
        allowance = self._costs.next_backend(place, first, others, request.time_limit_s, ready)
        if allowance.backend == first:
            report, took, _ = self._measured(first_choice, target, solver_of, problem, request)
            if _counts(report):
                self._costs.record_default(place, took)
            return report.decided(plan.why)
        other = turns[allowance.backend]
        why = f"{plan.why}; by times of own sessions {other.backend.title} is tried first"
        both = (other, first_choice)
        report = self._other_first(target, solver_of, problem, request, both, allowance, place)
        return report.decided(why)

    def _other_first(
        self,
        target: int,
        solver_of: SolverOf,
        problem: Problem,
        request: Request,
        turns: tuple[BackendTurn, BackendTurn],
        allowance: Asked,
        place: int,
    ) -> Report:
        """Run another backend than the diagram's for a moment, then the diagram's."""
        other, first_choice = turns
        brief = replace(request, time_limit_s=allowance.seconds)
        report, took, spent_s = self._measured(other, target, solver_of, problem, brief)
        own_s = math.nan
        if not took.proved:
            if request.stop.is_set():
                return report
            left_s = max(0.0, request.time_limit_s - spent_s)
            rest = replace(request, time_limit_s=left_s)
            then, after, _ = self._measured(first_choice, target, solver_of, problem, rest)
            own_s = after.seconds
            report = _marked_feasible(joined(problem, [report, then], 0.0))
        if _counts(report):
            self._costs.record_alternative(
                place, allowance, first_choice.backend.name, took, spent_s, own_s
            )
        return report

    def _measured(
        self,
        turn: BackendTurn,
        target: int,
        solver_of: SolverOf,
        problem: Problem,
        request: Request,
    ) -> MeasuredReport:
        """Return a backend's report, its run time as it counts, and its seconds on the clock."""
        name, ready = turn.backend.name, self._ready.setdefault(target, set())
        began = time.perf_counter()
        report = solver_of(turn)(problem, request)
        spent_s = time.perf_counter() - began
        outcome = report.outcome
        proved = outcome.status in PROOFS
        # Do not count starting a process and building the first model, which happen once.
        counts_s = spent_s if name in ready or not proved else outcome.solve_s
        if proved:
            ready.add(name)
        else:
            ready.discard(name)  # its process may have ended, with the model
            counts_s = max(spent_s, request.time_limit_s)
        return report, Took(name, counts_s, proved), spent_s


def _afresh(turns: Iterable[BackendTurn]) -> set[str]:
    """Return the names of backends that need no model and no process before they can answer."""
    able = [turn.backend for turn in turns]
    return {b.name for b in able if b.capability.afresh and not b.capability.isolated}


def _counts(report: Report) -> bool:
    return report.outcome.stop_reason in COUNTED


def _marked_feasible(report: Report) -> Report:
    """Return the report of two backends, marked feasible if only the first one has an answer."""
    outcome: Outcome = report.outcome
    if outcome.choices and outcome.status == "unknown":
        return replace(report, outcome=replace(outcome, status="feasible"))
    return report
