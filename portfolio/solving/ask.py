"""One question to one row: checked, posed, solved, told and logged."""

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
from encoders.cores import usable_cores
from encoders.errors import InputError, OutOfTimeError
from encoders.query.goal import ClassGoal, Goal, ValueGoal, Wanted
from encoders.query.query import Query
from portfolio.goals import own_number, value_goal, wanted_of
from portfolio.logbook import Log, LogContext, LogWarning, book_of, log_result
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.native import predict_one
from portfolio.model.row import Row
from portfolio.model.scoring import Scoring
from portfolio.model.tabular import read_row
from portfolio.question import LONGEST_S, MAP, Options, Question, check_from_0
from portfolio.result import Result
from portfolio.running.interrupt import run_heard, run_interruptible
from portfolio.running.solver_workers import Workers
from portfolio.solving.join import Answer, below
from portfolio.solving.near_first import cut_off
from portfolio.solving.progress import OnProgress, Progress
from portfolio.solving.rounder import Rounder
from portfolio.solving.strategies import Auto, Strategy, strategy_of
from portfolio.solving.targets import answer
from portfolio.solving.verify import Verified
from portfolio.solving.warm_up import warm_up
from portfolio.timings import Timings
from selector import Selector

# As :func:`portfolio.solving.targets.answer` takes it.
Answering = Callable[
    [ExplainedModel, Query, list[Goal], Strategy, RunBackend, Request, float, Progress], Answer
]
# Given the asker, an answer, its goal in both words, and the features that changed.
Regional = Callable[["Asker", Row, Goal, Any, tuple[str, ...]], Callable[..., Any]]


