"""Problem that remains if only choices up to a cost count: every one of them stays."""

import numpy as np

from encoders.presolve.bounds.lagrange import bound_by_prices, drop_by_prices
from encoders.presolve.compress import Lift, drop
from encoders.presolve.tighten import EFFORTS, NOTHING_LEFT, tighten
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import Problem

LOOKS = 500_000  # leaves looked at, some 50 ms; far less than what listing takes without


def choices_within(problem: Problem, upper: float) -> tuple[Problem, Lift] | None:
    """Return a smaller problem with all feasible choices that cost less than a limit, and its lift.

    Return None if all choices are excluded. In contrast to
    :func:`encoders.presolve.reduction.reduce`, no choice is dropped or merged because another one
    is at least as good.
    """
    tables = tabulate(problem)
    keep = np.ones(problem.cost.size, dtype=np.bool_)
    alive = np.ones(problem.n_leaves, dtype=np.bool_)
    looked = 0
    for effort in EFFORTS:
        dropped, more = tighten(tables, upper, keep, alive, effort, LOOKS - looked)
        if dropped == NOTHING_LEFT:
            return None
        looked += more
    if problem.aggregate == "sum":
        drop_by_prices(tables, bound_by_prices(tables, upper), upper, keep, alive)
    left = drop(problem, keep, alive)
    return None if left is None else (left.problem, left.lift)
