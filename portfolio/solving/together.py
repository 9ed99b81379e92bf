"""Questions that only ask for more and more, solved by one reduction and one search."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.backends.attempt import Provenance, Report, extent
from encoders.backends.interface import Outcome
from encoders.backends.search.rising import search_rising
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import Problem
from encoders.reduce.incumbent import find_incumbent
from encoders.reduce.quickly import shrink_quickly

WALK = (1.0,)  # exponent of the gain, where one incumbent is improved into the next
Starts = Callable[[int], IntArray]


def differ_in_needs(problems: Sequence[Problem]) -> bool:
    """Whether problems are the same but for what their leaf rows need, and no row's need falls.

    Parameters
    ----------
    problems : posed of the same trees, for the same row; at least one
    """
    first = problems[0].leaf_rows
    for problem in problems[1:]:
        rows = problem.leaf_rows
        if len(rows) != len(first) or problem.exact != problems[0].exact:
            return False
        if not all(np.array_equal(a.weight, b.weight) for a, b in zip(rows, first, strict=True)):
            return False
    need = _needs(problems)
    return bool((np.diff(need, axis=0) >= 0).all())


def solve_together(
    problems: Sequence[Problem], starts: Starts, over: Callable[[], bool]
) -> list[Report | None]:
    """The cheapest choice of each problem, None where it was not found or not proved.

    Parameters
    ----------
    problems : of which :func:`differ_in_needs` is true
    starts : choices from which to look for an incumbent of a problem, given its place
    over : whether there is no time left
    """
    began = time.perf_counter()
    held = _incumbents(problems, starts, over)
    if held is None:
        return [None] * len(problems)
    first, need = problems[0], _needs(problems)[: held.cost.size]
    left = shrink_quickly(first, held.tables, float(held.cost[-1]))
    reduced = time.perf_counter()
    if left is None:
        best, settled, size, nodes = list(held.choices), np.ones(held.cost.size, bool), (0, 0), 0
    else:
        small, lift = left
        need = need + (_needs([small]) - need[0])  # some leaves are certain by now
        risen = search_rising(small, need, held.cost, over)
        found = np.isfinite(risen.cost)
        lifted = [lift.up(choice) for choice in risen.choices]
        best = [b if new else a for a, b, new in zip(held.choices, lifted, found, strict=True)]
        settled, size, nodes = risen.settled, extent(small), risen.nodes
    share = 1.0 / held.cost.size
    solve_s, reduce_s = share * (time.perf_counter() - reduced), share * (reduced - began)
    told = Provenance("search" if nodes else "reduce", size)
    reports: list[Report | None] = [None] * len(problems)
    for i in np.flatnonzero(settled).tolist():
        cost = first.distance(best[i])
        raw = f"{nodes} nodes for {held.cost.size} questions together"
        outcome = Outcome("optimal", "proved", (best[i],), cost, cost, 0.0, solve_s, raw)
        reports[i] = Report(outcome, told, reduce_s)
    return reports


@dataclass(frozen=True, eq=False)
class _Incumbents:
    """Choices for the first problems, up to the last for which one is known.

    Attributes
    ----------
    tables : of the first problem
    choices : int64 (n_axes,) each
    cost : float64 (n_choices,), never falls
    """

    tables: Tables
    choices: Sequence[IntArray]
    cost: FloatArray


def _incumbents(
    problems: Sequence[Problem], starts: Starts, over: Callable[[], bool]
) -> _Incumbents | None:
    """One for the first problem, and one for the hardest that some walk reaches, for all between.

    None if there are none, or only for the first.
    """
    first, need = problems[0], _needs(problems)
    tables = tabulate(first)
    easy = find_incumbent(first, tables, starts(0), over)
    if easy is None:
        return None
    for last in range(len(problems) - 1, 0, -1):
        hardest, own = problems[last], tables._replace(need=need[last])
        hard: IntArray | None = easy
        if not hardest.admits(easy):
            hard = find_incumbent(hardest, own, easy[None, :], over, WALK, 1)
        if hard is None:
            hard = find_incumbent(hardest, own, starts(last), over, polished=1)
        if hard is not None:
            break
    else:
        return None
    cost = np.full(last + 1, first.distance(hard))
    choices = [hard] * (last + 1)
    for i in range(last):
        if first.distance(easy) <= cost[i] and problems[i].admits(easy):
            choices[i], cost[i] = easy, first.distance(easy)
    return _Incumbents(tables, choices, cost)


def _needs(problems: Sequence[Problem]) -> IntArray:
    """What leaf rows need at least, int64 (n_problems, n_rows)."""
    return np.array([[row.minimum for row in own.leaf_rows] for own in problems], dtype=np.int64)
