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
# Questions whose answers cost up to so many times the first one's are solved together. With more,
# what is dear for the first is kept for the others; with fewer, less is shared.
WIDE = 4.0
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
    tables, need = tabulate(problems[0]), _needs(problems)
    known = _incumbents(problems, tables, starts, over)
    cost = np.array([problems[0].distance(choice) for choice in known])
    reports: list[Report | None] = [None] * len(problems)
    first = 0
    while first < len(known) and not over():
        end = first + int((cost[first:] <= WIDE * cost[first]).sum())
        own = slice(first, end)
        group = _Group(problems[first], tables, need[own], known[own], cost[own], began)
        reports[own] = group.solve(over)
        first, began = end, time.perf_counter()
    return reports


@dataclass(frozen=True, eq=False)
class _Group:
    """Problems that cost much the same.

    Attributes
    ----------
    problem : the first of them
    tables : of the same, at any needs
    need : int64 (n_problems, n_rows)
    known : a choice for each, int64 (n_axes,)
    cost : what they cost, float64 (n_problems,), never falls
    began : when work on them began
    """

    problem: Problem
    tables: Tables
    need: IntArray
    known: Sequence[IntArray]
    cost: FloatArray
    began: float

    def solve(self, over: Callable[[], bool]) -> list[Report | None]:
        """As :func:`solve_together`."""
        tables = self.tables._replace(need=self.need[0])
        left = shrink_quickly(self.problem, tables, float(self.cost[-1]))
        reduced = time.perf_counter()
        if left is None:
            best, settled, told = list(self.known), np.ones(len(self.known), bool), "nothing left"
            provenance = Provenance("reduce")
        else:
            small, lift = left
            need = self.need + (_needs([small]) - self.need[0])  # some leaves are certain by now
            risen = search_rising(small, need, self.cost, over)
            best = [
                lift.up(risen.choices[i]) if np.isfinite(risen.cost[i]) else choice
                for i, choice in enumerate(self.known)
            ]
            settled, told = risen.settled, f"{risen.nodes} nodes for {len(self.known)} questions"
            provenance = Provenance("search", extent(small))
        each = 1.0 / len(self.known)
        reduce_s, solve_s = reduced - self.began, time.perf_counter() - reduced
        reports: list[Report | None] = []
        for choice, proved in zip(best, settled, strict=True):
            cost = self.problem.distance(choice)
            outcome = Outcome("optimal", "proved", (choice,), cost, cost, 0.0, each * solve_s, told)
            reports.append(Report(outcome, provenance, each * reduce_s) if proved else None)
        return reports


def _incumbents(
    problems: Sequence[Problem], tables: Tables, starts: Starts, over: Callable[[], bool]
) -> list[IntArray]:
    """A choice for each problem, up to the last for which a walk from the one before finds one.

    Those of later ones hold for earlier ones, so that costs never fall.
    """
    known: list[IntArray] = []
    for i, need in enumerate(_needs(problems)):
        problem, own = problems[i], tables._replace(need=need)
        if known and problem.admits(known[-1]):
            known.append(known[-1])
            continue
        found = None
        if known:
            found = find_incumbent(problem, own, known[-1][None, :], over, WALK, 0)
        if found is None:
            found = find_incumbent(problem, own, starts(i), over)
        if found is None:
            break
        known.append(found)
    distance = problems[0].distance
    for i in range(len(known) - 1, 0, -1):
        if distance(known[i]) <= distance(known[i - 1]):
            known[i - 1] = known[i]
    return known


def _needs(problems: Sequence[Problem]) -> IntArray:
    """What leaf rows need at least, int64 (n_problems, n_rows)."""
    return np.array([[row.minimum for row in own.leaf_rows] for own in problems], dtype=np.int64)
