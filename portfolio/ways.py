"""Ways to solve a posed problem: reduced first, raced, plain as published, or with a model kept."""

from collections.abc import Callable, Sequence
from functools import partial

from encoders.attempt import Run, Try
from encoders.backend import Outcome, Request, Solve
from encoders.pose import Posed
from encoders.problem import Problem
from encoders.reduce import Step, solve_reduced
from portfolio.race import race
from portfolio.reading import View
from selector import Choice, choose, line_up

STARTS = 8  # nearest training rows that an incumbent is made from

# What solves a problem that has been posed for a target class of a view.
Way = Callable[[Posed, View, int], Solve]


def reduced(backend: str, run: Run) -> Way:
    """Reduce, then the backend picked for what is left."""

    def pick(problem: Problem) -> list[Step]:
        return [Step(_try(choice, run), choice.seconds) for choice in choose(problem, backend)]

    return partial(_reduced, pick)


def raced(backends: Sequence[str], run: Run) -> Way:
    """Reduce, then let the backends race for what is left; all that can prove if none is named."""

    def pick(problem: Problem) -> list[Step]:
        entrants = [_try(choice, run) for choice in line_up(problem, backends)]
        return [Step(partial(race, entrants))]

    return partial(_reduced, pick)


def plain(backend: str, run: Run) -> Way:
    """The whole problem in the backend's published formulation, for comparisons."""

    def solve(problem: Problem, request: Request) -> Outcome:
        first = choose(problem, backend)[0]
        formulation = first.formulation or first.backend.plain
        return Try(first.backend, formulation, first.engine, run)(problem, request)

    return lambda posed, view, target: solve


def whole(backend: str, run_for: Callable[[int], Run]) -> Way:
    """The whole problem in the backend's best formulation, run by what keeps its model."""

    def way(posed: Posed, view: View, target: int) -> Solve:
        return _try(choose(posed.problem, backend)[0], run_for(target))

    return way


def _reduced(
    pick: Callable[[Problem], Sequence[Step]], posed: Posed, view: View, target: int
) -> Solve:
    starts = posed.closest(view.reference.rows[target], STARTS)
    return partial(solve_reduced, pick=pick, starts=starts)


def _try(choice: Choice, run: Run) -> Try:
    return Try(choice.backend, choice.formulation, choice.engine, run)
