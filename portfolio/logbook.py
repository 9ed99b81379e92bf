"""From an answered query to the records that the selector learns from."""

import math
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from encoders.backend import BACKENDS, Attempt
from portfolio.counterfactual import Result
from portfolio.fingerprint import fingerprint
from portfolio.reading import Reading
from selector.logs import LogRecord, append

ALWAYS = ("counterfolio", "numpy")


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


Log = str | Path | Logbook | Callable[[Result], Logbook]


def book_of(log: Log, result: Result) -> Logbook:
    """Where a result is to be logged."""
    if isinstance(log, str | Path):
        return Logbook(Path(log))
    return log(result) if callable(log) else log


@dataclass(frozen=True, eq=False)
class Asked:
    """What was asked, as far as records tell."""

    reading: Reading
    row: Any
    norm: str
    scale: str
    constraints: str
    target: str
    seed: int
    mode: str
    memory_limit: int


def log_result(book: Logbook, asked: Asked, result: Result) -> None:
    """Append one record per attempt, or one for the reduction that made all needless."""
    append(book.folder, _records(book, asked, result))


def _records(book: Logbook, asked: Asked, result: Result) -> list[LogRecord]:
    ensemble, took = asked.reading.described
    race = uuid.uuid4().hex if result.certified_by or len(result.attempts) > 1 else ""
    forest = asked.reading.identity
    question = (asked.norm, asked.scale, asked.constraints, asked.target)
    query = fingerprint(forest, asked.row, question)
    attempts: tuple[Attempt | None, ...] = result.attempts or (None,)
    records = []
    for number, attempt in enumerate(attempts):
        others = ",".join(a.backend for a in result.attempts if a is not attempt)
        own = result if attempt is None else attempt
        joined = attempt is None or len(attempts) == 1
        times = result.timings
        spent = 0.0 if attempt is None else attempt.ended_s - attempt.began_s
        name = "reduce" if attempt is None else attempt.backend
        status = result.status if attempt is None or joined else _status(result, attempt)
        bounds = (result.distance, result.lower_bound)
        if attempt is not None and not joined and status != "optimal":
            bounds = (attempt.upper, attempt.lower)
        records.append(
            LogRecord(
                run=f"{book.run}-{number}" if book.run else uuid.uuid4().hex,
                race=race if asked.mode == "race" else "",
                query=query,
                forest=forest,
                dataset=book.dataset or forest,
                time=datetime.now(UTC).isoformat(timespec="milliseconds"),
                mode=asked.mode,
                competitors=others if asked.mode == "race" else "",
                load=os.getloadavg()[0],
                ensemble=ensemble,
                describe_s=took,
                norm=asked.norm,
                scale=asked.scale,
                constraints=asked.constraints,
                plausible=asked.reading.plausible,
                target=asked.target,
                left=None if attempt is None else attempt.shape,
                backend=name,
                engine="" if attempt is None else attempt.engine,
                formulation="" if attempt is None else attempt.formulation,
                versions=_versions(name),
                seed=asked.seed,
                threads=0 if attempt is None else attempt.threads,
                limit_s=0.0 if attempt is None else attempt.limit_s,
                memory_limit=asked.memory_limit,
                pose_s=times.pose,
                reduce_s=times.reduce,
                build_s=0.0 if attempt is None else attempt.build_s,
                solve_s=0.0 if attempt is None else attempt.solve_s,
                verify_s=times.verify,
                queue_s=0.0 if attempt is None else _queued(asked.mode, attempt),
                stop_s=0.0 if attempt is None else _overran(attempt),
                total_s=times.total if joined else times.pose + times.reduce + spent + times.verify,
                peak_bytes=0 if attempt is None else attempt.peak_bytes,
                status=status,
                stop_reason=result.stop_reason if joined else own.stop_reason,
                censored=own.stop_reason == "interrupted",
                upper=bounds[0],
                lower=bounds[1],
                bound_source="shared" if result.certified_by == "bounds_meet" else "own",
                certified_by=result.certified_by,
                trace=() if attempt is None else attempt.trace,
                verified=result.verified,
                error=result.message or ("" if attempt is None else _complaint(attempt)),
            )
        )
    return records


def _status(result: Result, attempt: Attempt) -> str:
    """Of the whole query: that nothing beats the incumbent proves it optimal."""
    if attempt.status == "infeasible" and result.status == "optimal":
        return "optimal"
    return attempt.status


def _queued(mode: str, attempt: Attempt) -> float:
    return attempt.began_s if mode == "race" else 0.0


def _overran(attempt: Attempt) -> float:
    if attempt.stop_reason == "interrupted":
        return math.nan
    return max(0.0, attempt.build_s + attempt.solve_s - attempt.limit_s)


def _complaint(attempt: Attempt) -> str:
    return attempt.raw if attempt.stop_reason == "error" else ""


@cache
def _versions(backend: str) -> str:
    names = [*ALWAYS, *(b.distribution for b in BACKENDS if b.name == backend)]
    return ", ".join(f"{name} {_version(name)}" for name in dict.fromkeys(names))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