@dataclass(frozen=True, eq=False)
class Asker:
    """Answers questions about one model: what explain, sessions and batches share.

    Thread safe. Picklable, if the model is; a copy starts workers of its own.

    Attributes
    ----------
    model : all that is read of it
    workers : run backends
    selector : what picks backends for "auto"
    regional : makes what draws the region around an answer; None for none
    stop : ends every question once it is set; None: each has a stop of its own, as Ctrl-C ends it
    answering : solves a question once it is resolved
    """

    model: ExplainedModel
    workers: Workers
    selector: Selector
    regional: Regional | None = None
    stop: threading.Event | None = None
    answering: Answering = answer

    @property
    def stopped(self) -> bool:
        """Whether questions are to end."""
        return self.stop is not None and self.stop.is_set()

    @property
    def why(self) -> StopReason:
        """Why a question of many steps ends before the last one."""
        return "interrupted" if self.stopped else "time_limit"

    def read(self, x: Any) -> Row:
        """Return a row of the user's in the model's order."""
        row = self._read(x)
        self.model.check_decisions(row.values[None, :])
        return row

    def _read(self, x: Any) -> Row:
        """Return a row whose native prediction the following query compares."""
        self.model.check_unchanged()
        if isinstance(x, Row):
            return x
        return read_row(x, self.model.space, self.model.input_type, self.model.native.table)

    def strategy(
        self, question: Question, options: Options, run: RunBackend | None = None
    ) -> Strategy:
        """What the options name; ``run`` is what runs backends, by default the workers."""
        return strategy_of(options.strategy, run or self.workers.run, self.auto(question, options))

    def auto(self, question: Question, options: Options, keep: bool = False) -> Auto:
        """What "auto" does; ``keep`` asks for backends that keep their models."""
        return Auto(self.selector, self.model, question.measure, options.metric, keep)

    def ask(
        self,
        question: Question,
        options: Options,
        x: Any,
        strategy: Strategy,
        on_progress: OnProgress | None = None,
        log: Log | None = None,
    ) -> Result:
        """The cheapest change of one row that answers the question, proved where time allows."""
        warm_up()
        began = time.perf_counter()
        row = self._read(x)
        result = self._answer(question, options, row, strategy, on_progress, began)
        if log is not None:
            by_map = result.backend == MAP
            mode = "race" if result.certified_by else MAP if by_map else strategy.mode
            self.log(log, question, options, row, mode, result)
        return result

    def request(self, options: Options) -> Request:
        """What searches of a question's own are asked by, one after another."""
        limit_s = float(min(options.time_limit_s, LONGEST_S))
        stop = self.stop or threading.Event()
        return Request(limit_s, int(options.threads or 1), int(options.seed), stop=stop)

    def check_classes(self) -> None:
        """Raise :class:`InputError` if the model has nothing to change to."""
        classes = self.model.native.classes
        if len(classes) < 2 and not self.model.ensemble.regression:
            raise InputError(
                f"the model knows only one class, {classes[0]!r}; there is nothing to change to."
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
        wanted = wanted_of(model, question.target)
        goals: list[Goal]
        own: list[Goal]
        if wanted is None:
            current = predict_one(model.ensemble, model.native, row.values)
            goals = self._goals(question.target, current)
            own, asked = [ClassGoal(current)], question.target
        else:
            goals = own = [value_goal(model, wanted, row.values)]
            asked = wanted
        stop = self.stop or threading.Event()
        time_limit_s = float(min(options.time_limit_s, LONGEST_S))
        deadline, run = began + time_limit_s, self.workers.run
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
            nothing = Answer(cut_off(request, query.margin), None, time.perf_counter() - began)
            return self._result(nothing, query, row, asked, progress, began)
        recorder = partial(_record, model, question, query, tuple(goals))
        if goals == own and self._may_stay(query):
            unchanged = self._unchanged(row, asked, goals[0], query.margin, began)
            return replace(unchanged, recorder=recorder)
        asked_of = (model, query, goals, strategy, run, request, deadline, progress)
        found = run_heard(partial(self.answering, *asked_of), stop)
        progress.reraise()
        found = below(found, options.cutoff)
        if found.certificate.answer is None:  # no answer whose verification would have compared
            model.oracle(goals[0].target).check_unchanged(row.values[None, :], goals[0])
        result = self._result(found, query, row, asked, progress, began)
        return replace(result, recorder=recorder)

    def _goals(self, target: Any, current: int) -> list[Goal]:
        """Classes that answer; the current one only where it is asked for."""
        native = self.model.native
        if target is None:
            return [ClassGoal(index) for index in range(len(native.classes)) if index != current]
        return [ClassGoal(native.class_index(target))]

    def _label(self, asked: Any, goal: Goal) -> Any:
        """What was reached, in the user's words: a label of the model's, or a record."""
        return asked if isinstance(goal, ValueGoal) else self.model.native.classes[goal.target]

    def _scoring(self, target: Any, row: Row, found: Verified | None) -> Scoring | None:
        number = own_number(self.model, target)
        if number is None:
            return None
        known = (None, None) if found is None else (found.row, found.told)
        return Scoring(self.model.native, *number, row.values, *known)

    def _may_stay(self, query: Query) -> bool:
        """Whether the row is an answer as it is; asks the model itself."""
        if not all(admissible.stay for admissible in query.admissible):
            return False
        before = self.model.space.values(query.row)
        if query.related is not None and not query.related.holds(before):
            return False
        oracle = self.model.oracle(query.goal.target)
        if oracle.surely_misses(query.row, query.goal):
            return False
        return oracle.accepts_with(query.row, query.goal, query.margin)

    def _unchanged(self, row: Row, asked: Any, goal: Goal, margin: float, began: float) -> Result:
        target = self._label(asked, goal)
        total = time.perf_counter() - began
        return Result(
            status="optimal",
            stop_reason="proved",
            distance=0.0,
            lower_bound=0.0,
            backend="none",
            target=target,
            verified=True,
            timings=Timings(read=self.model.seconds, total=total),
            trace=((total, 0.0, 0.0),),
            margin=margin,
            row=row,
            scoring=self._scoring(target, row, Verified(row.values, 0.0, ())),
            regional=None if self.regional is None else self.regional(self, row, goal, target, ()),
        )

    def _result(
        self,
        found: Answer,
        query: Query,
        row: Row,
        asked: Any,
        progress: Progress,
        began: float,
    ) -> Result:
        certificate = found.certificate
        verified = certificate.answer
        target = asked if found.goal is None else self._label(asked, found.goal)
        return Result(
            status=certificate.status,
            stop_reason=certificate.stop_reason,
            distance=inf if verified is None else verified.distance,
            lower_bound=certificate.lower,
            backend=certificate.provenance.backend,
            target=target,
            verified=verified is not None,
            timings=Timings(
                read=self.model.seconds,
                pose=found.pose_s,
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
            rounder=self._rounder(found, query, row),
            regional=self._region_of(found, row, target),
        )

    def _region_of(self, found: Answer, row: Row, target: Any) -> Callable[..., Any] | None:
        verified, goal = found.certificate.answer, found.goal
        if verified is None or goal is None or self.regional is None:
            return None
        changed = tuple(change.feature for change in verified.changed)
        return self.regional(self, row.holding(verified.row), goal, target, changed)

    def _rounder(self, found: Answer, query: Query, row: Row) -> Rounder | None:
        verified, goal = found.certificate.answer, found.goal
        if verified is None or goal is None:
            return None
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
        """Append to the log; a log that can't be written must not cost the answer."""
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


def _record(
    model: ExplainedModel,
    question: Question,
    query: Query,
    goals: tuple[Goal, ...],
    result: Result,
    time_limit_s: float,
    reasons: list[str],
    proof_mb: float,
) -> Any:
    """The record of a result; its modules are not imported before it is asked for."""
    from portfolio.proofs.prove import Limits
    from portfolio.proofs.record import Recorder

    check_from_0("time_limit_s", time_limit_s)
    check_from_0("proof_mb", proof_mb)
    warm_up("proofs")
    stop, began = threading.Event(), time.perf_counter()
    recorder = Recorder(model, question, replace(query, margin=result.margin), goals)
    limits = Limits(1e6 * proof_mb, began + time_limit_s, stop.is_set)
    return run_interruptible(partial(recorder, result, limits, reasons), stop)
