"""Questions that ask for more and more of one number: posed once, put to the model together.

What is solved first is not verified yet. The answers that the trees are sure of are then put to the
model all at once, since one call takes nearly as long for one row as for many. After that each
question is certified as any other: what the model refuses is cut off, and the search goes on.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.backends.attempt import Report, RunBackend, SolveReported
from encoders.backends.interface import Request
from encoders.backends.search.many_choices import admitted
from encoders.posing.pose import Posed, pose, pose_another
from encoders.problem.problem import Problem
from encoders.query.goal import Goal
from encoders.query.query import Query
from encoders.reduce.reduction import Reduction
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.solving.join import Answer
from portfolio.solving.more import Asked, More
from portfolio.solving.progress import OnProgress, Progress
from portfolio.solving.reduced import solve_left
from portfolio.solving.strategies import STARTS, Strategy
from portfolio.solving.targets import Solver, answer, certified, most_refused, wide_of
from portfolio.solving.together import differ_in_needs, solve_together

# Training rows of which those that are answers are starts, where walks from the last answer found
# none: other rows have been started from by then. With more, asking takes longer than walking.
MANY_STARTS, ANSWERS = 200, 2


@dataclass(frozen=True, eq=False)
class Solved:
    """A question that was solved, and not yet put to the model.

    Attributes
    ----------
    query, posed : what was asked
    solve : solves it without what the model refuses
    report : what came out
    pose_s : seconds for posing
    """

    query: Query
    posed: Posed
    solve: SolveReported
    report: Report
    pose_s: float

    @property
    def row(self) -> FloatArray | None:
        """The answer, float64 (n_columns,), None without one."""
        choices = self.report.outcome.choices
        return self.posed.decode(choices[0]) if choices else None

    def again(self) -> SolveReported:
        """What solves the question, with the report for the first time that it is asked."""
        reports = [self.report]

        def solve(problem: Problem, request: Request) -> Report:
            return reports.pop() if reports else self.solve(problem, request)

        return solve


@dataclass(eq=False)
class Ahead:
    """Answers questions that ask for more and more of one number; see :attr:`Asker.answering`.

    At the first one it solves those that follow.

    Attributes
    ----------
    more : what the number is
    model : for which no limit is set yet
    limits : that will be asked for, ascending
    on_progress, began : told (seconds, upper, lower) of questions that are solved ahead, in seconds
        since then
    _solved, _left : by limit, what is known, and what is left to decide where that is no proof
    """

    more: More
    model: ExplainedModel
    limits: Sequence[float]
    on_progress: OnProgress | None
    began: float
    _solved: dict[float, Solved] = field(default_factory=dict)
    _left: dict[float, Reduction] = field(default_factory=dict)
    _asked: Asked | None = None

    def answer(
        self,
        limit: float,
        reading: ExplainedModel,
        query: Query,
        goals: list[Goal],
        way: Strategy,
        run: RunBackend,
        request: Request,
        deadline: float,
        progress: Progress,
    ) -> Answer:
        """As :func:`portfolio.solving.targets.answer`, at a limit."""
        goal = goals[0]
        query = replace(query, goal=goal)
        told = replace(request, on_bounds=partial(progress.report, goal.target))
        solver = Solver(reading, way, run, told, deadline)
        if self._asked is None and len(goals) == 1:
            self._solve(solver, query, limit)
        held = self._solved.pop(limit, None)
        if held is not None:
            assert self._asked is not None
            knowing = replace(solver, reading=self._asked.within(reading))
            most = most_refused(reading, query)
            found = certified(knowing, query, held.posed, held.again(), most, told)
            if not found.gave_up:
                upper = np.inf if found.answer is None else found.answer.distance
                progress.report(goal.target, upper, found.lower)
                return Answer(found, goal if found.answer else None, held.pose_s)
        return answer(reading, query, goals, way, run, request, deadline, progress)

    def holds(self, limit: float) -> bool:
        """Whether a question is solved, and waits to be asked."""
        return limit in self._solved

    def said(self, row: FloatArray) -> float | None:
        """How much the model has said that a row has, None if it was not asked yet."""
        return None if self._asked is None else self._asked.said.get(row.tobytes())

    def _solve(self, solver: Solver, query: Query, first: float) -> None:
        """Solve this question and those that follow, and ask the model about their answers."""
        if query.related is None and wide_of(solver, query) is None:
            limits = [limit for limit in self.limits if limit >= first]
            if solver.way.together is not None and solver.request.cutoff == np.inf:
                self._solve_together(solver, query, limits)
            self._climb(solver, query, limits)
            asked_alone = solver.request.stop.is_set() or not _over(solver)
            for limit in self._left:  # unfinished, but for no lack of time, or nothing is known
                if asked_alone or not self._solved[limit].report.outcome.choices:
                    del self._solved[limit]
        every = [(held.query, held.row) for held in self._solved.values()]
        answers = {row.tobytes(): (own, row) for own, row in every if row is not None}
        self._asked = self.more.ask(self.model, query, list(answers.values()))

    def _solve_together(self, solver: Solver, query: Query, limits: list[float]) -> None:
        """Those that one search settles; what it leaves of others is solved one by one."""
        began = time.perf_counter()
        asked = [self.more.at(self.model, query, limit) for limit in limits]
        posed = _posed_alike(asked)
        if posed is None:
            return
        pose_s = (time.perf_counter() - began) / len(asked)
        views = [reading.views[own.goal.target] for reading, own in asked]

        def starts(at: int) -> IntArray:
            near = views[at].near(asked[at][1].goal)
            if at == 0:
                return posed[at].closest(near, STARTS)
            rows = posed[at].closest(near, MANY_STARTS)
            return rows[admitted(posed[at].problem, rows)][:ANSWERS]

        over = partial(_over, solver)
        looked = solve_together([own.problem for own in posed], starts, over)
        for at, found in enumerate(looked):
            if found is not None:
                own = asked[at][1]
                solve = _later(solver.way, posed[at], views[at], own.goal)
                self._solved[limits[at]] = Solved(own, posed[at], solve, found.report, pose_s)
                if found.left.problem is not None:
                    self._left[limits[at]] = found.left

    def _climb(self, solver: Solver, query: Query, limits: list[float]) -> None:
        last: Solved | None = None
        target = query.goal.target
        for limit in limits:
            if limit in self._solved and limit not in self._left:
                last = self._solved[limit]
                if last.report.outcome.status == "infeasible":
                    return
                continue
            progress = Progress(self.began, [target], self.on_progress, solver.request.stop)
            if last is not None:
                told = partial(progress.report, target)
                solver = replace(solver, request=replace(solver.request, on_bounds=told))
            if limit in self._left:
                last = _finished(solver, self._solved[limit], self._left.pop(limit), last)
            else:
                reading, own = self.more.at(self.model, query, limit)
                last = _next(replace(solver, reading=reading), own, last)
            progress.reraise()
            if last is None:
                return
            self._solved[limit] = last
            outcome = last.report.outcome
            if outcome.stop_reason != "proved" or outcome.status == "infeasible":
                return


def _posed_alike(asked: Sequence[tuple[ExplainedModel, Query]]) -> list[Posed] | None:
    """Questions that differ in what they need alone; None if these do not, or have parts."""
    posed: list[Posed] = []
    for reading, query in asked:
        view = reading.views[query.goal.target]
        if posed:
            posed.append(pose_another(posed[0], view.ensemble, view.cells, query))
        else:
            posed.append(pose(view.ensemble, view.cells, reading.space, query))
        if posed[-1].relaxation is not None:
            return None
    alike = len(posed) > 1 and differ_in_needs([own.problem for own in posed])
    return posed if alike else None


def _later(way: Strategy, posed: Posed, view: ClassView, goal: Goal) -> SolveReported:
    """What solves a posed query, made once it is asked: most questions never do."""

    def solve(problem: Problem, request: Request) -> Report:
        return way.solve_posed(posed, view, goal)(problem, request)

    return solve


def _over(solver: Solver) -> bool:
    """Whether there is no time left."""
    return solver.request.stop.is_set() or time.perf_counter() >= solver.deadline


def _finished(solver: Solver, begun: Solved, left: Reduction, last: Solved | None) -> Solved:
    """Solve what is left of a question; it costs no less than the last one did."""
    problem, known, pick = begun.posed.problem, begun.report, solver.way.together
    assert pick is not None
    if last is not None:
        before = last.report.outcome
        if problem.admits(before.choices[0]) and before.status == "optimal":
            return replace(begun, report=last.report)
        lower = min(max(known.outcome.lower, before.lower), known.outcome.upper)
        known = replace(known, outcome=replace(known.outcome, lower=lower))
    if _over(solver):
        return replace(begun, report=known)
    seconds = solver.deadline - time.perf_counter()
    request = replace(solver.request, time_limit_s=seconds)
    return replace(begun, report=solve_left(problem, known, left, request, pick))


def _next(solver: Solver, query: Query, last: Solved | None) -> Solved | None:
    """Solve a question that asks for more than the last one did; None if it has several parts."""
    began = time.perf_counter()
    reading = solver.reading
    view = reading.views[query.goal.target]
    if last is None:
        posed = pose(view.ensemble, view.cells, reading.space, query)
    else:
        posed = pose_another(last.posed, view.ensemble, view.cells, query)
    if posed.relaxation is not None:
        return None
    solve = solver.way.solve_posed(posed, view, query.goal)
    pose_s = time.perf_counter() - began
    if last is not None and posed.problem.admits(last.report.outcome.choices[0]):
        return replace(last, query=query, posed=posed, solve=solve, pose_s=pose_s)
    left = solver.deadline - time.perf_counter()
    report = solve(posed.problem, replace(solver.request, time_limit_s=left))
    return Solved(query, posed, solve, report, pose_s)
