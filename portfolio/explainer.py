"""From a fitted model and a row to the closest row that the model decides otherwise."""

import os
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, inf
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pandas as pd

from encoders.arrays import FloatArray
from encoders.attempt import Run
from encoders.backend import Backend, Outcome, Request
from encoders.constraints import Constraint, listed, resolve
from encoders.cost import LARGEST, Norm, make_cost
from encoders.errors import InputError
from encoders.features import FeatureSpace
from encoders.pose import Query
from encoders.problem import Problem
from encoders.warm_up import warm_up
from portfolio.batch import Limits, OnAnswer, Rows, run_batch
from portfolio.batch_job import Answers, Job
from portfolio.batch_log import refuse_used
from portfolio.counterfactual import Result, Timings
from portfolio.fingerprint import fingerprint
from portfolio.frames import Row, read_row, read_rows
from portfolio.interrupt import run_interruptible
from portfolio.judge import Judge
from portfolio.local import LocalExecutor
from portfolio.logbook import Asked, Log, Logbook, LogWarning, book_of, log_result
from portfolio.native import predict_one
from portfolio.plausibility import Plausibility
from portfolio.progress import OnProgress, Progress
from portfolio.reading import read
from portfolio.session import Session
from portfolio.targets import Answer, answer
from portfolio.ways import Auto, Way, plain, raced, reduced
from portfolio.workers import Workers
from selector import (
    Case,
    Diagram,
    Metric,
    Plan,
    Selector,
    check_name,
    diagram_of,
    keeps_models,
)
from selector.logs import append

if TYPE_CHECKING:
    from portfolio.ray_cluster import RayExecutor

RACE = "race"
OWN = "own"
MOST = 1024  # threads
LONGEST_S = 1e6  # what a time limit counts at most: clocks and threads can't wait forever
KEEPERS = "cp, milp or maxsat"


class Runner(Protocol):
    """What runs backends."""

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome: ...


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of a row; see :meth:`Explainer.explain`."""

    target: Any
    norm: Norm
    scale: str
    weights: Mapping[str, float] | Sequence[float] | None
    constraints: tuple[Constraint, ...]
    margin: float | None

    @property
    def measure(self) -> str:
        """The norm as text; "own" for costs of the user's."""
        return str(self.norm) if isinstance(self.norm, int | float | str) else OWN

    @property
    def digest(self) -> str:
        """Of what :attr:`measure` and the scale do not tell."""
        own = [self.norm] if self.measure == OWN else []
        return fingerprint(self.weights, self.constraints, self.margin, *own)


