"""A bound proved by the search, step by step: what others can check."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from encoders.core.arrays import IntArray, NarrowArray
from encoders.presolve.bounds.prices import Prices, no_prices
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import Problem
from encoders.search.backend import forbidden_boxes
from encoders.search.loop import run_slice
from encoders.search.open_nodes import NODES, is_open, make_pool
from encoders.search.trace import new_trace, steps_of_a_node

SLICE = 256  # nodes at most until the writer and the clock are asked; more are written later
ROOM = 100_000  # steps that are held before they are written, if a node does not take more
MANY = 256  # nodes before prices are computed, which takes as long as so many nodes

End = Literal["proved", "stopped", "refuted"]


def cover(
    problem: Problem,
    upper: float,
    refused: Callable[[Problem, IntArray], Problem | None],
    write: Callable[[NarrowArray], bool],
    charge: Callable[[Tables], Prices],
) -> End:
    """Prove that no choice costs less than ``upper``, and write every step of the proof.

    Nodes are expanded depth first, the low side first. Prices are computed, and used from then on,
    once :data:`MANY` nodes were expanded.
    """
    tables, pool, boxes = tabulate(problem), make_pool(problem), forbidden_boxes(problem)
    prices, priced = no_prices(tables), problem.aggregate != "sum" or not np.isfinite(upper)
    each, depth_first = steps_of_a_node(tables), pool.free.size + 1  # more slots than can be free
    n_nodes = min(SLICE, max(1, ROOM // each))
    trace, found = new_trace(n_nodes * each, problem.n_axes), np.zeros(problem.n_axes, np.int64)
    while True:
        if pool.counts[NODES] >= MANY and not priced:
            priced, prices = True, charge(tables)
        cost = run_slice(
            tables, prices, None, pool, found, upper, boxes, n_nodes, depth_first, None,
            None, trace,
        )  # fmt: skip
        going = write(trace.steps[: trace.used[0]])
        trace.used[0] = 0
        if np.isfinite(cost):
            smaller = refused(problem, found.copy()) if going else problem
            if smaller is None:
                return "refuted"
            problem, boxes = smaller, forbidden_boxes(smaller)
        elif not is_open(pool):
            return "proved"
        if not going:
            return "stopped"
