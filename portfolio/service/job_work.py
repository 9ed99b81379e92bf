"""Execution of a job: a child process reads its rows, workers with limits answer them."""

import json
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from encoders.core import system
from encoders.core.errors import InputError
from portfolio.batch.answer_log import TABLE
from portfolio.questions.codec import decode_settings
from portfolio.questions.groups.audit import Audit
from portfolio.service.catalogue import Model
from portfolio.service.job import ANSWERS, RESULT, Job, replace_synced
from portfolio.service.job_rows import RowsFile
from portfolio.service.learning import Learning
from portfolio.service.messages import AUDIT, EXPLAIN, GROUP, Bounds, QuestionTicket, Refused, Reply
from portfolio.service.pool import ServicePool
from portfolio.service.problems import Problem
from portfolio.service.questions import QUESTIONS
from portfolio.service.reading import ReadingProcess
from portfolio.workers.process import POLL_S
from portfolio.workers.work import Answers, Record, Task, Work

RESTARTED = "restarted from the beginning: the service was restarted, and groups are not resumed."
ROWS = "X"  # argument of a group
READ_S = 600.0  # maximum seconds to read the rows


@dataclass(frozen=True, eq=False)
class JobWork:
    """Executor of jobs, one after another."""

    models: Callable[[], Mapping[str, Model]]  # function that returns the current models by name
    executor: Answers  # workers of the current job
    learning: Learning  # log of cheapest changes
    memory_bytes: int  # maximum address space of each process of a job, 0 for no limit
    most_rows: int  # maximum number of rows of a job

    def run(self, job: Job) -> None:
        """Run a job until it ends."""
        model = self.models().get(job.batch.model)
        if model is None or model.digest != job.batch.digest:
            raise InputError(
                f"the model {job.batch.model!r} has changed. Send the rows again.",
                "changed-model",
                name=job.batch.model,
            )
        arguments = dict(job.batch.arguments)
        read = self._rows_of(job, model, arguments.get("by"))
        if read is None:
            return
        X, beside = read
        job.total = len(X)
        again = job.state == "running" and job.batch.question == GROUP
        job.put("running", RESTARTED if again else "")
        if job.batch.question == GROUP:
            self._group(job, model, arguments, X)
        else:
            self._rows(job, model, arguments if beside is None else arguments | {"by": beside}, X)
        if not job.stop.is_set():
            job.answered = job.total
            job.put("done", job.message)

    def _rows_of(
        self, job: Job, model: Model, by: Any
    ) -> "tuple[pd.DataFrame, pd.Series[Any] | None] | None":
        """Return (rows, additional column or None); None if the job was cancelled."""
        path = job.folder / job.batch.rows
        if not path.exists():
            raise InputError(
                "the rows of the job are not in the folder of this server. Give all servers of a "
                "jobs database the same folder or --job-answers, then send the rows again."
            )
        reading = ReadingProcess(self.memory_bytes)
        try:
            file = RowsFile.of(path, model, self.most_rows, by)
            rows = reading.read(file, READ_S, job.stop.is_set)
            return None if rows is None else rows[0]
        except Problem as problem:
            raise InputError(problem.detail, problem.code, **problem.arguments) from problem
        finally:
            reading.end()

    def _group(self, job: Job, model: Model, arguments: dict[str, Any], X: pd.DataFrame) -> None:
        def hear(bounds: Bounds) -> None:
            job.bounds = bounds

        answer = ask_group(model, arguments, X, job.stop, hear, self.memory_bytes)
        if answer is not None:
            keep_group(answer, job.folder, job.folder / ANSWERS)

    def _rows(self, job: Job, model: Model, arguments: dict[str, Any], X: pd.DataFrame) -> None:
        """Answer the question for each row."""

        def count(answered: int, total: int) -> None:
            job.answered = answered

        settings: dict[str, Any] = decode_settings(arguments, model.explainer.classes)
        common: dict[str, Any] = {
            "executor": _Stoppable(self.executor, job.stop),
            "out": job.folder / ANSWERS,
            "resume": True,
            "on_answer": count,
        }
        if job.batch.question == AUDIT:
            audit = model.explainer.audit(X, **settings, **common)
            if not job.stop.is_set():
                keep_audit(audit, job.folder, job.folder / ANSWERS)
            return
        if job.batch.question == EXPLAIN:
            book = self.learning.book_of_batch(model)
            answers = model.explainer.explain_batch(X, **settings, **common, log=book)
            self.learning.hear_batch(model, arguments, X, answers)
        else:
            name = QUESTIONS[job.batch.question].method
            model.explainer.ask_batch(name, X, **settings, **common)
        system.sync(job.folder / ANSWERS / TABLE)


@dataclass(frozen=True, eq=False)
class _Stoppable:
    """Workers that receive no further tasks once a job is stopped."""

    executor: Answers
    stop: threading.Event

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        remaining = (task for task in tasks if not self.stop.is_set())
        yield from self.executor(job, remaining)


def ask_group(
    model: Model,
    arguments: dict[str, Any],
    X: pd.DataFrame,
    stop: threading.Event,
    on_bounds: Callable[[Bounds], None],
    memory_bytes: int = 0,
) -> Reply | None:
    """Compute the actions of a group in a process that ends with it; return None if stopped."""
    ticket = QuestionTicket(
        model, GROUP, arguments | {ROWS: X}, arguments["time_limit_s"], on_bounds
    )
    pool = ServicePool(1, 1, memory_bytes, arguments["threads"])
    pool.start([model])
    try:
        pool.submit(ticket)
        while not (ticket.future.done() or stop.wait(POLL_S)):
            pass
        if stop.is_set():
            ticket.stop()
            return None
        answer = ticket.future.result()
    finally:
        pool.close()
    if isinstance(answer, Refused):
        if answer.why == "bug":
            raise RuntimeError(answer.detail)
        raise InputError(answer.detail, answer.code, **answer.arguments)
    return answer


def keep_group(answer: Reply, folder: Path, answers: Path) -> None:
    """Store the result of a group and the rows after its actions."""
    keep(folder, f'{{"answer": {answer.members["answer"]}, "text": {answer.members["text"]}}}')
    answers.mkdir(exist_ok=True)
    rows = pd.DataFrame(json.loads(answer.members["after"]))
    replace_synced(answers / TABLE, rows.to_parquet)


def keep_audit(audit: Audit, folder: Path, answers: Path) -> None:
    """Store the result of an audit and the answers for its rows."""
    keep(folder, json.dumps({"answer": audit.to_dict(), "text": str(audit)}))
    rows = audit.answers
    if len(rows):
        named = rows.assign(group=[str(group) for group in rows["group"]])
        replace_synced(answers / TABLE, named.to_parquet)


def keep(folder: Path, text: str) -> None:
    """Store a result as JSON."""
    replace_synced(folder / RESULT, text.encode())
