"""Training logs: records of queries from which the selector learns."""

import math
import os
import platform
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from encoders.backends.attempt import Attempt
from encoders.backends.registry import all_backends
from encoders.core import system
from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError
from portfolio.engine.question import MAP, Question
from portfolio.engine.strategies import described
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.fingerprint import fingerprint
from portfolio.results.result import Result
from selector.logs.files import LogRecord, append
from selector.logs.record import PROOFS

ALWAYS = ("counterfolio", "numpy")
REDUCE = "reduce"  # backend of records where presolve alone proved the answer

# Subfolder with the logs of queries that every backend solved alone.
EXPLORED = "explored"


class LogWarning(UserWarning):
    """Warning that records could not be written to a log.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", LogWarning)  # raise an error instead
    ...     result = explainer.explain(row)
    """


@dataclass(frozen=True)
class Logbook:
    """Destination of log records.

    Attributes
    ----------
    folder : Path
        Folder in which each writing process has one file.
    dataset : str
        Name of the group of the records; "" for one group per model.
    run : str
        Name of the next run; "" for a random one.

    Examples
    --------
    >>> from pathlib import Path
    >>> book = Logbook(Path("logs"), dataset="loans")
    >>> explainer.explain(row, log=book).status
    'optimal'
    """

    folder: Path
    dataset: str = ""
    run: str = ""

    def add(self, records: Iterable[LogRecord]) -> None:
        """Append records to the file of this process.

        Parameters
        ----------
        records : iterable of LogRecord
            Records of one query.

        Raises
        ------
        InputError
            If the folder is not writable.

        Examples
        --------
        >>> from pathlib import Path
        >>> Logbook(Path("logs")).add([])
        """
        append(self.folder, records)


@dataclass(frozen=True)
class PendingLogbook(Logbook):
    """Logbook that stores records in memory until they are written together.

    Attributes
    ----------
    folder, dataset, run : fields of :class:`Logbook`.
    records : list of LogRecord, not yet written.
    """

    records: list[LogRecord] = field(default_factory=list)

    def add(self, records: Iterable[LogRecord]) -> None:
        """Store records in memory."""
        self.records.extend(records)

    def write(self) -> None:
        """Append all stored records; raise InputError if the folder is not writable."""
        append(self.folder, self.records)


Log = str | Path | Logbook | Callable[[Result], Logbook]


def check_log(log: object) -> None:
    """Raise InputError unless ``log`` is None or a destination."""
    if not (log is None or callable(log) or isinstance(log, str | Path | Logbook)):
        raise InputError(f"log must be a folder, a Logbook or a function, got {log!r}.")


def check_folder(log: Log | None) -> None:
    """Raise InputError if the folder of ``log`` is not writable."""
    if isinstance(log, str | Path | Logbook):
        append(log.folder if isinstance(log, Logbook) else log, [])


def book_of(log: Log, result: Result) -> Logbook:
    """Return the logbook for a result."""
    if isinstance(log, str | Path):
        return Logbook(Path(log))
    if not callable(log):
        return log
    book = log(result)
    if not isinstance(book, Logbook):
        raise InputError(f"the log function must return a Logbook, got {book!r}.")
    return book


@dataclass(frozen=True, eq=False)
class LogContext:
    """Query and environment of a log record.

    Attributes
    ----------
    row : float64 array (n_columns,), in the model's order.
    target : text of the label or goal that was reached, or else requested.
    numbers : bool, whether the target is a goal.
    seed : random seed of the solvers.
    mode : "solo", "race", "session", "plain", "map" or "second"; see
        :class:`selector.logs.files.LogRecord`.
    memory_limit : bytes of address space of each worker process, 0 for no limit.
    """

    model: ExplainedModel
    row: FloatArray
    question: Question
    target: str
    numbers: bool
    seed: int
    mode: str
    memory_limit: int


def log_result(book: Logbook, context: LogContext, result: Result) -> None:
    """Append one record per attempt, or one for the presolve or map that proved the answer."""
    book.add(_records(book, context, result))


def _records(book: Logbook, context: LogContext, result: Result) -> list[LogRecord]:
    shared = _query_fields(book, context)
    racing = bool(result.certified_by) or context.mode == "race"  # also in a session
    together = result.certified_by or len(result.attempts) > 1
    race = uuid.uuid4().hex if together and racing else ""
    run = book.run or uuid.uuid4().hex  # equal for all rounds and classes of one query
    attempts: tuple[Attempt | None, ...] = result.attempts or (None,)
    records = []
    for number, attempt in enumerate(attempts):
        others = [a.backend for a in result.attempts if a is not attempt]
        alone = len(attempts) == 1
        parts = [
            shared,
            {
                "run": f"{run}-{number}",
                "race": race,
                "competitors": ",".join(others) if racing else "",
            },
            _run_fields(attempt, MAP if result.backend == MAP else REDUCE),
            _time_fields(context.mode, result, attempt, alone),
            _outcome_fields(result, attempt, alone),
        ]
        records.append(LogRecord(**{name: value for part in parts for name, value in part.items()}))
    return records


