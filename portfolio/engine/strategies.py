"""Strategies for an encoded problem: reduced, raced, plain as published, or in a session."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import ClassVar, Protocol

import numpy as np

import selector
from encoders.backends.attempt import ConfiguredBackend, Report, RunBackend, SolveReported
from encoders.backends.interface import Backend, Outcome, Request
from encoders.core.arrays import IntArray
from encoders.formulation.pose import Posed
from encoders.problem.problem import Problem
from encoders.query.goal import Goal
from portfolio.engine.question import PLAIN, RACE, StrategyName
from portfolio.engine.race import race
from portfolio.engine.reduced import Pick, Plan, ReductionMemo, Step, solve_reduced
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.workers.interrupt import run_aside
from selector import BackendTurn, Case, Metric, Portfolio, Selector, line_up, named
from selector.candidates import AUTO
from selector.descriptors import EnsembleDescriptors, describe_ensemble

STARTS = 8  # nearest training rows from which an incumbent is built; more are slower


def described(model: ExplainedModel) -> tuple[EnsembleDescriptors, float]:
    """Return the descriptors of a model, and the seconds for computing them."""
    began = time.perf_counter()
    descriptors = describe_ensemble(model.ensemble, model.space)
    return descriptors, time.perf_counter() - began


class Strategy(Protocol):
    """Way to solve a problem that is encoded for one target class.

    Attributes
    ----------
    mode : name in log records; see :class:`selector.logs.files.LogRecord`.
    in_parts : whether a query about very many classes may be split into parts.
    together : picker of solvers for what our own search leaves open of queries with rising limits;
        None if they are not solved together.
    """

    @property
    def mode(self) -> str:
        """Name in log records."""
        ...

    @property
    def in_parts(self) -> bool:
        """True if a query about very many classes may be split into parts."""
        ...

    @property
    def together(self) -> Pick | None:
        """Picker of solvers for what a joint search of queries leaves open, or None."""
        ...

    def solve_posed(self, posed: Posed, view: ClassView, goal: Goal) -> SolveReported:
        """Return a solver of the encoded problem, and of others that lack some of its choices."""
        ...


@dataclass(frozen=True, eq=False)
class Auto:
    """Strategy of "auto", which calls the selector for each query.

    Attributes
    ----------
    chooser : selector with its decision diagram.
    model : model with its descriptors.
    measure : norm as text.
    metric : seconds that count, "total" or "solver"; see :class:`selector.descriptors.Case`.
    keep : whether only backends that keep their models are picked.
    """

    chooser: Selector
    model: ExplainedModel
    measure: str
    metric: Metric
    keep: bool = False

    def plan(self, problem: Problem, incumbent: float, threads: int) -> selector.Plan:
        """Return the plan of backends for a problem, given the cost of the best known choice."""
        model = self.model
        case = Case(model.once(described)[0], self.measure, model.plausible, self.metric)
        return self.chooser.plan(case, problem, incumbent, threads, self.keep)


@dataclass(frozen=True, eq=False)
class Reduced:
    """Reduction, then the named backend, or the plan of ``auto`` for the remaining problem."""

    backend: str  # name of a backend, with an engine and a formulation if needed, or "auto"
    run: RunBackend  # function that runs it
    auto: Auto  # strategy of "auto"
    mode: ClassVar[str] = "solo"
    in_parts: ClassVar[bool] = True

    @property
    def together(self) -> Pick | None:
        """See :class:`Strategy`."""
        return self._pick if self.backend == "search" or self.may_use("search") else None

    def may_use(self, candidate: str) -> bool:
        """Return whether "auto" chooses the backend, and its portfolio contains a candidate."""
        portfolio = self.auto.chooser.portfolio
        usable = portfolio is None or candidate in portfolio.candidates
        return self.backend == AUTO and usable

    def solve_posed(self, posed: Posed, view: ClassView, goal: Goal) -> SolveReported:
        """See :class:`Strategy`."""
        return _reduced(self._pick, posed, view, goal)

    def _pick(self, problem: Problem, request: Request) -> Plan:
        if self.backend != AUTO:
            return Plan([Step(configured(named(problem, self.backend), self.run))])
        plan = self.auto.plan(problem, request.cutoff, request.threads)
        return Plan([_step(turns, self.run) for turns in plan.rounds], plan.why)


@dataclass(frozen=True, eq=False)
class Raced:
    """Reduction, then a race of backends on the remaining problem."""

    backends: tuple[str, ...]  # names, the most promising first; empty for all that can prove
    run: RunBackend  # function that runs them
    portfolio: Portfolio | None = None  # backends that race if none are named, None for all
    mode: ClassVar[str] = "race"
    in_parts: ClassVar[bool] = True
    together: ClassVar[None] = None

    def solve_posed(self, posed: Posed, view: ClassView, goal: Goal) -> SolveReported:
        """See :class:`Strategy`."""
        return _reduced(self._pick, posed, view, goal)

    def _pick(self, problem: Problem, request: Request) -> Plan:
        if self.portfolio is None:
            turns = line_up(problem, self.backends)
        else:
            turns = tuple(self.portfolio.usable(problem).values())
        return Plan([Step(partial(race, [configured(turn, self.run) for turn in turns]))])


@dataclass(frozen=True, eq=False)
class Plain:
    """The whole problem in the backend's published formulation, for comparisons."""

    backend: str  # name of a backend, or "auto"
    run: RunBackend  # function that runs it
    auto: Auto  # strategy of "auto"
    mode: ClassVar[str] = "plain"
    in_parts: ClassVar[bool] = False
    together: ClassVar[None] = None

    def solve_posed(self, posed: Posed, view: ClassView, goal: Goal) -> SolveReported:
        """See :class:`Strategy`."""
        return self._solve

    def _solve(self, problem: Problem, request: Request) -> Report:
        first, why = _one(problem, self.backend, self.auto)
        published = replace(first, formulation=first.formulation or first.backend.plain)
        return configured(published, self.run)(problem, request).decided(why)


