"""Batches of many rows, solved by workers, stored as they finish, and resumable."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from math import inf
from typing import Any, Protocol

import pandas as pd

from encoders.core.errors import CounterfolioError, InputError, NothingAdmissibleError
from encoders.core.whole_files import replace_whole
from encoders.query.goal import ClassGoal
from portfolio.batch.answer_log import TABLE, AnswerLog
from portfolio.batch.row_order import alike_together
from portfolio.batch.settings import BatchSettings
from portfolio.engine.ask import Asker
from portfolio.engine.question import Question
from portfolio.engine.warm_up import warm_up
from portfolio.model.batch_rows import BatchRows, rows_of
from portfolio.model.fingerprint import fingerprint
from portfolio.model.goals import checked_target, value_goal
from portfolio.model.row import Row
from portfolio.workers.work import Record, Task, Work

NOT_REACHED = "not reached. Resume the batch to solve it."  # message of rows that did not start


class BatchWork(Work, Protocol):
    """Work of a batch: it turns each row into a record, and the records into a table.

    A record has at least "key", "message", "status" and "final". Rows with a final record are not
    solved again.
    """

    @property
    def fields(self) -> frozenset[str]:
        """Fields that each record has; they identify files of other kinds of batch."""
        ...

    @property
    def on_disk(self) -> frozenset[str]:
        """Large fields, which are stored in files but not in memory."""
        ...

    def unanswered(self, key: str, message: str, reason: str) -> Record:
        """Return the record of a row without an answer, with the reason."""
        ...

    def table(self, rows: BatchRows, records: Sequence[Record]) -> pd.DataFrame:
        """Return the table for the user."""
        ...


class BatchError(CounterfolioError, OSError):
    """Error of a batch that cannot continue, with the answers so far.

    Parameters
    ----------
    message : str
        Problem and remedy in one or two sentences.
    frame : DataFrame
        Table of :meth:`Explainer.explain_batch` with the answers so far.
    answered : int
        Number of rows with an answer, or with a reason why they have none.

    Attributes
    ----------
    frame : DataFrame
        Table of :meth:`Explainer.explain_batch` with the answers so far, written or not.
    answered : int
        Number of rows with an answer, or with a reason why they have none.

    Examples
    --------
    >>> try:
    ...     answers = explainer.explain_batch(X, out="answers")
    ... except BatchError as error:
    ...     answers = error.frame
    >>> len(answers) == len(X)
    True
    """

    def __init__(self, message: str, frame: pd.DataFrame, answered: int) -> None:
        super().__init__(message)
        self.frame, self.answered = frame, answered


def run_batch(rows: BatchRows, job: BatchWork, asked: Any, settings: BatchSettings) -> pd.DataFrame:
    """Answer all rows that have no answer yet; see :meth:`Explainer.explain_batch`."""
    answers = settings.answers()
    warm_up()  # once, and not in every worker at the same time
    common = fingerprint(asked)
    keys = [fingerprint(common, *own) for own in rows.identities()]
    with closing(_Store(settings, job)) as store:
        batch = _Batch(rows, keys, store, settings, job)
        reason = "deadline"
        try:
            with closing(answers(job, batch.tasks())) as records:
                for record in records:
                    batch.keep(record)
                    settings.on_answer(batch.answered(), len(keys))
        except KeyboardInterrupt:
            reason = "interrupted"
        return batch.finish(reason)


class _Store:
    """Records by key, in memory and in the folder if there is one."""

    def __init__(self, settings: BatchSettings, job: BatchWork) -> None:
        out, resume = settings.folder, settings.resume
        if resume and out is None:
            raise InputError(
                "resume=True has nothing to resume without the folder of the earlier run. Set out."
            )
        self._log = None if out is None else AnswerLog(out, resume, job.fields, job.on_disk)
        self._on_disk = job.on_disk
        self.records: dict[str, Record] = {} if self._log is None else dict(self._log.records)

    def keep(self, record: Record) -> None:
        light = {name: value for name, value in record.items() if name not in self._on_disk}
        self.records[record["key"]] = light
        if self._log is not None:
            self._log.append(record)

    def close(self) -> None:
        """Close the file in the folder."""
        if self._log is not None:
            self._log.close()

    def write(self, frame: pd.DataFrame) -> None:
        """Write the table into the folder."""
        if self._log is None:
            return
        self._log.sync()
        replace_whole(self._log.folder / TABLE, frame.to_parquet)


class _Batch:
    """State of a batch: tasks without an answer, records, and the table of all rows.

    Equal rows share a key and a record, but each of them is counted.
    """

    def __init__(
        self,
        rows: BatchRows,
        keys: list[str],
        store: _Store,
        settings: BatchSettings,
        job: BatchWork,
    ) -> None:
        self._rows, self._keys, self._store, self._job = rows, keys, store, job
        self._limit_s, deadline_s = settings.limit_s, settings.deadline_s
        in_turn = range(len(keys))  # a deadline leaves the last rows without an answer
        self._order = in_turn if deadline_s is not None else rows.order or in_turn
        self._ends = inf if deadline_s is None else settings.began + deadline_s
        self._asked: set[str] = set()
        self._times = Counter(keys)
        for key, value in zip(keys, rows.values, strict=True):
            if isinstance(value, str):
                store.records[key] = job.unanswered(key, value, "error")
                self._asked.add(key)
        recorded = self._times.keys() & store.records.keys()
        self._answered = sum(self._times[key] for key in recorded)

    def tasks(self) -> Iterator[Task]:
        """Yield the rows without a final answer, equal rows once, until the deadline."""
        payloads = self._rows.payloads
        for at in self._order:
            key, value = self._keys[at], payloads[at]
            if isinstance(value, str) or key in self._asked or self._final(key):
                continue
            if time.monotonic() >= self._ends:
                return
            self._asked.add(key)
            yield Task(key, value, self._limit_s, self._ends)

    def _final(self, key: str) -> bool:
        record = self._store.records.get(key)
        return record is not None and bool(record["final"])

    def keep(self, record: Record) -> None:
        """Store an answer; raise BatchError if it cannot be written."""
        key = record["key"]
        if key not in self._store.records:
            self._answered += self._times[key]
        try:
            self._store.keep(record)
        except OSError as error:
            raise self._full(error) from error

    def finish(self, reason: str) -> pd.DataFrame:
        """Write and return the table; ``reason`` is the stop reason of rows that did not start."""
        frame = self._table(reason)
        try:
            self._store.write(frame)
        except OSError as error:
            raise self._full(error) from error
        return frame

    def _full(self, error: OSError) -> BatchError:
        return BatchError(
            f"can't write the answers: {error.strerror}. {self.answered()} of {len(self._keys)} "
            "rows are solved, and all answers written before are safe. Fix the problem and resume.",
            self._table("error"),
            self.answered(),
        )

    def answered(self) -> int:
        """Return the number of rows with an answer, or with a reason why they have none."""
        return self._answered

    def _table(self, reason: str) -> pd.DataFrame:
        missing = self._job.unanswered("", NOT_REACHED, reason)
        return self._job.table(
            self._rows, [self._store.records.get(k, missing) for k in self._keys]
        )


def read_batch(asker: Asker, question: Question, X: Any, whole: bool = False) -> BatchRows:
    """Read the rows of a table and check the query; raise InputError if no row can be solved."""
    model = asker.model
    wanted = checked_target(model, question.target)
    asker.check_classes()
    rows = rows_of(model, X, whole)
    nothing: NothingAdmissibleError | None = None
    for values in rows.values:
        if isinstance(values, str):
            continue
        goal = ClassGoal(0) if wanted is None else value_goal(model, wanted, values)
        try:
            question.query(model, Row(values), goal)
            order = alike_together(model.space, question.constraints, rows.values)
            return replace(rows, order=order)
        except NothingAdmissibleError as error:  # other rows may have an answer
            nothing = nothing or error
    if nothing is not None:
        raise nothing
    return rows
