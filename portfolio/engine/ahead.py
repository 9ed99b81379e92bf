"""Queries with rising limits on one number, encoded once and verified together.

Solutions of all limits are computed first, without verification. Those that the trees are sure of
are then verified by one native call, which takes nearly as long for one row as for many. After that
each query is certified as any other: rejected cells are cut off, and the search continues.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from encoders.backends.attempt import Provenance, Report, SolveReported, extent
from encoders.backends.interface import Outcome, Request, Status, StopReason
from encoders.core.arrays import BoolArray, FloatArray, IntArray
from encoders.formulation.pose import Posed, pose, pose_another
from encoders.presolve.compress import Lift, identity
from encoders.presolve.incumbent import WALKS, find_incumbent
from encoders.presolve.quickly import shrink_quickly
from encoders.presolve.reduction import Reduction
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import Problem
from encoders.query.goal import Goal
from encoders.query.query import Query
from encoders.search.many_choices import admitted
from encoders.search.rising import search_rising
from portfolio.engine.certificate import Certificate
from portfolio.engine.more import Asked, More
from portfolio.engine.progress import OnProgress, Progress
from portfolio.engine.reduced import solve_left
from portfolio.engine.split_columns import wide_columns_of
from portfolio.engine.strategies import STARTS, Strategy
from portfolio.engine.task import QueryTask, Solve
from portfolio.model.explained_model import ClassView, ExplainedModel

WALK = (1.0,)  # exponent of the gain in walks from one incumbent to the next

TRIED = 4  # maximal number of starts; more take longer than they save

Starts = Callable[[int], IntArray]

# If walks from the last answer fail, walks start from the first ANSWERS admitted choices among the
# MANY_STARTS nearest training rows. With more rows, testing them takes longer than walking.
MANY_STARTS, ANSWERS = 200, 2


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
    """State of one problem after the joint search."""

    report: Report  # report, with a choice if one is known
    left: Reduction  # remaining problem, with that choice; None as problem if the report is a proof


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
    """Problems for which a choice is known."""

    problem: Problem  # the first problem
    tables: Tables  # tables of the first problem
    need: IntArray  # int64 (n_problems, n_rows)
    known: Sequence[IntArray]  # choices, each int64 (n_axes,)
    cost: FloatArray  # float64 (n_problems,), costs of the choices, which never fall
    began: float  # clock time when work on them began

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


@dataclass(frozen=True, eq=False)
class Solved:
    """Solved query that is not yet verified."""

    query: Query
    posed: Posed  # the encoded query
    solve: SolveReported  # solver of the query without the cells that the model rejects
    report: Report  # unverified result
    pose_s: float  # seconds for encoding

    @property
    def row(self) -> FloatArray | None:
        """Row of the solution, float64 (n_columns,), None without one."""
        choices = self.report.outcome.choices
        return self.posed.decode(choices[0]) if choices else None

    def again(self) -> SolveReported:
        """Return a solver whose first call returns the known report."""
        reports = [self.report]

        def solve(problem: Problem, request: Request) -> Report:
            return reports.pop() if reports else self.solve(problem, request)

        return solve


@dataclass(eq=False)
class Ahead:
    """Solver of queries with rising limits on one number; see :attr:`Asker.first`.

    The first call also solves the queries of all later limits.

    Attributes
    ----------
    more : number that the limits are on.
    model : model before any limit is set.
    limits : limits in ascending order.
    on_progress : callback for (seconds, upper, lower) of queries that are solved early, or None.
    began : clock time from which its seconds count.
    _solved : unverified results by limit.
    _remaining : remaining problems by limit, for results that are not proved.
    _predicted : native predictions of all solutions; None before the first call.
    """

    more: More
    model: ExplainedModel
    limits: Sequence[float]
    on_progress: OnProgress | None
    began: float
    _solved: dict[float, Solved] = field(default_factory=dict)
    _remaining: dict[float, Reduction] = field(default_factory=dict)
    _predicted: Asked | None = None

    def answer(self, limit: float, task: QueryTask, rest: Solve) -> Certificate:
        """Return the answer at a limit; a stage that comes before the usual ones."""
        if self._predicted is None and len(task.goals) == 1:
            goal = task.goals[0]
            request = replace(task.request, on_bounds=partial(task.progress.report, goal.target))
            self._solve(replace(task, query=replace(task.query, goal=goal), request=request), limit)
        solved = self._solved.pop(limit, None)
        if solved is None:
            return rest(task)
        assert self._predicted is not None
        model = self._predicted.within(task.model)
        encoded = replace(task, model=model, posed=solved.posed, solve=solved.again())
        return rest(encoded).encoded(solved.pose_s)

    def holds(self, limit: float) -> bool:
        """Return whether the query of a limit is solved and waits for its call."""
        return limit in self._solved

    def number(self, row: FloatArray) -> float | None:
        """Return the model's number of a row, or None if it was not predicted yet."""
        return None if self._predicted is None else self._predicted.numbers.get(row.tobytes())

    def _solve(self, task: QueryTask, first: float) -> None:
        """Solve the queries from a limit on, and predict their solutions natively in one call."""
        query = task.query
        if query.related is None and wide_columns_of(task) is None:
            limits = [limit for limit in self.limits if limit >= first]
            if task.strategy.together is not None and task.request.cutoff == np.inf:
                self._solve_together(task, limits)
            self._climb(task, limits)
            asked_alone = task.request.stop.is_set() or not task.over()
            # Solve again what ended for another reason than time, or without a choice.
            for limit in self._remaining:
                if asked_alone or not self._solved[limit].report.outcome.choices:
                    del self._solved[limit]
        every = [(solved.query, solved.row) for solved in self._solved.values()]
        answers = {row.tobytes(): (limited, row) for limited, row in every if row is not None}
        self._predicted = self.more.ask(self.model, query, list(answers.values()))

    def _solve_together(self, task: QueryTask, limits: list[float]) -> None:
        """Solve queries by one search; keep what it leaves open of others for separate solving."""
        began = time.perf_counter()
        queries = [self.more.at(self.model, task.query, limit) for limit in limits]
        posed = _posed_alike(queries)
        if posed is None:
            return
        pose_s = (time.perf_counter() - began) / len(queries)
        views = [model.views[each.goal.target] for model, each in queries]

        def starts(at: int) -> IntArray:
            near = views[at].near(queries[at][1].goal)
            if at == 0:
                return posed[at].closest(near, STARTS)
            rows = posed[at].closest(near, MANY_STARTS)
            return rows[admitted(posed[at].problem, rows)][:ANSWERS]

        looked = solve_together([each.problem for each in posed], starts, task.over)
        for at, looked_at in enumerate(looked):
            if looked_at is not None:
                limited = queries[at][1]
                solve = _later(task.strategy, posed[at], views[at], limited.goal)
                self._solved[limits[at]] = Solved(
                    limited, posed[at], solve, looked_at.report, pose_s
                )
                if looked_at.left.problem is not None:
                    self._remaining[limits[at]] = looked_at.left

    def _climb(self, task: QueryTask, limits: list[float]) -> None:
        last: Solved | None = None
        target = task.query.goal.target
        for limit in limits:
            if limit in self._solved and limit not in self._remaining:
                last = self._solved[limit]
                if last.report.outcome.status == "infeasible":
                    return
                continue
            progress = Progress(self.began, [target], self.on_progress, task.request.stop)
            if last is not None:
                report = partial(progress.report, target)
                task = replace(task, request=replace(task.request, on_bounds=report))
            if limit in self._remaining:
                last = _finished(task, self._solved[limit], self._remaining.pop(limit), last)
            else:
                model, query = self.more.at(self.model, task.query, limit)
                last = _next(replace(task, model=model, query=query), last)
            progress.reraise()
            if last is None:
                return
            self._solved[limit] = last
            outcome = last.report.outcome
            if outcome.stop_reason != "proved" or outcome.status == "infeasible":
                return


