"""Ways to solve a posed problem: reduced first, raced, plain as published, or with a model kept."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import selector
from encoders.attempt import Run, Try
from encoders.backend import Outcome, Request, Solve
from encoders.pose import Posed
from encoders.problem import Problem
from encoders.reduce import Plan, Step, solve_reduced
from encoders.reduce.solve import Pick
from portfolio.race import race
from portfolio.reading import View
from selector import Choice, line_up, named
from selector.choose import AUTO

STARTS = 8  # nearest training rows that an incumbent is made from

# What solves a problem that has been posed for a target class of a view.
Way = Callable[[Posed, View, int], Solve]
# What "auto" does with (problem, incumbent, threads).
Auto = Callable[[Problem, float, int], selector.Plan]


def reduced(backend: str, run: Run, auto: Auto) -> Way:
    """Reduce, then the backend asked for, or what ``auto`` plans for what is left."""

    def pick(problem: Problem, request: Request) -> Plan:
        if backend != AUTO:
            return Plan([Step(_try(named(problem, backend), run))])
        plan = auto(problem, request.cutoff, request.threads)
        return Plan([_step(choices, run) for choices in plan.rounds], plan.why)

    return partial(_reduced, pick)


def raced(backends: Sequence[str], run: Run) -> Way:
    """Reduce, then let the backends race for what is left; all that can prove if none is named."""

    def pick(problem: Problem, request: Request) -> Plan:
        entrants = [_try(choice, run) for choice in line_up(problem, backends)]
        return Plan([Step(partial(race, entrants))])

    return partial(_reduced, pick)


def plain(backend: str, run: Run, auto: Auto) -> Way:
    """The whole problem in the backend's published formulation, for comparisons."""

    def solve(problem: Problem, request: Request) -> Outcome:
        first, why = _one(problem, backend, auto)
        formulation = first.formulation or first.backend.plain
        outcome = Try(first.backend, formulation, first.engine, run)(problem, request)
        return replace(outcome, decision=why)

    return lambda posed, view, target: solve


def whole(backend: str, auto: Auto, run_for: Callable[[int], Run]) -> Way:
    """The whole problem in the backend's best formulation, run by what keeps its model."""

    def way(posed: Posed, view: View, target: int) -> Solve:
        first, why = _one(posed.problem, backend, auto)
        own = _try(first, run_for(target))
        return lambda problem, request: replace(own(problem, request), decision=why)

    return way


def others(run: Run, posed: Posed, view: View, target: int, out: frozenset[str]) -> Solve | None:
    """A race of all that can prove but those that are out; None if nobody is left.

    Where reduction itself is out ("reduce") the whole problem is solved.
    """
    left = [c for c in line_up(posed.problem) if c.backend.name not in out]
    if not left:
        return None
    entrants = partial(race, [_try(choice, run) for choice in left])
    if "reduce" in out:
        return entrants
    return _reduced(lambda problem, request: Plan([Step(entrants)]), posed, view, target)


def _reduced(pick: Pick, posed: Posed, view: View, target: int) -> Solve:
    starts = posed.closest(view.reference.rows[target], STARTS)
    return partial(solve_reduced, pick=pick, starts=starts)


def _one(problem: Problem, backend: str, auto: Auto) -> tuple[Choice, str]:
    """The backend asked for, or the one that has the last word; and why."""
    if backend != AUTO:
        return named(problem, backend), ""
    plan = auto(problem, float("inf"), 1)
    return plan.rounds[-1][0], plan.why


def _step(choices: Sequence[Choice], run: Run) -> Step:
    tries = [_try(choice, run) for choice in choices]
    after = [choice.after for choice in choices]
    return Step(
        tries[0] if len(tries) == 1 else partial(race, tries, after=after), choices[0].seconds
    )


def _try(choice: Choice, run: Run) -> Try:
    return Try(choice.backend, choice.formulation, choice.engine, run)
