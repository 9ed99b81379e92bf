"""Ways to solve a posed problem: reduced first, raced, plain as published, or with a model kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Protocol

import selector
from encoders.backends.attempt import ConfiguredBackend, Report, RunBackend, SolveReported
from encoders.backends.interface import Backend, Outcome, Request
from encoders.posing.pose import Posed
from encoders.problem.problem import Problem
from encoders.query.goal import Goal
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.question import PLAIN, RACE, StrategyName
from portfolio.running.interrupt import run_aside
from portfolio.solving.race import race
from portfolio.solving.reduced import Pick, Plan, Step, solve_reduced
from selector import BackendTurn, Case, Metric, Selector, line_up, named
from selector.candidates import AUTO

STARTS = 8  # nearest training rows that an incumbent is made from; more take longer to reduce


class Strategy(Protocol):
    """How a problem is solved once it has been posed for one target class.

    Attributes
    ----------
    mode : what log records call it; see :class:`selector.logs.files.LogRecord`
    in_parts : whether a question about very many classes may be asked in parts
    together : picks what solves what is left of questions that only ask for more and more, once our
        own search has looked at all of them together; None where it may not
    """

    @property
    def mode(self) -> str:
        """What log records call it."""
        ...

    @property
    def in_parts(self) -> bool:
        """Whether a question about very many classes may be asked in parts."""
        ...

    @property
    def together(self) -> Pick | None:
        """Solves what is left of questions that our own search has looked at together."""
        ...

    def solve_posed(self, posed: Posed, view: ClassView, goal: Goal) -> SolveReported:
        """What solves the posed problem, and others that lack some of its choices."""
        ...


@dataclass(frozen=True, eq=False)
class Auto:
    """What "auto" does with one question: asks the selector.

    Attributes
    ----------
    chooser : follows a decision diagram
    model : gives the descriptors
    measure : the norm as text
    metric : seconds that count, "total" or "solver"; see :class:`selector.case.Case`
    keep : ask for backends that keep their models
    """

    chooser: Selector
    model: ExplainedModel
    measure: str
    metric: Metric
    keep: bool = False

    def plan(self, problem: Problem, incumbent: float, threads: int) -> selector.Plan:
        """Which backends try a problem, given the cost of the best choice known."""
        model = self.model
        case = Case(model.described[0], self.measure, model.plausible, self.metric)
        return self.chooser.plan(case, problem, incumbent, threads, self.keep)


@dataclass(frozen=True, eq=False)
class Reduced:
    """Reduce, then the backend asked for, or what ``auto`` plans for what is left.

    Attributes
    ----------
    backend : its name, "auto", or one with an engine and a formulation
    run : what runs it
    auto : what "auto" does
    """

    backend: str
    run: RunBackend
    auto: Auto
    mode: ClassVar[str] = "solo"
    in_parts: ClassVar[bool] = True

    @property
    def together(self) -> Pick | None:
        """See :class:`Strategy`."""
        return self._pick if self.backend in (AUTO, "search") else None

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
    """Reduce, then let backends race for what is left.

    Attributes
    ----------
    backends : their names, the most promising first; all that can prove if there are none
    run : what runs them
    """

    backends: tuple[str, ...]
    run: RunBackend
    mode: ClassVar[str] = "race"
    in_parts: ClassVar[bool] = True
    together: ClassVar[None] = None

    def solve_posed(self, posed: Posed, view: ClassView, goal: Goal) -> SolveReported:
        """See :class:`Strategy`."""
        return _reduced(self._pick, posed, view, goal)

    def _pick(self, problem: Problem, request: Request) -> Plan:
        entrants = [configured(turn, self.run) for turn in line_up(problem, self.backends)]
        return Plan([Step(partial(race, entrants))])


@dataclass(frozen=True, eq=False)
class Plain:
    """The whole problem in the backend's published formulation, for comparisons.

    Attributes
    ----------
    backend : its name, or "auto"
    run : what runs it
    auto : what "auto" does
    """

    backend: str
    run: RunBackend
    auto: Auto
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
    """The whole problem in the backend's best formulation, run by what keeps its model.

    A backend that needs no model reduces the problem, as part of its solving.

    Attributes
    ----------
    backend : its name, or "auto"
    run_for : what runs the backend for a target class, given its index
    auto : what "auto" does
    """

    backend: str
    run_for: Callable[[int], RunBackend]
    auto: Auto
    mode: ClassVar[str] = "session"
    in_parts: ClassVar[bool] = False
    together: ClassVar[None] = None

    def solve_posed(self, posed: Posed, view: ClassView, goal: Goal) -> SolveReported:
        """See :class:`Strategy`."""
        first, why = _one(posed.problem, self.backend, self.auto)
        own = in_session(first, self.run_for(goal.target), posed, view, goal)
        return lambda problem, request: own(problem, request).decided(why)


def strategy_of(name: StrategyName, run: RunBackend, auto: Auto) -> Strategy:
    """The strategy of a name that :class:`portfolio.question.Options` holds."""
    if isinstance(name, tuple):
        return Raced(name, run)
    if name == RACE:
        return Raced((), run)
    if name.startswith(PLAIN):
        return Plain(name.removeprefix(PLAIN), run, auto)
    return Reduced(name, run, auto)


def others(
    run: RunBackend, posed: Posed, view: ClassView, goal: Goal, out: frozenset[str]
) -> SolveReported | None:
    """A race of all that can prove but those that are out; None if nobody is left.

    Where reduction itself is out ("reduce") the whole problem is solved.
    """
    able = [c for c in line_up(posed.problem) if c.backend.name not in out]
    if not able:
        return None
    entrants = partial(race, [configured(turn, run) for turn in able])
    if "reduce" in out:
        return entrants
    return _reduced(lambda problem, request: Plan([Step(entrants)]), posed, view, goal)


def _reduced(pick: Pick, posed: Posed, view: ClassView, goal: Goal) -> SolveReported:
    starts = posed.closest(view.near(goal), STARTS)
    if posed.related is None:
        return partial(solve_reduced, pick=pick, starts=starts)

    def solve(problem: Problem, request: Request) -> Report:
        return solve_reduced(problem, request, pick, posed.completed(problem, starts))

    return solve


def _one(problem: Problem, backend: str, auto: Auto) -> tuple[BackendTurn, str]:
    """The backend asked for, or the one that has the last word; and why."""
    if backend != AUTO:
        return named(problem, backend), ""
    plan = auto.plan(problem, float("inf"), 1)
    return plan.rounds[-1][0], plan.why


def in_session(
    turn: BackendTurn, run: RunBackend, posed: Posed, view: ClassView, goal: Goal
) -> ConfiguredBackend:
    """The backend of a turn, as a session asks it: about the whole problem."""
    if not turn.backend.capability.afresh:
        return configured(turn, run)

    def after_reducing(backend: Backend, problem: Problem, request: Request) -> Outcome:
        plan = Plan([Step(configured(turn, run))])
        report = _reduced(lambda left, asked: plan, posed, view, goal)(problem, request)
        own = report.outcome
        return replace(own, build_s=0.0, solve_s=report.reduce_s + own.build_s + own.solve_s)

    return configured(turn, after_reducing)


def _step(turns: Sequence[BackendTurn], run: RunBackend) -> Step:
    tries = [configured(turn, run) for turn in turns]
    after = [turn.after for turn in turns]
    return Step(
        tries[0] if len(tries) == 1 else partial(race, tries, after=after), turns[0].seconds
    )


def configured(turn: BackendTurn, run: RunBackend) -> ConfiguredBackend:
    """The backend of a turn, with what runs it."""

    def run_beside(backend: Backend, problem: Problem, request: Request) -> Outcome:
        return run_aside(partial(run, backend, problem, request))

    return ConfiguredBackend(turn.backend, turn.formulation, turn.engine, run_beside)