def _query_fields(book: Logbook, context: LogContext) -> dict[str, Any]:
    """Return the fields about the model, the query and the machine."""
    model, question = context.model, context.question
    ensemble, described_s = model.once(described)
    forest = model.identity
    return {
        "query": query_digest(model, context.row, question, context.target, context.numbers),
        "forest": forest,
        "row": fingerprint(context.row),
        "dataset": book.dataset or forest,
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "mode": context.mode,
        "machine": _machine(),
        "load": system.load(),
        "ensemble": ensemble,
        "describe_s": described_s,
        "norm": question.measure,
        "scale": question.scale,
        "constraints": question.digest,
        "plausible": model.plausible,
        "target": context.target,
        "seed": context.seed,
        "memory_limit": context.memory_limit,
    }


def query_digest(
    model: ExplainedModel, row: FloatArray, question: Question, target: str, numbers: bool
) -> str:
    """Return :attr:`LogRecord.query` of a row; see :class:`LogContext`."""
    settings = (question.measure, question.scale, question.digest, target)
    return fingerprint(model.identity_for(numbers), row, settings)


def _run_fields(attempt: Attempt | None, without: str) -> dict[str, Any]:
    """Return the fields about the backend and its resources; ``without`` names it if none ran."""
    name = without if attempt is None else attempt.backend
    return {
        "backend": name,
        "versions": _versions(name),
        "engine": "" if attempt is None else attempt.engine,
        "formulation": "" if attempt is None else attempt.formulation,
        "left": None if attempt is None else attempt.shape,
        "threads": 0 if attempt is None else attempt.threads,
        "limit_s": 0.0 if attempt is None else attempt.limit_s,
        "peak_bytes": 0 if attempt is None else attempt.peak_bytes,
        "trace": () if attempt is None else attempt.trace,
    }


def _time_fields(
    mode: str, result: Result, attempt: Attempt | None, alone: bool
) -> dict[str, float]:
    """Return the seconds; one of several attempts has its own and the shared ones."""
    times = result.timings
    shared = {"pose_s": times.pose, "reduce_s": times.reduce, "verify_s": times.verify}
    if attempt is None:
        none = dict.fromkeys(("build_s", "solve_s", "queue_s", "stop_s"), 0.0)
        return shared | none | {"total_s": times.total}
    spent = attempt.ended_s - attempt.began_s
    return shared | {
        "build_s": attempt.build_s,
        "solve_s": attempt.solve_s,
        "queue_s": attempt.began_s if mode == "race" else 0.0,
        "stop_s": _overran(attempt),
        "total_s": times.total if alone else times.pose + times.reduce + spent + times.verify,
    }


def _outcome_fields(result: Result, attempt: Attempt | None, alone: bool) -> dict[str, Any]:
    """Return status and bounds, of the query if the attempt was alone or proved it."""
    alone = alone or _proves_a_part(result, attempt)
    outcome = result if attempt is None else attempt
    status = result.status if attempt is None or alone else _status(result, attempt)
    upper, lower = result.distance, result.lower_bound
    if attempt is not None and not alone and status != "optimal":
        upper, lower = attempt.upper, attempt.lower
    return {
        "status": status,
        "stop_reason": result.stop_reason if alone else outcome.stop_reason,
        "censored": outcome.stop_reason == "interrupted",
        "upper": upper,
        "lower": lower,
        "bound_source": "shared" if result.certified_by == "bounds_meet" else "own",
        "certified_by": result.certified_by,
        "verified": result.verified,
        "error": result.message or ("" if attempt is None else _error_text(attempt)),
    }


def _proves_a_part(result: Result, attempt: Attempt | None) -> bool:
    """Return whether an attempt proved something without proving the query.

    It may have covered one of several classes, or found a cell that native verification rejected.
    """
    if attempt is None or result.status in PROOFS:
        return False
    return attempt.status in PROOFS


def _status(result: Result, attempt: Attempt) -> str:
    """Return the status of the query: without a better choice, the incumbent is optimal."""
    if attempt.status == "infeasible" and result.status == "optimal":
        return "optimal"
    return attempt.status


def _overran(attempt: Attempt) -> float:
    if attempt.stop_reason == "interrupted":
        return math.nan
    return max(0.0, attempt.build_s + attempt.solve_s - attempt.limit_s)


def _error_text(attempt: Attempt) -> str:
    return attempt.raw if attempt.stop_reason == "error" else ""


@cache
def _machine() -> str:
    return f"{system.processor()}, {os.cpu_count()} cores, {platform.system()}"


@cache
def _versions(backend: str) -> str:
    names = [*ALWAYS, *(b.distribution for b in all_backends() if b.name == backend)]
    return ", ".join(f"{name} {_version(name)}" for name in dict.fromkeys(names))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
