"""A bound proved by the search, step by step: what others can check."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from encoders.core.arrays import IntArray
from encoders.presolve.bounds.prices import Prices
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import Problem
from encoders.search.backend import forbidden_boxes
from encoders.search.cover_loop import (
    BOXES,
    ENDED,
    FOUND,
    OPEN,
    STEPS,
    cover_slice,
    steps_of_a_node,
)

SLICE = 256  # boxes until the writer and the clock are asked; more are written later
ROOM = 8192  # steps at least that are held before they are written
MANY = 256  # boxes before prices are computed, which takes as long as so many boxes

End = Literal["proved", "stopped", "refuted"]


def cover(
    problem: Problem,
    upper: float,
    refused: Callable[[Problem, IntArray], Problem | None],
    write: Callable[[IntArray], bool],
    charge: Callable[[Tables], Prices],
) -> End:
    """Prove that no choice costs less than ``upper``, and write every step of the proof.

    Prices are computed, and used from then on, once :data:`MANY` boxes were processed.
    """
    tables = tabulate(problem)
    prices = Prices(0.0, 0.0, np.zeros(problem.n_leaves), np.zeros(problem.cost.size))
    priced = problem.aggregate != "sum" or not np.isfinite(upper)
    forbidden = forbidden_boxes(problem)
    boxes = np.zeros((2 * SLICE, 2, problem.n_axes), dtype=np.int32)
    boxes[0, 1] = problem.size - 1
    counts = np.array([1, 0, 0], dtype=np.int64)
    steps = np.zeros((max(ROOM, 2 * steps_of_a_node(tables)), 4), dtype=np.int32)
    found = np.zeros(problem.n_axes, dtype=np.int64)
    while True:
        if len(boxes) - counts[OPEN] <= SLICE:
            boxes = np.concatenate([boxes, np.zeros_like(boxes)])
        if counts[BOXES] >= MANY and not priced:
            priced, prices = True, charge(tables)
        end = cover_slice(
            tables, prices, boxes, counts, steps, found, upper, *forbidden, SLICE
        )  # fmt: skip
        going = write(steps[: counts[STEPS]])
        counts[STEPS] = 0
        if end == ENDED:
            return "proved"
        if not going:
            return "stopped"
        if end == FOUND:
            smaller = refused(problem, found.copy())
            if smaller is None:
                return "refuted"
            problem = smaller
            forbidden = forbidden_boxes(problem)
