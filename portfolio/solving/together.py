"""Queries with rising limits, solved by one reduction and one search."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray
from encoders.backends.attempt import Provenance, Report, extent
from encoders.backends.interface import Outcome, Status, StopReason
from encoders.backends.search.rising import search_rising
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import Problem
from encoders.reduce.compress import Lift, identity
from encoders.reduce.incumbent import WALKS, find_incumbent
from encoders.reduce.quickly import shrink_quickly
from encoders.reduce.reduction import Reduction

WALK = (1.0,)  # exponent of the gain in walks from one incumbent to the next
TRIED = 4  # maximal number of starts; more take longer than they save
Starts = Callable[[int], IntArray]


def differ_in_needs(problems: Sequence[Problem]) -> bool:
    """Return whether problems differ only in the needs of leaf rows, which never fall."""
    first = problems[0].leaf_rows
    for problem in problems[1:]:
        rows = problem.leaf_rows
        if len(rows) != len(first) or problem.exact != problems[0].exact:
            return False
        if not all(np.array_equal(a.weight, b.weight) for a, b in zip(rows, first, strict=True)):
            return False
    need = _needs(problems)
    return bool((np.diff(need, axis=0) >= 0).all())


@dataclass(frozen=True, eq=False)
class Looked:
    """State of one problem after the joint search.

    Attributes
    ----------
    report : report, with a choice if one is known.
    left : remaining problem, with that choice; None as problem if the report is a proof.
    """

    report: Report
    left: Reduction


def solve_together(
    problems: Sequence[Problem], starts: Starts, over: Callable[[], bool]
) -> list[Looked | None]:
    """Solve problems by one reduction and one search; None where it finds nothing.

    The first problem for which no walk finds a choice is searched separately.
    """
    began = time.perf_counter()
    tables, need = tabulate(problems[0]), _needs(problems)
    choices = _incumbents(problems, tables, starts, over)
    cost = np.array([problems[0].distance(choice) for choice in choices])
    looked: list[Looked | None] = [None] * len(problems)
    if len(choices) < len(problems) and not over():
        looked[len(choices)] = _out_of_reach(problems[len(choices)], tables, over)
    if choices and not over():
        solvable = _Known(problems[0], tables, need[: len(choices)], choices, cost, began)
        looked[: len(choices)] = solvable.solve(over)
        return looked
    for i, choice in enumerate(choices):  # the time limit was reached before these
        remaining = Reduction(problems[i], identity(problems[i]), choice, float(cost[i]))
        report = Report(_Told(remaining, 0.0, "not searched").outcome(0.0), Provenance("reduce"))
        looked[i] = Looked(report, remaining)
    return looked


def _out_of_reach(problem: Problem, tables: Tables, over: Callable[[], bool]) -> Looked:
    """Solve a problem for which no walk finds a choice; mostly this proves infeasibility.

    A search below a limit above all costs ends sooner than one that begins with a reduction.
    Without an incumbent a reduction can exclude little.
    """
    began = time.perf_counter()
    risen = search_rising(problem, tables, _needs([problem]), np.array([_above_all(problem)]), over)
    choice = risen.choices[0] if np.isfinite(risen.cost[0]) else None
    cost = np.inf if choice is None else problem.distance(choice)
    settled = bool(risen.settled[0])
    remaining = Reduction(None if settled else problem, identity(problem), choice, cost)
    result = _Told(remaining, cost if settled else min(cost, risen.lower), f"{risen.nodes} nodes")
    outcome = result.outcome(time.perf_counter() - began)
    return Looked(Report(outcome, Provenance("search", extent(problem))), remaining)


def _above_all(problem: Problem) -> float:
    """Return a cost above that of any choice."""
    dearest = np.maximum.reduceat(np.abs(problem.cost), problem.level_start[:-1])
    return 1.0 + 2.0 * float(dearest.sum())


@dataclass(frozen=True, eq=False)
class _Known:
    """Problems for which a choice is known.

    Attributes
    ----------
    problem : the first problem.
    tables : tables of the first problem.
    need : int64 (n_problems, n_rows).
    known : choices, each int64 (n_axes,).
    cost : float64 (n_problems,), costs of the choices, which never fall.
    began : clock time when work on them began.
    """

    problem: Problem
    tables: Tables
    need: IntArray
    known: Sequence[IntArray]
    cost: FloatArray
    began: float

    def solve(self, over: Callable[[], bool]) -> list[Looked]:
        """Solve them as :func:`solve_together`."""
        shrunk = shrink_quickly(self.problem, self.tables, float(self.cost[-1]))
        reduced = time.perf_counter()
        if shrunk is None:
            reductions = [Reduction(None, identity(self.problem), *pair) for pair in self._known]
            results = [
                _Told(remaining, remaining.upper, "nothing left") for remaining in reductions
            ]
            provenance = Provenance("reduce")
        else:
            results = self._searched(*shrunk, over)
            provenance = Provenance("search", extent(shrunk[0]))
        share = 1.0 / len(self.known)
        solve_s = share * (time.perf_counter() - reduced)
        reduce_s = share * (reduced - self.began)
        return [
            Looked(Report(each.outcome(solve_s), provenance, reduce_s), each.left)
            for each in results
        ]

    @property
    def _known(self) -> Iterator[tuple[IntArray, float]]:
        return zip(self.known, self.cost.tolist(), strict=True)

    def _searched(self, small: Problem, lift: Lift, over: Callable[[], bool]) -> "list[_Told]":
        """Return the results of one search; known choices are improved if it takes long."""
        need, choices = self._need_of(small), list(self.known)
        distance = self.problem.distance

        def lowered(settled: BoolArray) -> FloatArray:
            for i in np.flatnonzero(~settled):
                problem = _needing(self.problem, self.need[i])
                tables = self.tables._replace(need=self.need[i])
                better = find_incumbent(problem, tables, choices[i][None, :], over, (), 1)
                if better is not None and distance(better) < distance(choices[i]):
                    choices[i] = better
            _pass_down(choices, distance)
            return np.array([distance(choice) for choice in choices])

        tables = self.tables if small is self.problem else tabulate(small)
        risen = search_rising(small, tables, need, self.cost, over, lowered)
        words = f"{risen.nodes} nodes for {len(choices)} questions"
        results: list[_Told] = []
        for i, choice in enumerate(choices):
            if np.isfinite(risen.cost[i]):
                choice = min(choice, lift.up(risen.choices[i]), key=distance)
            cost, settled = distance(choice), bool(risen.settled[i])
            remaining = Reduction(None if settled else _needing(small, need[i]), lift, choice, cost)
            results.append(_Told(remaining, cost if settled else min(cost, risen.lower), words))
        return results

    def _need_of(self, small: Problem) -> IntArray:
        """Return what rows need from leaves that reduction did not decide."""
        need: IntArray = self.need + (_needs([small]) - self.need[0])
        return need


@dataclass(frozen=True, eq=False)
class _Told:
    """Result for one problem: the remaining problem, a lower bound, and words for logs."""

    left: Reduction
    lower: float
    words: str

    def outcome(self, seconds: float) -> Outcome:
        """Return the result as an outcome of a solver, with its share of the time."""
        remaining, choice = self.left, self.left.incumbent
        proved = remaining.problem is None
        status: Status = "optimal" if proved else "feasible"
        if choice is None:
            status = "infeasible" if proved else "unknown"
        reason: StopReason = "proved" if proved else "time_limit"
        choices = () if choice is None else (choice,)
        return Outcome(
            status, reason, choices, remaining.upper, self.lower, 0.0, seconds, self.words
        )


def _needing(problem: Problem, need: IntArray) -> Problem:
    """Return the same problem with other needs of rows."""
    rows = zip(problem.leaf_rows, need.tolist(), strict=True)
    return replace(problem, leaf_rows=tuple(replace(row, minimum=minimum) for row, minimum in rows))


def _incumbents(
    problems: Sequence[Problem], tables: Tables, starts: Starts, over: Callable[[], bool]
) -> list[IntArray]:
    """Return a choice for each problem, up to the first for which walks find none.

    Choices of later problems are valid for earlier ones, so that costs never fall.
    """
    choices: list[IntArray] = []
    for i, need in enumerate(_needs(problems)):
        problem, own_tables = problems[i], tables._replace(need=need)
        if choices and problem.admits(choices[-1]):
            choices.append(choices[-1])
            continue
        choice = None
        if choices:
            choice = find_incumbent(problem, own_tables, choices[-1][None, :], over, WALK, 0)
        if choice is None:
            # A problem without a walk from an answer is mostly infeasible, and is the last one.
            powers = () if choices else WALKS
            choice = find_incumbent(problem, own_tables, starts(i)[:TRIED], over, powers, 1)
        if choice is None:
            break
        choices.append(choice)
    _pass_down(choices, problems[0].distance)
    return choices


def _pass_down(choices: list[IntArray], distance: Callable[[IntArray], float]) -> None:
    """Replace choices by cheaper ones of later problems, so that costs never fall."""
    for i in range(len(choices) - 1, 0, -1):
        if distance(choices[i]) <= distance(choices[i - 1]):
            choices[i - 1] = choices[i]


def _needs(problems: Sequence[Problem]) -> IntArray:
    """Return the least sums that leaf rows need, int64 (n_problems, n_rows)."""
    return np.array(
        [[row.minimum for row in problem.leaf_rows] for problem in problems], dtype=np.int64
    )
