"""From an answered query to the records that the selector learns from."""

import math
import os
import platform
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from encoders.arrays import FloatArray
from encoders.backends.attempt import Attempt
from encoders.backends.registry import all_backends
from encoders.errors import InputError
from portfolio.fingerprint import fingerprint
from portfolio.model.explained_model import ExplainedModel
from portfolio.question import MAP, Question
from portfolio.result import Result
from selector.logs.files import LogRecord, append
from selector.logs.record import PROOFS

ALWAYS = ("counterfolio", "numpy")
CPU_INFO = Path("/proc/cpuinfo")  # of Linux; elsewhere the platform tells
REDUCE = "reduce"  # the backend of records where no solver was needed

# In a folder of a service's logs the one of questions that all backends were asked, each alone.
EXPLORED = "explored"


class LogWarning(UserWarning):
    """Records could not be written."""


@dataclass(frozen=True)
class Logbook:
    """Where to log.

    Attributes
    ----------
    folder : gets one file per process that writes
    dataset : the group that the records belong to, "" for one per model
    run : name of the next run, "" for one at random
    """

    folder: Path
    dataset: str = ""
    run: str = ""

    def add(self, records: Iterable[LogRecord]) -> None:
        """Append records; raises :class:`InputError` where the folder can't be written to.

        Parameters
        ----------
        records : of one query
        """
        append(self.folder, records)


@dataclass(frozen=True)
class PendingLogbook(Logbook):
    """A logbook that keeps records until all of a series are there.

    Attributes
    ----------
    folder, dataset, run : as of :class:`Logbook`
    records : by now
    """

    records: list[LogRecord] = field(default_factory=list)

    def add(self, records: Iterable[LogRecord]) -> None:
        """Keep records."""
        self.records.extend(records)

    def write(self) -> None:
        """Append all; raises :class:`InputError` where the folder can't be written to."""
        append(self.folder, self.records)


Log = str | Path | Logbook | Callable[[Result], Logbook]


def check_log(log: object) -> None:
    """Raise :class:`InputError` unless ``log`` is None or says where to log."""
    if not (log is None or callable(log) or isinstance(log, str | Path | Logbook)):
        raise InputError(f"log must be a folder, a Logbook or a function, got {log!r}.")


def check_folder(log: Log | None) -> None:
    """Raise :class:`InputError` if the folder that ``log`` names can't be written to."""
    if isinstance(log, str | Path | Logbook):
        append(log.folder if isinstance(log, Logbook) else log, [])


def book_of(log: Log, result: Result) -> Logbook:
    """Where a result is to be logged."""
    if isinstance(log, str | Path):
        return Logbook(Path(log))
    if not callable(log):
        return log
    book = log(result)
    if not isinstance(book, Logbook):
        raise InputError(f"the log function must give a Logbook, not {book!r}.")
    return book


@dataclass(frozen=True, eq=False)
class LogContext:
    """What was asked of whom, as far as records tell.

    Attributes
    ----------
    row : float64 (n_columns,), in the model's order
    target : label or goal that was reached, or asked for, as text
    numbers : whether it is a goal
    seed : of solvers
    mode : "solo", "race", "session", "plain", "map" or "second"; see
        :class:`selector.logs.files.LogRecord`
    memory_limit : bytes of address space of each worker process, 0 for no limit
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
    """Append one record per attempt, or one for the reduction or the map that made all needless."""
    book.add(_records(book, context, result))


def _records(book: Logbook, context: LogContext, result: Result) -> list[LogRecord]:
    shared = _asked(book, context)
    together = result.certified_by or len(result.attempts) > 1
    race = uuid.uuid4().hex if together and context.mode == "race" else ""
    attempts: tuple[Attempt | None, ...] = result.attempts or (None,)
    records = []
    for number, attempt in enumerate(attempts):
        others = [a.backend for a in result.attempts if a is not attempt]
        alone = len(attempts) == 1
        parts = [
            shared,
            {
                "run": f"{book.run}-{number}" if book.run else uuid.uuid4().hex,
                "race": race,
                "competitors": ",".join(others) if context.mode == "race" else "",
            },
            _ran(attempt, MAP if result.backend == MAP else REDUCE),
            _took(context.mode, result, attempt, alone),
            _found(result, attempt, alone),
        ]
        records.append(LogRecord(**{name: value for part in parts for name, value in part.items()}))
    return records


def _asked(book: Logbook, context: LogContext) -> dict[str, Any]:
    """The model, the question, and the machine."""
    model, question = context.model, context.question
    ensemble, described_s = model.described
    forest = model.identity
    asked = (question.measure, question.scale, question.digest, context.target)
    return {
        "query": fingerprint(model.identity_for(context.numbers), context.row, asked),
        "forest": forest,
        "row": fingerprint(context.row),
        "dataset": book.dataset or forest,
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "mode": context.mode,
        "machine": _machine(),
        "load": os.getloadavg()[0],
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


def _ran(attempt: Attempt | None, without: str) -> dict[str, Any]:
    """What ran, on what, with how much; what answered where no backend did."""
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


def _took(mode: str, result: Result, attempt: Attempt | None, alone: bool) -> dict[str, float]:
    """Seconds; one that was not alone is charged with its own and what all need."""
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


def _found(result: Result, attempt: Attempt | None, alone: bool) -> dict[str, Any]:
    """Status and bounds: of the query where one answered it alone, or proved it."""
    alone = alone or _counts_for_nothing(result, attempt)
    own = result if attempt is None else attempt
    status = result.status if attempt is None or alone else _status(result, attempt)
    upper, lower = result.distance, result.lower_bound
    if attempt is not None and not alone and status != "optimal":
        upper, lower = attempt.upper, attempt.lower
    return {
        "status": status,
        "stop_reason": result.stop_reason if alone else own.stop_reason,
        "censored": own.stop_reason == "interrupted",
        "upper": upper,
        "lower": lower,
        "bound_source": "shared" if result.certified_by == "bounds_meet" else "own",
        "certified_by": result.certified_by,
        "verified": result.verified,
        "error": result.message or ("" if attempt is None else _complaint(attempt)),
    }


def _counts_for_nothing(result: Result, attempt: Attempt | None) -> bool:
    """Whether it proved something that does not settle the query: one class of several, or that
    a row is the cheapest one by the trees, which the model's own predict then refused."""
    if attempt is None or result.status in PROOFS:
        return False
    return attempt.status in PROOFS


def _status(result: Result, attempt: Attempt) -> str:
    """Of the whole query: that nothing beats the incumbent proves it optimal."""
    if attempt.status == "infeasible" and result.status == "optimal":
        return "optimal"
    return attempt.status


def _overran(attempt: Attempt) -> float:
    if attempt.stop_reason == "interrupted":
        return math.nan
    return max(0.0, attempt.build_s + attempt.solve_s - attempt.limit_s)


def _complaint(attempt: Attempt) -> str:
    return attempt.raw if attempt.stop_reason == "error" else ""


@cache
def _machine() -> str:
    try:
        told = re.search(r"^model name\s*: (.*)$", CPU_INFO.read_text(), re.MULTILINE)
    except OSError:
        told = None
    processor = told.group(1).strip() if told else platform.processor() or platform.machine()
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}"


@cache
def _versions(backend: str) -> str:
    names = [*ALWAYS, *(b.distribution for b in all_backends() if b.name == backend)]
    return ", ".join(f"{name} {_version(name)}" for name in dict.fromkeys(names))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