def _posed_alike(queries: Sequence[tuple[ExplainedModel, Query]]) -> list[Posed] | None:
    """Return encoded queries that differ only in the needs of rows; None if others differ."""
    posed: list[Posed] = []
    for model, query in queries:
        view = model.views[query.goal.target]
        if posed:
            posed.append(pose_another(posed[0], view.ensemble, view.cells, query))
        else:
            posed.append(pose(view.ensemble, view.cells, model.space, query))
        if posed[-1].relaxation is not None:
            return None
    alike = len(posed) > 1 and differ_in_needs([each.problem for each in posed])
    return posed if alike else None


def _later(strategy: Strategy, posed: Posed, view: ClassView, goal: Goal) -> SolveReported:
    """Return a solver of an encoded query, set up at its first call, which mostly never comes."""

    def solve(problem: Problem, request: Request) -> Report:
        return strategy.solve_posed(posed, view, goal)(problem, request)

    return solve


def _finished(task: QueryTask, begun: Solved, remaining: Reduction, last: Solved | None) -> Solved:
    """Solve the remaining problem of a query, which costs no less than the previous one."""
    problem, report, pick = begun.posed.problem, begun.report, task.strategy.together
    assert pick is not None
    if last is not None:
        before = last.report.outcome
        if problem.admits(before.choices[0]) and before.status == "optimal":
            return replace(begun, report=last.report)
        lower = min(max(report.outcome.lower, before.lower), report.outcome.upper)
        report = replace(report, outcome=replace(report.outcome, lower=lower))
    if task.over():
        return replace(begun, report=report)
    seconds = task.deadline - time.perf_counter()
    request = replace(task.request, time_limit_s=seconds)
    return replace(begun, report=solve_left(problem, report, remaining, request, pick))


def _next(task: QueryTask, last: Solved | None) -> Solved | None:
    """Solve a query with a higher limit than the last one; return None if it has several parts."""
    began = time.perf_counter()
    query, view = task.query, task.view
    if last is None:
        posed = pose(view.ensemble, view.cells, task.model.space, query)
    else:
        posed = pose_another(last.posed, view.ensemble, view.cells, query)
    if posed.relaxation is not None:
        return None
    solve = task.strategy.solve_posed(posed, view, query.goal)
    pose_s = time.perf_counter() - began
    if last is not None and posed.problem.admits(last.report.outcome.choices[0]):
        return replace(last, query=query, posed=posed, solve=solve, pose_s=pose_s)
    remaining_s = task.deadline - time.perf_counter()
    report = solve(posed.problem, replace(task.request, time_limit_s=remaining_s))
    return Solved(query, posed, solve, report, pose_s)
