"""Batches that the service works on: one after another, each kept in a folder and resumed there."""

import errno
import json
import logging
import queue
import shutil
import threading
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from encoders.errors import CounterfolioError, InputError
from encoders.whole_files import replace_whole
from portfolio.as_json import as_plain
from portfolio.batch.answer_log import TABLE
from portfolio.batch.run import NOT_REACHED, BatchError
from portfolio.running.work import Answers, NoRoomError, Record, Task, Work
from portfolio.service.asking import meant
from portfolio.service.catalogue import Model
from portfolio.service.group_work import RESULT, ask_group, keep_audit, keep_group
from portfolio.service.job_rows import read_rows
from portfolio.service.learning import Learning
from portfolio.service.messages import AUDIT, GROUP, Bounds
from portfolio.service.problems import clipped
from portfolio.service.questions import EXPLAIN, QUESTIONS

log = logging.getLogger("counterfolio.service")
JOB, STATE, ANSWERS = "job.json", "state.json", "answers"
ANEW = "begun anew: what was found of a group before a restart is not kept."
OPEN = ("queued", "running")
FULL = (errno.ENOSPC, errno.EDQUOT)
State = Literal["queued", "running", "done", "cancelled", "failed"]


@dataclass(frozen=True)
class Batch:
    """What a job asks.

    Attributes
    ----------
    model, digest : that is asked
    question : name in :data:`portfolio.service.questions.QUESTIONS`, or of those about many rows
    arguments : of JSON, besides the rows
    rows : name of the file with the rows
    """

    model: str
    digest: str
    question: str
    arguments: dict[str, Any]
    rows: str


