"""Answering of single queries: check, encode, solve, report and log."""

import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

from encoders.backends.attempt import RunBackend
from encoders.backends.interface import Request, StopReason
from encoders.core.cores import usable_cores
from encoders.core.errors import InputError, OutOfTimeError
from encoders.query.goal import ClassGoal, Goal, ValueGoal, Wanted
from encoders.query.query import Query
from portfolio.engine.certificate import Certificate
from portfolio.engine.logbook import Log, LogContext, LogWarning, book_of, log_result
from portfolio.engine.near_first import cut_off
from portfolio.engine.progress import OnProgress, Progress
from portfolio.engine.question import LONGEST_S, MAP, Options, Question
from portfolio.engine.rounder import Rounder
from portfolio.engine.stages import STAGES, solve
from portfolio.engine.strategies import Auto, Kept, Strategy, strategy_of
from portfolio.engine.task import QueryTask, Stage
from portfolio.engine.verify import Verified
from portfolio.engine.warm_up import FEW_LEAVES, begin_to_warm_up, warm_up
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.goals import own_number, value_goal, wanted_of
from portfolio.model.native import Scoring, predict_one
from portfolio.model.row import Row
from portfolio.model.several_outputs import AnyQuestion, chosen
from portfolio.model.tabular import read_row
from portfolio.results.result import Result
from portfolio.results.timings import Timings
from portfolio.workers.interrupt import run_heard
from portfolio.workers.solver_workers import Workers
from selector import Selector

