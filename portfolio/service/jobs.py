"""Jobs of the service: run one after another, stored in folders, resumed after a restart."""

import asyncio
import errno
import json
import logging
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from encoders.core.errors import CounterfolioError, InputError
from portfolio.batch.run import BatchError
from portfolio.service.job import JOB, OPEN, PARTIAL, Batch, Job, kept_job, make_folder, remove
from portfolio.service.job_work import JobWork
from portfolio.service.messages import AUDIT
from portfolio.workers.work import NoRoomError

log = logging.getLogger("counterfolio.service")
FULL = (errno.ENOSPC, errno.EDQUOT)
DAY_S = 86_400.0
LOOK_S = 600.0  # seconds between searches for expired jobs
P = ParamSpec("P")
T = TypeVar("T")
Summary = dict[str, Any]  # state of a job as plain values


class AskJobs(Protocol):
    """A function that calls methods of :class:`Jobs`, which may be in another process."""

    async def __call__(
        self, method: Callable[Concatenate["Jobs", P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a method with arguments and return its result, which is plain values."""
        ...


@dataclass(frozen=True, eq=False)
class JobsHere:
    """Access to the jobs of this process."""

    jobs: "Callable[[], Jobs]"  # function that returns the jobs

    async def __call__(
        self, method: Callable[Concatenate["Jobs", P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a method in a thread; see :class:`AskJobs`."""
        return await asyncio.to_thread(method, self.jobs(), *args, **kwargs)


class Jobs:
    """All jobs of a service."""

    def __init__(self, folder: Path, work: JobWork, keep_days: float = 0.0) -> None:
        self._folder, self._work_on, self._keep_s = folder, work, keep_days * DAY_S
        self._queue: queue.Queue[Job | None] = queue.Queue()
        self._thread = threading.Thread(target=self._work, name="counterfolio-jobs", daemon=True)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.jobs = {job.folder.name: job for job in _kept(folder)}
        except OSError as error:
            raise InputError(
                f"cannot read the jobs in {folder}: {error}. Check the folder."
            ) from error

    def start(self) -> None:
        """Start with the unfinished jobs of the folder."""
        for job in self.jobs.values():
            if job.state in OPEN:
                self._queue.put(job)
        self._thread.start()

    def close(self) -> None:
        """Stop; unfinished jobs continue at the next start."""
        self._queue.put(None)
        for job in self.jobs.values():
            job.stop.set()

    def add(self, batch: Batch, rows: bytes) -> Summary:
        """Create and queue a job; return its state."""
        folder = self._folder / uuid.uuid4().hex
        make_folder(folder, {batch.rows: rows, JOB: json.dumps(asdict(batch)).encode()})
        job = Job(folder, batch)
        job.put("queued")
        self.jobs[folder.name] = job
        self._queue.put(job)
        return job.summary()

    def every(self, owner: str | None, offset: int, limit: int) -> dict[str, Any]:
        """Return a page of job states, oldest first, and the number of jobs."""
        visible = [job for job in list(self.jobs.values()) if owner in (None, job.batch.owner)]
        page = [job.summary() for job in visible[offset : offset + limit]]
        return {"jobs": page, "offset": offset, "total": len(visible)}

    def _job(self, number: str, owner: str | None) -> Job | None:
        """Return a job if it exists and belongs to the owner, else None."""
        job = self.jobs.get(number)
        return job if job is not None and owner in (None, job.batch.owner) else None

    def state(self, number: str, owner: str | None) -> Summary | None:
        """Return the state of a job; None if it does not exist."""
        job = self._job(number, owner)
        return None if job is None else job.summary()

    def cancel(self, number: str, owner: str | None) -> tuple[Summary | None, bool]:
        """Cancel a job but keep its answers, or remove one that has ended; return (state, done)."""
        job = self._job(number, owner)
        if job is None:
            return None, False
        done = job.state in OPEN or not job.busy
        if job.state in OPEN:
            job.put("cancelled")
            job.stop.set()
        elif done:
            self._remove(job)
        return job.summary(), done

    def resume(self, number: str, owner: str | None) -> tuple[Summary | None, bool]:
        """Resume a job that failed for lack of disk space; return (state, resumed)."""
        job = self._job(number, owner)
        if job is None:
            return None, False
        resumed = job.reopen()
        if resumed:
            self._queue.put(job)
        return job.summary(), resumed

    def page(self, number: str, offset: int, limit: int) -> list[dict[str, Any]] | None:
        """Return a page of answers of a job that has ended; None while it still writes them."""
        job = self.jobs.get(number)  # it may have been removed in the meantime
        return [] if job is None else job.page(offset, limit)

    def result(self, number: str) -> str | None:
        """Return the result of a group or an audit as JSON; None if there is none."""
        job = self.jobs.get(number)
        return None if job is None else job.result()

    def _remove(self, job: Job) -> None:
        self.jobs.pop(job.folder.name, None)
        remove(job.folder)

    def _remove_old(self) -> None:
        """Remove expired jobs."""
        if not self._keep_s:
            return
        before = time.time() - self._keep_s
        for job in list(self.jobs.values()):
            if job.state not in OPEN and not job.busy and job.ended < before:
                self._remove(job)

    def _next(self) -> Job | None:
        while True:
            self._remove_old()
            try:
                return self._queue.get(timeout=LOOK_S)
            except queue.Empty:
                continue

    def _work(self) -> None:
        while (job := self._next()) is not None:
            # Jobs that were added before the start are queued twice.
            if job.stop.is_set() or job.state not in OPEN:
                continue
            job.busy = True
            try:
                self._work_on.run(job)
                job.unsaved = None
            except NoRoomError:  # no free worker at the moment; the answers are kept
                self._queue.put(job)
            except BatchError as error:
                if job.batch.question != AUDIT:  # results of audits have another format
                    job.unsaved = error.frame
                job.answered = error.answered
                job.lacks_room(_reason(error) or str(error))
            except CounterfolioError as error:
                if (reason := _reason(error)) is None:
                    job.put("failed", str(error))
                else:
                    job.lacks_room(reason)
            except OSError as error:
                job.lacks_room(error.strerror or str(error))
            except Exception:  # a bug must not stop the following jobs
                log.exception("job %s failed", job.folder.name)
                job.put("failed", "internal error. See the server log.")
            finally:
                job.busy = False


def _reason(error: BaseException) -> str | None:
    """Return the message of the operating system if storing failed; None for other errors."""
    cause = error.__cause__
    if not isinstance(cause, OSError):
        return None
    written = isinstance(error, BatchError) or cause.errno in FULL
    return cause.strerror if written else None


def _kept(folder: Path) -> Iterator[Job]:
    """Yield the jobs of a folder, oldest first."""
    for partial in folder.glob(f"*{PARTIAL}"):
        remove(partial)
    entries = [entry for entry in folder.iterdir() if entry.is_dir() or entry.is_symlink()]
    entries = [entry for entry in entries if entry.name.isascii()]  # job ids are ASCII
    described = [entry for entry in entries if (entry / JOB).exists() or (entry / JOB).is_symlink()]
    jobs = [kept_job(entry) for entry in sorted(described)]
    yield from sorted(jobs, key=lambda job: job.batch.created)
