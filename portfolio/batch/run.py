"""Thousands of rows: answered by workers, kept as they come, resumed where they were left."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow

from encoders.arrays import FloatArray
from encoders.errors import CounterfolioError, InputError
from encoders.whole_files import replace_whole
from portfolio.batch.answer_log import TABLE, AnswerLog
from portfolio.batch.job import Job, unanswered
from portfolio.batch.scores import batch_scores
from portfolio.fingerprint import fingerprint
from portfolio.model.table import Table
from portfolio.running.work import Answers, Record, Task

OnAnswer = Callable[[int, int], None]  # (rows answered, rows in all)
PREFIX = "cf_"


class BatchError(CounterfolioError, OSError):
    """A batch that could not go on.

    Parameters
    ----------
    message : one sentence on what went wrong
    frame : what was answered

    Attributes
    ----------
    frame : as :meth:`Explainer.explain_batch` gives it, with what was answered, written or not
    """

    def __init__(self, message: str, frame: pd.DataFrame) -> None:
        super().__init__(message)
        self.frame = frame


@dataclass(frozen=True, eq=False)
class BatchRows:
    """The rows of a batch: their labels, values, and what is wrong with those without values.

    Attributes
    ----------
    index : (n_rows,), the ids of the table
    columns : names in the model's order
    values : float64 (n_columns,) or a sentence, per row
    table : the user's columns, where not all of them hold numbers
    """

    index: "pd.Index[Any]"
    columns: Sequence[str]
    values: Sequence[FloatArray | str]
    table: Table | None = None


@dataclass(frozen=True)
class BatchLimits:
    """Seconds: for each row, and for the whole batch from its call (None: none)."""

    per_query_s: float
    deadline_s: float | None


def run_batch(
    rows: BatchRows,
    job: Job,
    settings: Any,
    limits: BatchLimits,
    answers: Answers,
    out: Path | None,
    resume: bool,
    on_answer: OnAnswer,
    began: float,
) -> pd.DataFrame:
    """Answer all rows that have no answer in ``out`` yet; see :meth:`Explainer.explain_batch`.

    Parameters
    ----------
    rows : all, answered or not
    job : what workers do
    settings : all that answers depend on besides the row, for :func:`fingerprint`
    limits : of a row and of all
    answers : who does the work
    out : folder of answers, None to keep them in memory only
    resume : as in :class:`portfolio.batch.answer_log.AnswerLog`
    on_answer : called in this thread with (rows answered, rows in all)
    began : ``time.monotonic()`` of the call, from which the deadline counts

    Raises
    ------
    InputError
        The folder can't be used, or workers can't do the job at all.
    BatchError
        The folder can't be written to any more.
    """
    common = fingerprint(settings)
    keys = [fingerprint(common, value) for value in rows.values]
    with closing(_Store(out, resume)) as store:
        store.complete(job)
        batch = _Batch(rows, keys, store, began, limits, job)
        reason = "deadline"
        try:
            with closing(answers(job, batch.tasks())) as records:
                for record in records:
                    batch.keep(record)
                    on_answer(batch.answered(), len(keys))
        except KeyboardInterrupt:
            reason = "interrupted"
        return batch.finish(reason)


class _Store:
    """Records by key, on disk too if there is a folder."""

    def __init__(self, out: Path | None, resume: bool) -> None:
        if resume and out is None:
            raise InputError("there is nothing to resume without the folder of the earlier run.")
        self._log = None if out is None else AnswerLog(out, resume)
        self.records: dict[str, Record] = {} if self._log is None else dict(self._log.records)

    def complete(self, job: Job) -> None:
        """Say which margin the proofs are about of answers of version 0.1, which do not tell."""
        for key, record in self.records.items():
            if "margin" not in record and record["status"] != "unknown":
                self.records[key] = job.completed(record)

    def keep(self, record: Record) -> None:
        self.records[record["key"]] = record
        if self._log is not None:
            self._log.append(record)

    def close(self) -> None:
        """Let go of the folder."""
        if self._log is not None:
            self._log.close()

    def write(self, frame: pd.DataFrame) -> None:
        """Put the table beside the log."""
        if self._log is None:
            return
        self._log.sync()
        replace_whole(self._log.folder / TABLE, frame.to_parquet)


class _Batch:
    """Which rows have an answer, which are to be asked, and the table of all.

    Equal rows have one key and one record, and are counted each.
    """

    def __init__(
        self,
        rows: BatchRows,
        keys: list[str],
        store: _Store,
        began: float,
        limits: BatchLimits,
        job: Job,
    ) -> None:
        self._rows, self._keys, self._store, self._job = rows, keys, store, job
        self._limits = limits
        self._ends = np.inf if limits.deadline_s is None else began + limits.deadline_s
        self._asked: set[str] = set()
        self._times = Counter(keys)
        for key, value in zip(keys, rows.values, strict=True):
            if isinstance(value, str):
                store.records[key] = unanswered(key, value)
                self._asked.add(key)
        known = self._times.keys() & store.records.keys()
        self._answered = sum(self._times[key] for key in known)

    def tasks(self) -> Iterator[Task]:
        """The rows without a final answer, each different one once, until the deadline."""
        for key, value in zip(self._keys, self._rows.values, strict=True):
            if isinstance(value, str) or key in self._asked or self._final(key):
                continue
            if time.monotonic() >= self._ends:
                return
            self._asked.add(key)
            yield Task(key, value, self._limits.per_query_s, self._ends)

    def _final(self, key: str) -> bool:
        record = self._store.records.get(key)
        return record is not None and bool(record["final"])

    def keep(self, record: Record) -> None:
        """Store an answer; raises BatchError when there is no room."""
        key = record["key"]
        if key not in self._store.records:
            self._answered += self._times[key]
        try:
            self._store.keep(record)
        except OSError as error:
            raise self._full(error) from error

    def finish(self, reason: str) -> pd.DataFrame:
        """The table of all rows, written too; ``reason`` is why some were not asked."""
        frame = self._frame(reason)
        try:
            self._store.write(frame)
        except OSError as error:
            raise self._full(error) from error
        return frame

    def _full(self, error: OSError) -> BatchError:
        return BatchError(
            f"can't write the answers: {error.strerror}; {self.answered()} of {len(self._keys)} "
            "rows are answered, and those written before are safe. Put that right, then resume.",
            self._frame("error"),
        )

    def answered(self) -> int:
        """How many rows have an answer, or a reason why they have none."""
        return self._answered

    def _frame(self, reason: str) -> pd.DataFrame:
        missing = unanswered("", "not reached; resume the batch to ask", reason)
        records = [self._store.records.get(key, missing) for key in self._keys]
        width = len(self._rows.columns)
        found = np.array([r["row"] or [np.nan] * width for r in records], dtype=np.float64)
        found = found.reshape(len(records), width)
        before, after = batch_scores(
            self._job.asker.model,
            self._job.question.target,
            [r["target"] for r in records],
            self._rows.values,
            [row if r["row"] else None for r, row in zip(records, found, strict=True)],
        )
        frame = pd.DataFrame(
            {
                "id": _ids(self._rows.index),
                **{name: [r[name] for r in records] for name in ("status", "stop_reason")},
                **{name: _floats(records, name) for name in ("distance", "bound")},
                "margin": [r.get("margin", np.nan) for r in records],
                **{name: [r[name] for r in records] for name in ("backend", "target")},
                "seconds": _floats(records, "seconds"),
                "changed": [", ".join(r["changed"]) for r in records],
                "message": [r["message"] for r in records],
                "score_before": before,
                "score": after,
            }
        )
        names = [PREFIX + str(name) for name in self._rows.columns]
        table = self._rows.table
        rows = pd.DataFrame(found) if table is None else table.frame(found)
        return pd.concat([frame, rows.set_axis(names, axis=1)], axis=1)


def _ids(index: "pd.Index[Any]") -> Any:
    """Labels as they are, or as text where a table on disk could not hold them."""
    try:
        pyarrow.array(index, from_pandas=True)
    except (pyarrow.ArrowException, TypeError, ValueError):
        return [str(label) for label in index]
    return [str(label) for label in index] if isinstance(index, pd.MultiIndex) else index


def _floats(records: list[Record], name: str) -> FloatArray:
    return np.array([np.inf if r[name] is None else r[name] for r in records], dtype=np.float64)
