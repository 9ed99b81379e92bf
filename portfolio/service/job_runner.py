"""The thread of a server that runs jobs, and the thread that keeps its lease on the current job."""

import errno
import logging
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from encoders.core.errors import CounterfolioError
from portfolio.batch.run import BatchError
from portfolio.service.job import OPEN, Batch, Job, JobFiles, JobRecord
from portfolio.service.job_work import JobWork
from portfolio.service.messages import AUDIT, BUG
from portfolio.service.problems import Problem
from portfolio.workers.repeated import repeated
from portfolio.workers.work import NoRoomError

if TYPE_CHECKING:
    from portfolio.service.job_store import JobStore

log = logging.getLogger("counterfolio.service")
FULL = (errno.ENOSPC, errno.EDQUOT)
BEAT_S = 1.0  # seconds between renewals of a lease, which also store the progress
LOOK_S = 1.0  # seconds between searches for a job in the database
OLD_S = 600.0  # seconds between searches for expired jobs
BLOCKED_S = 1.0  # seconds until a job whose answers another process is still writing is tried again


class JobRunner:
    """Runs the jobs of a database one after another.

    Attributes
    ----------
    job : Job or None, job that this server works on.
    unsaved : dict from job id to DataFrame, answers that could not be written to disk.
    """

    def __init__(
        self,
        store: "JobStore",
        work: JobWork | None,
        folder: Path,
        remove_old: Callable[[], None],
    ) -> None:
        self._store, self._work, self._folder, self._remove_old = store, work, folder, remove_old
        self._closing, self._wake = threading.Event(), threading.Event()
        self.job: Job | None = None
        self.unsaved: dict[str, pd.DataFrame] = {}

    def start(self) -> None:
        """Start the threads."""
        if self._work is not None:
            self._start("counterfolio-jobs", self._run_all)
        self._start("counterfolio-old-jobs", self._remove_all_old)

    def _start(self, name: str, target: Callable[[], None]) -> None:
        threading.Thread(target=target, name=name, daemon=True).start()

    def wake(self) -> None:
        """Look for a job at once."""
        self._wake.set()

    def stop(self, number: str) -> None:
        """Stop a job that was cancelled, if this server works on it."""
        if (job := self.job) is not None and job.id == number:
            job.stop.set()

    def close(self) -> None:
        """Stop, and return the lease of the current job."""
        self._closing.set()
        self._wake.set()
        if (job := self.job) is not None:
            job.stop.set()
            try:
                self._store.release(job.id)
            except Problem:  # then the lease ends
                log.warning("job %s continues after its lease has ended", job.id)

    def _remove_all_old(self) -> None:
        while not self._closing.is_set():
            try:
                self._remove_old()
            except (Problem, OSError) as error:
                log.warning("removing expired jobs failed: %s", error)
            self._closing.wait(OLD_S)

    def _run_all(self) -> None:
        reopened = False
        while not self._closing.is_set():
            try:
                if not reopened:  # jobs that lacked disk space
                    self._store.reopen()
                    reopened = True
                claimed = self._store.claim()
            except Problem:  # the database is not there at the moment, which is logged
                claimed = None
            except Exception:  # a bug must not stop the following jobs
                log.exception("claiming a job failed")
                claimed = None
            if claimed is None:
                self._wake.wait(LOOK_S)
                self._wake.clear()
            else:
                self._run(*claimed)

    def _run(self, record: JobRecord, batch: Batch) -> None:
        """Run a job until it ends, is cancelled, or goes to another server."""
        job = Job(
            self._folder / record.id,
            batch,
            record.state,
            record.message,
            record.answered,
            record.total,
            store=self._renew,
        )
        self.job = job
        if self._closing.is_set():  # closed between the claim and now
            job.stop.set()
        ready_in_s = 0.0
        with repeated(BEAT_S, partial(self._renew, job), "counterfolio-lease"):
            try:
                assert self._work is not None
                JobFiles(job.folder).check()
                self._work.run(job)
                self.unsaved.pop(job.id, None)
            except NoRoomError:  # no free worker at the moment; the answers are kept
                pass
            except Exception as error:
                if isinstance(error.__cause__, BlockingIOError):
                    ready_in_s = BLOCKED_S
                else:
                    self._fail(job, error)
            self._finish(job, ready_in_s)
        self.job = None

    def _fail(self, job: Job, error: Exception) -> None:
        """Set the state of a job that failed."""
        reason = _reason(error)
        if isinstance(error, BatchError):
            if job.batch.question != AUDIT:  # results of audits have another format
                self.unsaved[job.id] = error.frame
            job.answered = error.answered
            job.lacks_room(reason or str(error))
        elif isinstance(error, CounterfolioError) and reason is None:
            job.put("failed", str(error))
        elif isinstance(error, OSError):
            job.lacks_room(error.strerror or str(error))
        elif reason is not None:
            job.lacks_room(reason)
        else:
            log.error("job %s failed", job.id, exc_info=error)
            job.put("failed", BUG)

    def _finish(self, job: Job, ready_in_s: float) -> None:
        """Store the end of a job; wait for a database that is not there."""
        while True:
            try:
                self._store.finish(job, ready_in_s)
                return
            except Problem:
                if self._closing.wait(BEAT_S):
                    return  # the lease ends, and another server repeats the end of the job

    def _renew(self, job: Job) -> None:
        """Renew the lease of a job; stop the job if it was cancelled or the lease is lost."""
        try:
            if self._closing.is_set() or self._store.renew(job) not in OPEN:
                job.stop.set()
        except Problem:  # until the database is there again
            log.warning("the lease of job %s was not renewed", job.id)


def _reason(error: BaseException) -> str | None:
    """Return the message of the operating system if storing failed; None for other errors."""
    cause = error.__cause__
    if not isinstance(cause, OSError):
        return None
    written = isinstance(error, BatchError) or cause.errno in FULL
    return cause.strerror if written else None
