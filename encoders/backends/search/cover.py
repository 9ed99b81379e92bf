"""A bound proved by the search, step by step: what others can check."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from encoders.arrays import IntArray
from encoders.backends.search.backend import forbidden_boxes
from encoders.backends.search.cover_loop import (
    ENDED,
    FOUND,
    OPEN,
    STEPS,
    cover_slice,
    steps_of_a_node,
)
from encoders.bounds.lagrange import Coupling, couple
from encoders.bounds.multipliers import Multipliers, multipliers, priced_by
from encoders.bounds.prices import Prices
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import Problem

SLICE = 256  # boxes until the writer and the clock are asked; more are written later
ROOM = 8192  # steps at least that are held before they are written

End = Literal["proved", "stopped", "refuted"]


@dataclass(frozen=True, eq=False)
class RowPrices:
    """Prices on rows between trees and axes, those of a linear program's dual.

    Attributes
    ----------
    coupling : which rows there are
    given : their prices, and those of leaf rows and level rows
    """

    coupling: Coupling
    given: Multipliers


def row_prices(problem: Problem, upper: float, unit: float) -> RowPrices | None:
    """Prices that bound the cost of every choice, in whole units; None where there are none.

    Parameters
    ----------
    problem : as posed
    upper : what the bound is to reach
    unit : of cost; prices are whole multiples of it
    """
    if problem.aggregate != "sum" or not np.isfinite(upper):
        return None
    tables = tabulate(problem)
    coupling = couple(tables)
    exact = multipliers(tables, coupling, upper)
    whole = Multipliers(*(np.floor(prices / unit) * unit for prices in exact))
    return RowPrices(coupling, whole)


def cover(
    problem: Problem,
    prices: RowPrices | None,
    upper: float,
    refused: Callable[[Problem, IntArray], Problem | None],
    write: Callable[[IntArray], bool],
) -> End:
    """Prove that no choice costs less than ``upper``, and write down every step.

    Parameters
    ----------
    problem : as posed
    prices : of :func:`row_prices`
    upper : inf for no choice at all
    refused : given the problem and a choice that keeps every row and costs less, the problem
        without it; None if
        it is an answer after all
    write : takes steps, int32 (n_steps, 5), as of :mod:`encoders.backends.search.cover_loop`;
        whether to go on

    Returns
    -------
    "proved" with the last step written; "refuted" by a choice that is an answer
    """
    tables = tabulate(problem)
    free = Prices(0.0, 0.0, np.zeros(problem.n_leaves), np.zeros(problem.cost.size))
    paid = free if prices is None else _lowered(tables, prices)
    forbidden = forbidden_boxes(problem)
    boxes = np.zeros((2 * SLICE, 2, problem.n_axes), dtype=np.int32)
    boxes[0, 1] = problem.size - 1
    counts = np.array([1, 0], dtype=np.int64)
    steps = np.zeros((max(ROOM, 2 * steps_of_a_node(tables)), 5), dtype=np.int32)
    found = np.zeros(problem.n_axes, dtype=np.int64)
    while True:
        if len(boxes) - counts[OPEN] <= SLICE:
            boxes = np.concatenate([boxes, np.zeros_like(boxes)])
        end = cover_slice(
            tables, paid, free, boxes, counts, steps, found, upper, *forbidden, SLICE
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


def _lowered(t: Tables, prices: RowPrices) -> Prices:
    """What leaves and levels cost, less what others' whole numbers may make of the leaf rows.

    They round each weight and the minimum at a scale of their own, by up to a unit of ours each.
    """
    found, worth = priced_by(t, prices.coupling, prices.given), prices.given.worth
    n_trees, need = t.tree_start.size - 1, np.maximum(t.need, 1).astype(np.float64)
    most = np.maximum.reduceat(t.weight, t.tree_start[:-1], axis=1).sum(axis=1)
    off = float((worth * (2 * n_trees + 8) / need * np.maximum(1.0, most / need)).sum())
    return found._replace(constant=found.constant - off, bound=found.bound - off)