@dataclass(frozen=True, eq=False)
class Kept:
    """The whole problem in the backend's best formulation, run in a session.

    A backend that needs no model reduces the problem, as part of its solving. With several threads
    "auto" races backends that keep models, if its last turn names several.

    Attributes
    ----------
    backend : name of a backend, or "auto".
    run_for : function that returns the runner of a backend by class index and name.
    auto : strategy of "auto".
    """

    backend: str
    run_for: Callable[[int, str], RunBackend]
    auto: Auto
    mode: ClassVar[str] = "session"
    in_parts: ClassVar[bool] = False
    together: ClassVar[None] = None

    def solve_posed(self, posed: Posed, view: ClassView, goal: Goal) -> SolveReported:
        """See :class:`Strategy`."""
        return partial(self._solve, posed, view, goal)

    def _solve(
        self, posed: Posed, view: ClassView, goal: Goal, problem: Problem, request: Request
    ) -> Report:
        turns, why = self._turns(posed.problem, request.threads)
        entrants = [
            in_session(turn, self.run_for(goal.target, turn.backend.name), posed, view, goal)
            for turn in turns
        ]
        if len(entrants) == 1:
            return entrants[0](problem, request).decided(why)
        return race(entrants, problem, request).decided(why)

    def _turns(self, problem: Problem, threads: int) -> tuple[Sequence[BackendTurn], str]:
        """Return the named backend, or those of the last turn of "auto"; and the reason."""
        first, why = _one(problem, self.backend, self.auto)
        if self.backend != AUTO or threads == 1 or first.backend.capability.afresh:
            return [first], why
        plan = self.auto.plan(problem, math.inf, threads)
        keepers = [turn for turn in plan.rounds[-1] if not turn.backend.capability.afresh]
        return keepers, plan.why


def strategy_of(name: StrategyName, run: RunBackend, auto: Auto) -> Strategy:
    """Return the strategy of a name in :class:`portfolio.engine.question.Options`."""
    if isinstance(name, tuple):
        return Raced(name, run)
    if name == RACE:
        return Raced((), run, auto.chooser.portfolio)
    if name.startswith(PLAIN):
        return Plain(name.removeprefix(PLAIN), run, auto)
    return Reduced(name, run, auto)


def others(
    run: RunBackend, posed: Posed, view: ClassView, goal: Goal, out: frozenset[str]
) -> SolveReported | None:
    """Return a race of all proving backends without the excluded ones; None if none is left.

    If reduction itself is excluded ("reduce"), the whole problem is solved.
    """
    able = [c for c in line_up(posed.problem) if c.backend.name not in out]
    if not able:
        return None
    entrants = partial(race, [configured(turn, run) for turn in able])
    if "reduce" in out:
        return entrants
    return _reduced(lambda problem, request: Plan([Step(entrants)]), posed, view, goal)


def _reduced(pick: Pick, posed: Posed, view: ClassView, goal: Goal) -> SolveReported:
    """Return a solver that reduces first, and keeps the last reduction."""
    memo = ReductionMemo()

    @cache
    def closest() -> IntArray:
        if posed.additive:
            return np.empty((0, posed.column.size), dtype=np.int64)
        return posed.closest(view.near(goal), STARTS)

    def solve(problem: Problem, request: Request) -> Report:
        def starts() -> IntArray:
            return posed.completed(problem, closest())

        return solve_reduced(problem, request, pick, starts, memo)

    return solve


def _one(problem: Problem, backend: str, auto: Auto) -> tuple[BackendTurn, str]:
    """Return the named backend, or the last one of the plan of "auto"; and the reason."""
    if backend != AUTO:
        return named(problem, backend), ""
    plan = auto.plan(problem, math.inf, 1)
    return plan.rounds[-1][0], plan.why


def in_session(
    turn: BackendTurn, run: RunBackend, posed: Posed, view: ClassView, goal: Goal
) -> ConfiguredBackend:
    """Return the backend of a turn, as a session calls it: on the whole problem."""
    if not turn.backend.capability.afresh:
        return configured(turn, run)

    def after_reducing(backend: Backend, problem: Problem, request: Request) -> Outcome:
        plan = Plan([Step(configured(turn, run))])
        report = _reduced(lambda remaining, limited: plan, posed, view, goal)(problem, request)
        outcome = report.outcome
        return replace(
            outcome, build_s=0.0, solve_s=report.reduce_s + outcome.build_s + outcome.solve_s
        )

    return configured(turn, after_reducing)


def _step(turns: Sequence[BackendTurn], run: RunBackend) -> Step:
    tries = [configured(turn, run) for turn in turns]
    after = [turn.after for turn in turns]
    return Step(
        tries[0] if len(tries) == 1 else partial(race, tries, after=after), turns[0].seconds
    )


def configured(turn: BackendTurn, run: RunBackend) -> ConfiguredBackend:
    """Return the backend of a turn, with its runner."""

    def run_beside(backend: Backend, problem: Problem, request: Request) -> Outcome:
        return run_aside(partial(run, backend, problem, request))

    return ConfiguredBackend(turn.backend, turn.formulation, turn.engine, run_beside)