@dataclass(eq=False)
class Job:
    """A batch, and how far it is.

    Attributes
    ----------
    folder : where all of it is kept, named by the job's id
    batch : what it asks
    state, message : how it stands, and why it failed
    answered, total : rows
    bounds : of a group, how many rows actions may serve and do by now
    stop : ends it
    busy : whether it is worked on, as it is for a moment after its end, too
    resumable : whether it failed for lack of room, and may be resumed
    held : its answers, where there was no room for their table
    """

    folder: Path
    batch: Batch
    state: State = "queued"
    message: str = ""
    answered: int = 0
    total: int | None = None
    bounds: Bounds | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    busy: bool = False
    resumable: bool = False
    held: pd.DataFrame | None = field(default=None, repr=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def told(self) -> dict[str, Any]:
        """How it stands, as plain values."""
        return {
            "id": self.folder.name,
            "model": {"name": self.batch.model, "digest": self.batch.digest},
            "question": self.batch.question,
            "state": self.state,
            "answered": self.answered,
            "rows": self.total,
            "bounds": None if self.bounds is None else vars(self.bounds),
            "message": self.message,
            "resumable": self.resumable,
        }

    def put(self, state: State, message: str = "", resumable: bool = False) -> None:
        """Another state, on disk too, if there is room; a job that has ended keeps its own.

        Where there is none, a service that starts anew goes on from the state before.

        Parameters
        ----------
        state, message : the new ones
        resumable : whether it lacks nothing but room
        """
        with self._turn:  # it may be ended while its rows are read
            if self.state in OPEN:
                self.state, self.message, self.resumable = state, clipped(message), resumable
                self._keep()

    def reopen(self) -> bool:
        """Queue a job that failed for lack of room again; False for any other, which stays."""
        with self._turn:
            if not self.resumable:
                return False
            self.state, self.message, self.resumable = "queued", "", False
            self._keep()
            return True

    def lacks_room(self, reason: str) -> None:
        """Let it fail, and say how it goes on.

        Parameters
        ----------
        reason : of the system
        """
        rows = "" if self.total is None else f"; {self.answered} of {self.total} rows are answered"
        again = f"make room, then POST /v1/jobs/{self.folder.name}/resume."
        self.put("failed", f"what was found can't be kept ({reason}){rows}; {again}", True)

    def _keep(self) -> None:
        told = {"state": self.state, "message": self.message, "resumable": self.resumable}
        text = json.dumps(told | {"answered": self.answered, "total": self.total})
        try:
            replace_whole(self.folder / STATE, lambda partial: partial.write_text(text))
        except OSError as error:
            log.error("the state of job %s was not kept: %s", self.folder.name, error)

    def result(self) -> str | None:
        """What was found of a group or by an audit, as JSON; None where there is nothing."""
        path = self.folder / RESULT
        return path.read_text() if path.exists() else None

    def page(self, offset: int, limit: int) -> list[dict[str, Any]] | None:
        """Some answers of a job that has ended; None while the last ones come in.

        Parameters
        ----------
        offset : of the first
        limit : how many at most
        """
        if self.busy and self.state == "cancelled":
            return None
        frame, path = self.held, self.folder / ANSWERS / TABLE
        if frame is None and not path.exists():
            return []
        if frame is None:
            frame = pd.read_parquet(path)
        if self.state == "cancelled":
            left = (frame == NOT_REACHED).any(axis=1)
            frame = frame.replace(NOT_REACHED, "not reached, as the job was cancelled")
            frame.loc[left, "stop_reason"] = "interrupted"
        found: list[dict[str, Any]] = as_plain(
            frame.iloc[offset : offset + limit].to_dict("records")
        )
        return found


class Jobs:
    """All jobs of a service.

    Parameters
    ----------
    folder : where they are kept; those that had not ended when the service did go on
    models : gives the models of the moment
    executor : workers of the job that is worked on
    learning : logs cheapest changes
    """

    def __init__(
        self,
        folder: Path,
        models: Callable[[], Mapping[str, Model]],
        executor: Answers,
        learning: Learning,
    ) -> None:
        self._models, self._executor, self._folder = models, executor, folder
        self._learning = learning
        self._queue: queue.Queue[Job | None] = queue.Queue()
        self._thread = threading.Thread(target=self._work, name="counterfolio-jobs", daemon=True)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.jobs = {job.folder.name: job for job in _kept(folder)}
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise InputError(f"the jobs of {folder} can't be read: {error}.") from error

    def start(self) -> None:
        """Begin, with what was left."""
        for job in self.jobs.values():
            if job.state in OPEN:
                self._queue.put(job)
        self._thread.start()

    def close(self) -> None:
        """Leave the rest to the next start."""
        self._queue.put(None)
        for job in self.jobs.values():
            job.stop.set()

    def add(self, batch: Batch, rows: bytes) -> Job:
        """A new job.

        Parameters
        ----------
        batch : what it asks
        rows : content of the file that it names

        Raises
        ------
        OSError
            It can't be kept; nothing of it is.
        """
        folder = self._folder / uuid.uuid4().hex
        partial = folder.with_suffix(".partial")
        try:
            partial.mkdir()
            (partial / batch.rows).write_bytes(rows)
            (partial / JOB).write_text(json.dumps(asdict(batch)))
            partial.rename(folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        job = Job(folder, batch)
        job.put("queued")
        self.jobs[folder.name] = job
        self._queue.put(job)
        return job

    def cancel(self, job: Job) -> None:
        """End a job; what is answered by then stays.

        Parameters
        ----------
        job : one of these
        """
        if job.state in OPEN:
            job.put("cancelled")
            job.stop.set()

    def resume(self, job: Job) -> bool:
        """Go on with a job that failed for lack of room; False for any other.

        Parameters
        ----------
        job : one of these
        """
        again = job.reopen()
        if again:
            self._queue.put(job)
        return again

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            # One that was put in before the start is in twice.
            if job.stop.is_set() or job.state not in OPEN:
                continue
            job.busy = True
            try:
                self._run(job)
                job.held = None
            except NoRoomError:  # for now; what is answered is kept
                self._queue.put(job)
            except BatchError as error:
                if job.batch.question != AUDIT:  # whose results are others
                    job.held = error.frame
                job.answered = error.answered
                job.lacks_room(_reason(error) or str(error))
            except CounterfolioError as error:
                if (reason := _reason(error)) is None:
                    job.put("failed", str(error))
                else:
                    job.lacks_room(reason)
            except OSError as error:
                job.lacks_room(error.strerror or str(error))
            except Exception:  # of one job; the next ones go on
                log.exception("job %s failed", job.folder.name)
                job.put("failed", "a fault of the service, which its log tells.")
            finally:
                job.busy = False

    def _run(self, job: Job) -> None:
        model = self._models().get(job.batch.model)
        if model is None or model.digest != job.batch.digest:
            raise InputError(f"the model {job.batch.model!r} is another one by now; ask anew.")
        arguments = dict(job.batch.arguments)
        by = arguments.get("by")
        X, beside = read_rows(job.folder / job.batch.rows, model, by)
        job.total = len(X)
        again = job.state == "running" and job.batch.question == GROUP
        job.put("running", ANEW if again else "")
        if job.batch.question == GROUP:
            self._group(job, model, arguments, X)
        else:
            self._rows(job, model, arguments if beside is None else arguments | {"by": beside}, X)
        if not job.stop.is_set():
            job.answered = job.total
            job.put("done", job.message)

    def _group(self, job: Job, model: Model, arguments: dict[str, Any], X: pd.DataFrame) -> None:
        def hear(bounds: Bounds) -> None:
            job.bounds = bounds

        told = ask_group(model, arguments, X, job.stop, hear)
        if told is not None:
            keep_group(told, job.folder, job.folder / ANSWERS)

    def _rows(self, job: Job, model: Model, arguments: dict[str, Any], X: pd.DataFrame) -> None:
        """A question of each row."""

        def count(answered: int, total: int) -> None:
            job.answered = answered

        settings: dict[str, Any] = meant(model.explainer, arguments)
        common: dict[str, Any] = {
            "executor": _Stoppable(self._executor, job.stop),
            "out": job.folder / ANSWERS,
            "resume": True,
            "on_answer": count,
        }
        if job.batch.question == AUDIT:
            found = model.explainer.audit(X, **settings, **common)
            if not job.stop.is_set():
                keep_audit(found, job.folder, job.folder / ANSWERS)
            return
        if job.batch.question == EXPLAIN:
            book = self._learning.book_of_batch(model)
            answers = model.explainer.explain_batch(X, **settings, **common, log=book)
            self._learning.hear_batch(model, arguments, X, answers)
        else:
            name = QUESTIONS[job.batch.question].method
            model.explainer.ask_batch(name, X, **settings, **common)


@dataclass(frozen=True, eq=False)
class _Stoppable:
    """Workers that are given no more once a job ends."""

    executor: Answers
    stop: threading.Event

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        left = (task for task in tasks if not self.stop.is_set())
        yield from self.executor(job, left)


def _reason(error: BaseException) -> str | None:
    """What the system says of a disk that is full; None where an error is of another kind."""
    cause = error.__cause__
    if not isinstance(cause, OSError):
        return None
    written = isinstance(error, BatchError) or cause.errno in FULL
    return cause.strerror if written else None


def _kept(folder: Path) -> Iterator[Job]:
    for left in folder.glob("*.partial"):
        shutil.rmtree(left)
    for path in sorted(folder.glob(f"*/{JOB}")):
        job = Job(path.parent, Batch(**json.loads(path.read_text())))
        if (path.parent / STATE).exists():
            told = json.loads((path.parent / STATE).read_text())
            job.state, job.message = told["state"], told["message"]
            job.answered, job.total = told["answered"], told["total"]
            if told.get("resumable"):  # as what was held is gone with the process
                job.state, job.message = "queued", ""
        yield job