class Explainer:
    """Explains one fitted model; reads it once, answers any number of queries.

    Parameters
    ----------
    model : fitted classifier
        scikit-learn forests, trees and gradient boosting, XGBoost, LightGBM, or
        :class:`HardVotingClassifier`.
    X_train : DataFrame or array (n_rows, n_columns)
        The numeric frame the model was trained on; bounds, kinds and scales come from it.
    features : mapping, path of a JSON file, FeatureSpace, or None
        Overrides of what is inferred (see :func:`encoders.infer.infer_features`).
    voting : "soft", "hard" or None
        "hard" lets the trees of a forest vote; None and "soft" take the model as it is.
    plausibility : Plausibility or None
        Counterfactuals must be inliers of the target class' isolation forest.
    workers : Workers or None
        Worker processes to share with other explainers; None: its own.
    diagram : Diagram, path of a JSON file, or None
        What picks backends for "auto"; None: the one shipped. See ``counterfolio selector``.

    Raises
    ------
    InputError, UnsupportedModelError
        One sentence on what is wrong and what to do.

    Notes
    -----
    Immutable after construction; one Explainer may be used from several threads. Solvers that
    may not stop when asked run in worker processes, which end with the Explainer.
    """

    def __init__(
        self,
        model: Any,
        X_train: Any,
        features: Mapping[str, Any] | str | Path | FeatureSpace | None = None,
        voting: Literal["soft", "hard"] | None = None,
        plausibility: Plausibility | None = None,
        workers: Workers | None = None,
        diagram: Diagram | str | Path | None = None,
    ) -> None:
        if plausibility is not None and not isinstance(plausibility, Plausibility):
            raise InputError(
                f"plausibility must be a Plausibility, got {type(plausibility).__name__}; "
                "wrap an isolation forest of yours: Plausibility(forest)."
            )
        self._selector = Selector(diagram_of(diagram))
        self._reading = read(model, X_train, features, voting, plausibility)
        self._workers = workers or Workers()

    @property
    def features(self) -> FeatureSpace:
        """What the columns were taken for; ``print`` it to see."""
        return self._reading.space

    @property
    def classes(self) -> tuple[Any, ...]:
        """The model's labels."""
        return self._reading.native.classes

    def predict(self, x: Any) -> Any:
        """The model's own label for one row, given as for :meth:`explain`."""
        row = read_row(x, self._reading.space, self._reading.ensemble.dtype)
        return self.classes[int(self._reading.native.predict(row.values[None, :])[0])]

    def explain(
        self,
        x: Any,
        target: Any = None,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        backend: str = "auto",
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: OnProgress | None = None,
        reduce: bool = True,
        race: Sequence[str] = (),
        executor: Literal["local", "ray"] | Runner = "local",
        log: Log | None = None,
        metric: Metric = "total",
    ) -> Result:
        """Find the cheapest change that makes the model predict ``target``, and prove it.

        Parameters
        ----------
        x : Series, one-row DataFrame, mapping, or array (n_columns,)
        target : label to reach; None: any other than the current one, the cheapest wins
        norm : 0, 1, 2 (sum of squares), any p > 0, "inf" (largest single change), a function
            ``(feature, from, to) -> cost``, or ``{feature: {value: cost} | (from, to) -> cost}``
            (features left out cost L1). Costs of a function must not fall with distance.
        scale : change of a numeric or ordinal feature that costs 1: its "range" (upper bound minus
            lower, those of the training data unless ``features`` gives bounds), its "std" or
            "mad" (std where that is 0) in the training data, or "none"
        weights : factor per feature, default 1; a mapping by name or one per feature
        constraints : Fixed, Increase, Decrease, Range, Allowed, MaxChanges
        margin : lead over every other class, in the model's score (probability of a forest, raw
            score of boosting, votes in hard voting). None or 0: what the model's own predict
            decides, ties and rounding included, is the measure, and proofs are about just that
        backend : "auto", "race", a registered name, or one with an engine or a formulation, as
            in "milp/gurobi" or "milp:ocean". In a race backends work at once, as many as
            there are threads, and the first proof ends it; see ``result.race``
        time_limit_s : seconds from this call, posing and verification included; what has to be
            compiled on the first use on a machine is compiled before
        threads : solver threads, default all cores this process may use
        on_progress : called with (seconds, upper bound, lower bound), from solver threads
        reduce : False solves the unreduced problem by the backend's plain published
            formulation, for comparisons
        race : names of the backends that race, the most promising first; asks for a race
        executor : where backends run: "local", "ray" (a cluster started here), or a
            :class:`portfolio.ray_cluster.RayExecutor`
        log : folder to which a record per attempt is appended, a
            :class:`portfolio.logbook.Logbook`, or a function of the result that gives one;
            see :mod:`selector.logs`
        metric : what "auto" goes by, "total" seconds of this query or "solver", the seconds that
            solving takes where a model is kept; see also :meth:`session`

        Returns
        -------
        Result

        Raises
        ------
        InputError
            Bad query, target, norm, weights, constraints or limits.
        """
        question = Question(target, norm, scale, weights, listed(constraints), margin)
        _check_hooks(on_progress, log)
        auto = self._auto(question, metric)
        way = self._way(backend, reduce, race, self._runner(executor), auto)
        mode = "race" if race or backend == RACE else "solo" if reduce else "plain"
        result = self._ask(question, threads, seed, x, way, time_limit_s, on_progress)
        self._log(mode, question, seed, log, x, result)
        return result

    def explain_batch(
        self,
        X: Any,
        target: Any = None,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        backend: str = "auto",
        per_query_limit_s: float = 60.0,
        deadline_s: float | None = None,
        threads: int = 1,
        seed: int = 0,
        executor: Literal["local", "ray"] | Answers = "local",
        out: str | Path | None = None,
        resume: bool = False,
        on_answer: OnAnswer = lambda answered, rows: None,
        log: Log | None = None,
    ) -> pd.DataFrame:
        """Explain every row of a table, with worker processes.

        Rows are given to workers one by one. With ``out`` every answer is appended to a file as
        it comes, and the table is written there as Parquet at the end. Ctrl-C and the deadline
        return what is done; a row that fails has the reason in its place.

        Parameters
        ----------
        X : DataFrame or array (n_rows, n_columns); its index gives the ids
        per_query_limit_s : seconds for each row
        deadline_s : seconds for all, from this call; None for no limit
        threads : solver threads of each worker
        executor : "local" (one worker per core and ``threads``), "ray" (a cluster started
            here), a :class:`portfolio.local.LocalExecutor`, or a
            :class:`portfolio.ray_cluster.RayExecutor`
        out : folder for the answers, made if need be
        resume : keep the answers that ``out`` has to the same model, rows and settings, and ask
            the others only
        on_answer : called with (rows answered, rows in all)

        Other parameters are those of :meth:`explain`.

        Returns
        -------
        DataFrame
            One row per query: id, status, stop_reason, distance, bound, margin, backend, target,
            seconds, changed (names of features), message, and ``cf_`` columns with the
            counterfactual, NaN without one.

        Raises
        ------
        InputError
            Bad settings, or columns other than the model's.
        BatchError
            The folder can't be written to any more; holds what was answered.
        """
        began = time.monotonic()
        if out is not None:
            refuse_used(Path(out), resume)
        question = Question(target, norm, scale, weights, listed(constraints), margin)
        if threads is None:
            raise InputError("threads of a batch are those of each worker; give a number.")
        _check_limits(per_query_limit_s, threads, seed)
        _check_hooks(None, log)
        if deadline_s is not None:
            _check_limits(deadline_s, threads, seed)
        if target is not None:
            self._reading.native.class_index(target)
        self._check_classes()
        rows = Rows(*read_rows(X, self._reading.space, self._reading.ensemble.dtype))
        ask = Inquiry(self, question, backend, threads, seed, log)
        ask.way()  # says now if there is no such backend
        self._check_question(question, rows)
        if isinstance(log, str | Path | Logbook):
            append(log.folder if isinstance(log, Logbook) else log, [])
        if executor == "local":
            executor = LocalExecutor(max(1, len(os.sched_getaffinity(0)) // threads))
        elif isinstance(executor, str):
            executor = _on_ray(executor)
        warm_up()  # once, and not in every worker at the same time
        return run_batch(
            rows,
            Job(ask),
            (self._reading.identity, question, backend, threads, seed, per_query_limit_s),
            Limits(min(per_query_limit_s, LONGEST_S), deadline_s),
            executor,
            None if out is None else Path(out),
            resume,
            on_answer,
            began,
        )

    def _check_question(self, question: Question, rows: Rows) -> None:
        """Raise now what would go wrong with every row."""
        values = next((v for v in rows.values if not isinstance(v, str)), None)
        if values is not None:
            row = read_row(values, self._reading.space, self._reading.ensemble.dtype)
            self._query(question, row, 0)

    def _runner(self, executor: str | Runner) -> Run:
        if isinstance(executor, str):
            return self._workers.run if executor == "local" else _on_ray(executor).run
        if not hasattr(executor, "run"):
            raise InputError(f"executor must be 'local', 'ray' or a RayExecutor, got {executor!r}.")
        return executor.run

    def _way(self, backend: str, reduce: bool, race: Sequence[str], run: Run, auto: Auto) -> Way:
        if race or backend == RACE:
            _check_race(backend, reduce, race)
            return raced(tuple(race), run)
        check_name(backend)
        return (reduced if reduce else plain)(backend, run, auto)

    def _auto(self, question: Question, metric: Metric, keep: bool = False) -> Auto:
        """What "auto" does with a question; ``keep`` asks for backends that keep their models."""
        if metric not in ("total", "solver"):
            raise InputError(f"metric must be 'total' or 'solver', got {metric!r}.")

        def plan(problem: Problem, incumbent: float, threads: int) -> Plan:
            reading = self._reading
            case = Case(reading.described[0], question.measure, reading.plausible, metric)
            return self._selector.plan(case, problem, incumbent, threads, keep)

        return plan

    def session(
        self,
        target: Any = None,
        backend: str = "cp",
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        threads: int | None = None,
        seed: int = 0,
    ) -> Session:
        """Keep one backend's model for many queries: structure once, costs per query.

        The whole problem is solved, without reduction. Parameters are those of :meth:`explain`;
        "auto" picks by the seconds that solving takes. ``session.explain(x)`` asks.

        Raises
        ------
        InputError
            The backend can't keep a model; cp, milp and maxsat can.
        """
        check_name(backend)
        if not keeps_models(backend):
            raise InputError(f"backend {backend} keeps no model for a session; use {KEEPERS}.")
        question = Question(target, norm, scale, weights, listed(constraints), margin)
        ask = partial(self._ask, question, threads, seed)
        auto = self._auto(question, "solver", keep=True)
        log = partial(self._log, "session", question, seed)
        return Session(ask, backend, auto, self._workers, log)

    def _ask(
        self,
        question: "Question",
        threads: int | None,
        seed: int,
        x: Any,
        way: Way,
        time_limit_s: float,
        on_progress: OnProgress | None,
    ) -> Result:
        _check_limits(time_limit_s, threads, seed)
        warm_up()
        began = time.perf_counter()
        time_limit_s = min(time_limit_s, LONGEST_S)
        row = read_row(x, self._reading.space, self._reading.ensemble.dtype)
        self._check_classes()
        current = predict_one(self._reading.ensemble, self._reading.native, row.values)
        targets = self._targets(question.target, current)
        query = self._query(question, row, targets[0])
        if targets == [current] and self._may_stay(query):
            return self._unchanged(row, current, query.margin, began)
        stop = threading.Event()
        progress = Progress(began, targets, on_progress, stop)
        request = Request(
            time_limit_s=float(time_limit_s),
            threads=int(threads or len(os.sched_getaffinity(0))),
            seed=int(seed),
            stop=stop,
        )
        deadline = began + time_limit_s
        run = self._workers.run
        solve = partial(
            answer, self._reading, query, targets, way, run, request, deadline, progress
        )
        found = run_interruptible(solve, stop)
        progress.reraise()
        return self._result(found, row, question.target, progress, began)

    def _log(
        self,
        mode: str,
        question: "Question",
        seed: int,
        to: Log | None,
        x: Any,
        result: Result,
    ) -> None:
        """Append to the log; a log that can't be written must not cost the answer."""
        if to is None:
            return
        row = read_row(x, self._reading.space, self._reading.ensemble.dtype)
        asked = Asked(
            reading=self._reading,
            row=row.values,
            norm=question.measure,
            scale=question.scale,
            constraints=question.digest,
            target=str(result.target),
            seed=seed,
            mode="race" if result.certified_by else mode,
            memory_limit=self._workers.memory_bytes,
        )
        try:
            log_result(book_of(to, result), asked, result)
        except InputError as error:
            warnings.warn(str(error), LogWarning, stacklevel=4)

    def _query(self, question: "Question", row: Row, target: int) -> Query:
        space = self._reading.space
        admissible, max_changes = resolve(space, space.values(row.values), question.constraints)
        return Query(
            row=row.values,
            target=target,
            cost=make_cost(space, question.norm, question.scale, question.weights),
            admissible=admissible,
            max_changes=max_changes,
            margin=self._margin(question.margin),
        )

    def _check_classes(self) -> None:
        if len(self.classes) < 2:
            raise InputError(
                f"the model knows only one class, {self.classes[0]!r}; "
                "there is nothing to change to."
            )

    def _targets(self, target: Any, current: int) -> list[int]:
        if target is None:
            return [index for index in range(len(self.classes)) if index != current]
        return [self._reading.native.class_index(target)]

    def _margin(self, margin: float | None) -> float:
        if margin is None:
            return 0.0
        number = isinstance(margin, int | float | np.number) and not isinstance(margin, bool)
        if not (number and 0 <= margin <= LARGEST):
            raise InputError(f"margin must be a finite number, 0 or above, got {margin!r}.")
        return float(ceil(margin)) if self._reading.ensemble.votes else float(margin)

    def _may_stay(self, query: Query) -> bool:
        """Whether a row of the target class is an answer as it is; asks the model itself."""
        if not all(admissible.stay for admissible in query.admissible):
            return False
        view = self._reading.views[query.target]
        if not Judge(view.ensemble, self._reading.native, view.outlook).accepts(
            query.row, query.target
        ):
            return False
        if query.margin == 0:
            return True
        scores = self._reading.ensemble.scores(query.row[None, :])[0]
        rivals = np.delete(scores, query.target)
        lead = scores[query.target] - rivals.max(initial=-inf)
        return bool(lead >= query.margin * self._reading.ensemble.margin_unit)

    def _unchanged(self, row: Row, current: int, margin: float, began: float) -> Result:
        total = time.perf_counter() - began
        return Result(
            status="optimal",
            stop_reason="proved",
            distance=0.0,
            lower_bound=0.0,
            backend="none",
            target=self.classes[current],
            verified=True,
            timings=Timings(read=self._reading.seconds, total=total),
            trace=((total, 0.0, 0.0),),
            margin=margin,
            _row=row.like(row.values),
        )

    def _result(
        self, found: Answer, row: Row, target: Any, progress: Progress, began: float
    ) -> Result:
        certificate = found.certificate
        verified = certificate.answer
        reached = target if found.target is None else self.classes[found.target]
        return Result(
            status=certificate.status,
            stop_reason=certificate.stop_reason,
            distance=inf if verified is None else verified.distance,
            lower_bound=certificate.lower,
            backend=certificate.backend,
            target=reached,
            verified=verified is not None,
            timings=Timings(
                read=self._reading.seconds,
                pose=found.pose_s,
                reduce=certificate.reduce_s,
                build=certificate.build_s,
                solve=certificate.solve_s,
                verify=certificate.verify_s,
                total=time.perf_counter() - began,
            ),
            trace=tuple(progress.trace),
            message=certificate.message,
            left=certificate.left,
            attempts=certificate.attempts,
            certified_by=certificate.certified_by,
            decision=certificate.decision,
            margin=certificate.margin,
            changed=() if verified is None else verified.changed,
            _row=None if verified is None else row.like(verified.row),
        )


@dataclass(frozen=True, eq=False)
class Inquiry:
    """One question to one explainer, asked of many rows; can be sent to another process."""

    explainer: Explainer
    question: Question
    backend: str
    threads: int
    seed: int
    log: Log | None

    def way(self) -> Way:
        """How a row is answered."""
        own = self.explainer
        return own._way(self.backend, True, (), own._workers.run, own._auto(self.question, "total"))

    def __call__(self, row: FloatArray, time_limit_s: float) -> Result:
        own, way = self.explainer, self.way()
        result = own._ask(self.question, self.threads, self.seed, row, way, time_limit_s, None)
        mode = "race" if self.backend == RACE else "solo"
        own._log(mode, self.question, self.seed, self.log, row, result)
        return result


def _on_ray(name: str) -> "RayExecutor":
    if name != "ray":
        raise InputError(f"executor must be 'local', 'ray' or a RayExecutor, got {name!r}.")
    from portfolio.ray_cluster import RayExecutor

    return RayExecutor()


def _check_race(backend: str, reduce: bool, race: Sequence[str]) -> None:
    if isinstance(race, str):
        raise InputError(f"race must be a list of names such as ['search', 'milp'], not {race!r}.")
    if backend not in (RACE, "auto"):
        raise InputError(f"give either backend={backend!r} or race, not both.")
    if not reduce:
        raise InputError("a race is run on the reduced problem; leave reduce=True.")
    for name in race:
        if name == "auto":
            raise InputError("'auto' can't take part in a race; name backends.")
        check_name(name)


def _check_hooks(on_progress: object, log: object) -> None:
    if on_progress is not None and not callable(on_progress):
        raise InputError(f"on_progress must be a function, got {on_progress!r}.")
    if not (log is None or callable(log) or isinstance(log, str | Path | Logbook)):
        raise InputError(f"log must be a folder, a Logbook or a function, got {log!r}.")


def _check_limits(time_limit_s: float, threads: int | None, seed: int) -> None:
    if not isinstance(time_limit_s, Real) or not time_limit_s > 0:
        raise InputError(f"time_limit_s must be above 0 seconds, got {time_limit_s!r}.")
    if threads is not None and (not isinstance(threads, Integral) or not 1 <= threads <= MOST):
        raise InputError(f"threads must be at least 1 and at most {MOST}, got {threads!r}.")
    if not isinstance(seed, Integral) or not 0 <= seed < 2**31:
        raise InputError(f"seed must be a whole number from 0 to 2**31 - 1, got {seed!r}.")