# Called with the asker, an answer, its goal, its target in the user's words, and changed features.
Regional = Callable[["Asker", Row, Goal, Any, tuple[str, ...]], Callable[..., Any]]
# Called with the model, the question, its query and goals, and the arguments of Result.record.
Recording = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Asker:
    """Conductor of queries about one model, shared by explain, sessions and batches.

    Thread safe. Picklable, if the model is; a copy starts its own workers.

    Attributes
    ----------
    model : the parsed model.
    workers : pool that runs backends.
    selector : selector of backends for "auto".
    regional : factory of the function that finds the region around an answer, or None.
    recording : function that makes the record of a result, or None.
    stop : event that ends every query once it is set; None: each has its own, which Ctrl-C sets.
    first : stages before the usual ones.
    """

    model: ExplainedModel
    workers: Workers
    selector: Selector
    regional: Regional | None = None
    recording: Recording | None = None
    stop: threading.Event | None = None
    first: tuple[Stage, ...] = ()

    @property
    def stopped(self) -> bool:
        """True if queries are to end."""
        return self.stop is not None and self.stop.is_set()

    @property
    def why(self) -> StopReason:
        """Reason why a query of many steps ends before the last one."""
        return "interrupted" if self.stopped else "time_limit"

    def about(self, question: AnyQuestion) -> tuple["Asker", AnyQuestion]:
        """Return the conductor and the question for the outputs that a target names."""
        model, same = chosen(self.model, question)
        return (self if model is self.model else replace(self, model=model)), same

    def read(self, x: Any) -> Row:
        """Return a row of the user's in the model's order."""
        row = self._read(x)
        self.model.check_decisions(row.values[None, :])
        return row

    def _read(self, x: Any) -> Row:
        """Return a row without comparing its prediction, which the following query does."""
        self.model.check_unchanged()
        if isinstance(x, Row):
            return x
        return read_row(x, self.model.space, self.model.input_type, self.model.native.table)

    def strategy(
        self, question: Question, options: Options, run: RunBackend | None = None
    ) -> Strategy:
        """Return the strategy that the options name, with a runner of backends or the workers."""
        return strategy_of(options.strategy, run or self.workers.run, self.auto(question, options))

    def auto(self, question: Question, options: Options, keep: bool = False) -> Auto:
        """Return the strategy of "auto", if wanted only with backends that keep their models."""
        chooser = self.selector.within(options.portfolio)
        return Auto(chooser, self.model, question.measure, options.metric, keep)

    def ask(
        self,
        question: Question,
        options: Options,
        x: Any,
        strategy: Strategy,
        on_progress: OnProgress | None = None,
        log: Log | None = None,
    ) -> Result:
        """Return the cheapest change of a row that answers the question, proved if time allows."""
        # Times in logs are those of compiled code.
        small = log is None and self.model.views[0].cells.node.size <= FEW_LEAVES
        interpreted = begin_to_warm_up(small)
        began = time.perf_counter()
        row = self._read(x)
        result = self._answer(question, options, row, strategy, on_progress, began)
        if interpreted and result.stop_reason == "time_limit":
            warm_up()
            began = time.perf_counter()
            result = self._answer(question, options, row, strategy, on_progress, began)
        if log is not None:
            by_map = result.backend == MAP
            raced = result.certified_by and strategy.mode != Kept.mode
            mode = "race" if raced else MAP if by_map else strategy.mode
            self.log(log, question, options, row, mode, result)
        return result

    def request(self, options: Options) -> Request:
        """Return the request for one question's searches, which run one after another."""
        limit_s = float(min(options.time_limit_s, LONGEST_S))
        stop = self.stop or threading.Event()
        return Request(limit_s, int(options.threads or 1), int(options.seed), stop=stop)

    def check_classes(self) -> None:
        """Raise InputError if the model has a single class."""
        classes = self.model.native.classes
        if len(classes) < 2 and not self.model.ensemble.regression:
            raise InputError(
                f"the model has a single class, {classes[0]!r}, so no counterfactual exists. "
                "Explain a model with at least two classes."
            )

    def _answer(
        self,
        question: Question,
        options: Options,
        row: Row,
        strategy: Strategy,
        on_progress: OnProgress | None,
        began: float,
    ) -> Result:
        model = self.model
        self.check_classes()
        number = wanted_of(model, question.target)
        goals: list[Goal]
        unchanged_goals: list[Goal]
        if number is None:
            current = predict_one(model.ensemble, model.native, row.values)
            goals = self._goals(question.target, current)
            unchanged_goals, target = [ClassGoal(current)], question.target
        else:
            goals = unchanged_goals = [value_goal(model, number, row.values)]
            target = number
        stop = self.stop or threading.Event()
        time_limit_s = float(min(options.time_limit_s, LONGEST_S))
        deadline = began + time_limit_s
        progress = Progress(began, [goal.target for goal in goals], on_progress, stop)
        request = Request(
            time_limit_s=time_limit_s,
            threads=int(options.threads or usable_cores()),
            seed=int(options.seed),
            cutoff=options.cutoff,
            stop=stop,
        )

        def over() -> bool:
            return stop.is_set() or time.perf_counter() >= deadline

        try:
            query = question.query(model, row, goals[0], over)
        except OutOfTimeError:
            query = replace(question, constraints=()).query(model, row, goals[0])
            nothing = cut_off(request, query.margin).encoded(time.perf_counter() - began)
            return self._result(nothing, query, row, target, progress, began)
        recorder = None
        if self.recording is not None:
            recorder = partial(self.recording, model, question, query, tuple(goals))
        if goals == unchanged_goals and self._may_stay(query):
            unchanged = self._unchanged(row, target, goals[0], query.margin, began)
            return replace(unchanged, recorder=recorder)
        run = self.workers.run
        task = QueryTask(model, strategy, run, request, deadline, query, tuple(goals), progress)
        solution = run_heard(partial(solve, task, (*self.first, *STAGES)), stop)
        progress.reraise()
        solution = solution.restrict(options.cutoff)
        if solution.answer is None:  # no verification has compared the query yet
            model.oracle(goals[0].target).check_unchanged(row.values[None, :], goals[0])
        result = self._result(solution, query, row, target, progress, began)
        return replace(result, recorder=recorder)

    def _goals(self, target: Any, current: int) -> list[Goal]:
        """Return the target classes; the current one only if it is named."""
        native = self.model.native
        if target is None:
            return [ClassGoal(index) for index in range(len(native.classes)) if index != current]
        return [ClassGoal(native.class_index(target))]

    def _label(self, target: Any, goal: Goal) -> Any:
        """Return the reached target in the user's words: a label of the model's, or a record."""
        return target if isinstance(goal, ValueGoal) else self.model.native.classes[goal.target]

    def _named(self, target: Any) -> Any:
        """Return a reached target with those of other outputs, by name, if there are some."""
        return target if self.model.aim is None else dict(self.model.aim)

    def _scoring(self, target: Any, row: Row, verified: Verified | None) -> Scoring | None:
        number = own_number(self.model, target)
        if number is None:
            return None
        scale, output = number
        return Scoring(
            self.model.native,
            scale,
            output,
            before=row.values,
            after=None if verified is None else verified.row,
            probabilities=None if verified is None else verified.probabilities,
            name=None if self.model.aim is None else next(iter(self.model.aim)),
        )

    def _may_stay(self, query: Query) -> bool:
        """Return whether the unchanged row is an answer, verified by the model itself."""
        if not all(admissible.stay for admissible in query.admissible):
            return False
        before = self.model.space.values(query.row)
        if query.related is not None and not query.related.holds(before):
            return False
        oracle = self.model.oracle(query.goal.target)
        if oracle.surely_misses(query.row, query.goal):
            return False
        return oracle.accepts_with(query.row, query.goal, query.margin)

    def _unchanged(
        self, row: Row, target_asked: Any, goal: Goal, margin: float, began: float
    ) -> Result:
        target = self._label(target_asked, goal)
        total = time.perf_counter() - began
        return Result(
            status="optimal",
            stop_reason="proved",
            distance=0.0,
            lower_bound=0.0,
            backend="none",
            target=self._named(target),
            verified=True,
            timings=Timings(read=self.model.seconds, total=total),
            trace=((total, 0.0, 0.0),),
            margin=margin,
            row=row,
            scoring=self._scoring(target, row, Verified(row.values, 0.0, (), goal)),
            regional=None if self.regional is None else self.regional(self, row, goal, target, ()),
        )

    def _result(
        self,
        certificate: Certificate,
        query: Query,
        row: Row,
        users_target: Any,
        progress: Progress,
        began: float,
    ) -> Result:
        verified = certificate.answer
        target = users_target if verified is None else self._label(users_target, verified.goal)
        return Result(
            status=certificate.status,
            stop_reason=certificate.stop_reason,
            distance=inf if verified is None else verified.distance,
            lower_bound=certificate.lower,
            backend=certificate.provenance.solver,
            target=self._named(target),
            verified=verified is not None,
            timings=Timings(
                read=self.model.seconds,
                pose=certificate.times.encode_s,
                reduce=certificate.times.reduce_s,
                build=certificate.times.build_s,
                solve=certificate.times.solve_s,
                verify=certificate.times.verify_s,
                total=time.perf_counter() - began,
            ),
            trace=tuple(progress.trace),
            message=certificate.message,
            remaining=certificate.provenance.remaining,
            attempts=certificate.provenance.attempts,
            certified_by=certificate.provenance.certified_by,
            decision=certificate.provenance.decision,
            margin=certificate.margin,
            changed=() if verified is None else verified.changed,
            row=None if verified is None else row.holding(verified.row),
            scoring=self._scoring(target, row, verified),
            rounder=self._rounder(verified, query, row),
            regional=self._region_of(verified, row, target),
        )

    def _region_of(
        self, verified: Verified | None, row: Row, target: Any
    ) -> Callable[..., Any] | None:
        if verified is None or self.regional is None:
            return None
        changed = tuple(change.feature for change in verified.changed)
        return self.regional(self, row.holding(verified.row), verified.goal, target, changed)

    def _rounder(self, verified: Verified | None, query: Query, row: Row) -> Rounder | None:
        if verified is None:
            return None
        goal = verified.goal
        oracle = self.model.oracle(goal.target)
        return Rounder(replace(query, goal=goal), self.model.space, oracle, verified, row)

    def log(
        self,
        log: Log,
        question: Question,
        options: Options,
        row: Row,
        mode: str,
        result: Result,
    ) -> None:
        """Append a result to the log; warn if the log cannot be written."""
        context = LogContext(
            model=self.model,
            row=row.values,
            question=question,
            target=str(result.target),
            numbers=isinstance(result.target, Wanted),
            seed=options.seed,
            mode=mode,
            memory_limit=self.workers.memory_bytes,
        )
        try:
            log_result(book_of(log, result), context, result)
        except InputError as error:
            warnings.warn(str(error), LogWarning, stacklevel=4)
