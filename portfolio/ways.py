"""Ways to solve a posed problem: reduced first, plain as published, or with a model kept."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from encoders.backend import Solve
from encoders.pose import Posed
from encoders.problem import Problem
from encoders.reduce import Run, Step, solve_reduced, solve_whole
from portfolio.reading import View
from selector import choose

STARTS = 8  # nearest training rows that an incumbent is made from

# What solves a problem that has been posed for a target class of a view.
Way = Callable[[Posed, View, int], Solve]


def reduced(backend: str, run: Run) -> Way:
    """Reduce, then the backend picked for what is left."""
    pick = partial(choose, name=backend)

    def way(posed: Posed, view: View, target: int) -> Solve:
        starts = posed.closest(view.reference.rows[target], STARTS)
        return partial(solve_reduced, pick=pick, starts=starts, run=run)

    return way


def plain(backend: str, run: Run) -> Way:
    """The whole problem in the backend's published formulation, for comparisons."""

    def pick(problem: Problem) -> Sequence[Step]:
        steps = choose(problem, backend)
        return [replace(s, formulation=s.formulation or s.backend.plain) for s in steps]

    return lambda posed, view, target: partial(solve_whole, pick=pick, run=run)


def whole(backend: str, run_for: Callable[[int], Run]) -> Way:
    """The whole problem in the backend's best formulation, run by what keeps its model."""
    pick = partial(choose, name=backend)
    return lambda posed, view, target: partial(solve_whole, pick=pick, run=run_for(target))
