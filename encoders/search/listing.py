"""Every choice below a cost, the cheapest first, by the branch and bound."""

from collections.abc import Callable

import numpy as np

from encoders.core.arrays import IntArray
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import Problem
from encoders.search.backend import forbidden_boxes, prices_of
from encoders.search.dive import no_repricing
from encoders.search.loop import run_slice
from encoders.search.open_nodes import (
    FREE,
    grown,
    is_open,
    make_pool,
    push_others,
    slots_in_reserve,
)
from encoders.search.team import FIRST_SLICE


def every_choice(
    problem: Problem, upper: float, most: int, over: Callable[[int], bool]
) -> tuple[IntArray, bool]:
    """Return choices that satisfy all rows and cost less than a limit, and whether these are all.

    After each choice found, the rest of its box is split into boxes that exclude it. At most
    ``most`` choices are returned, as an array of shape (n, n_axes).
    """
    tables, pool, reserve = tabulate(problem), make_pool(problem), slots_in_reserve(problem)
    prices, boxes = prices_of(problem, tables, upper), forbidden_boxes(problem)
    point = np.zeros(problem.n_axes, dtype=np.int64)
    found: list[IntArray] = []
    while is_open(pool):
        pool = grown(pool, FIRST_SLICE, reserve)
        if len(found) > most or over(len(found)) or pool.counts[FREE] < reserve:
            return np.array(found[:most]).reshape(-1, problem.n_axes), False
        cost = run_slice(
            tables, prices, no_repricing(), pool, point, upper, boxes, FIRST_SLICE, reserve, 0,
            None, None,
        )  # fmt: skip
        if np.isfinite(cost):
            found.append(point.copy())
            push_others(pool, point, point, cost)
    whole = len(found) <= most
    return np.array(found[:most], dtype=np.int64).reshape(-1, problem.n_axes), whole
