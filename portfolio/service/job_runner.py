"""The thread of a server that runs jobs, and the thread that keeps its lease on the current job."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from encoders.core.errors import CounterfolioError
from portfolio.batch.run import BatchError
from portfolio.service.answer_store import StoreProblem
from portfolio.service.job import FULL, OPEN, Batch, Job, JobFiles, JobRecord, Worded, remove
from portfolio.service.job_folders import JobFolders
from portfolio.service.job_work import JobWork
from portfolio.service.messages import AUDIT, BUG
from portfolio.service.problems import Problem
from portfolio.workers.repeated import repeated
from portfolio.workers.work import NoRoomError

if TYPE_CHECKING:
    from portfolio.service.job_store import JobStore

log = logging.getLogger("counterfolio.service")
BEAT_S = 1.0  # seconds between renewals of a lease, which also store the progress
LOOK_S = 1.0  # seconds between searches for a job in the database
OLD_S = 600.0  # seconds between searches for expired jobs
CHECKPOINT_S = 3.0  # seconds between uploads of the answers of the current job to a store
SAVE_S = 5.0  # maximum seconds of the upload when the server stops
RETRY_S = 5.0  # seconds between attempts to use a store that is not there
WAITS = f"the store of answers can't be used ({{}}). The server retries every {RETRY_S:g} seconds."
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
        folders: JobFolders,
        remove_old: Callable[[], None],
    ) -> None:
        self._store, self._work, self._folders, self._remove_old = store, work, folders, remove_old
        self._closing, self._wake = threading.Event(), threading.Event()
        self._save: Callable[[], None] | None = None  # uploads the answers of the current job
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
        """Stop, and return the lease of the current job, whose answers so far are uploaded."""
        if (job := self.job) is not None and (save := self._save) is not None:
            saving = threading.Thread(target=self._save_once, args=[job, save], daemon=True)
            saving.start()
            saving.join(SAVE_S)
        self._closing.set()
        self._wake.set()
        if (job := self.job) is not None:
            job.stop.set()
            try:
                self._store.release(job.id)
            except Problem:  # then the lease ends
                log.warning("job %s continues after its lease has ended", job.id)

    def _save_once(self, job: Job, save: Callable[[], None]) -> None:
        """Upload the answers so far, if that is possible at the moment."""
        try:
            if self._store.renew(job) is not None:
                save()
                self._store.renew(job)
        except (Problem, OSError):
            log.warning("the last answers of job %s are not stored and are computed again", job.id)

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
            self._folders.work_folder(record),
            batch,
            record.state,
            record.message,
            record.answered,
            record.total,
            attempt=record.attempt,
            stored=record.stored,
            store=self._renew,
        )
        self.job = job
        if self._closing.is_set():  # closed between the claim and now
            job.stop.set()
        work_on = self._work_on if job.stored is None else self._work_with_store
        with repeated(BEAT_S, partial(self._renew, job), "counterfolio-lease"):
            ready_in_s = work_on(job)
            self._finish(job, ready_in_s)
        self.job = None
        if job.waits:  # without a lease, so that other servers may reach the store
            self._closing.wait(RETRY_S)

    def _work_on(self, job: Job) -> float:
        """Run a job in its folder; return the seconds until it may be continued."""
        try:
            assert self._work is not None
            JobFiles(job.folder).check()
            self._work.run(job)
            self.unsaved.pop(job.id, None)
        except NoRoomError:  # no free worker at the moment; the answers are kept
            pass
        except Exception as error:
            if isinstance(error.__cause__, BlockingIOError):
                return BLOCKED_S
            self._fail(job, error)
        return 0.0

    def _work_with_store(self, job: Job) -> float:
        """Run a job on a copy of its objects, and upload the answers while it runs."""
        upload = self._folders.upload_of(job)

        def save() -> None:
            upload()
            job.stored = job.attempt  # which the next renewal stores

        try:
            self._folders.fetch(job)
        except (Problem, OSError) as error:
            self._wait_for_store(job, error)
            self._renew(job)
            remove(job.folder)
            return 0.0
        self._save, save_again = save, partial(self._until_stored, job, save)
        with repeated(CHECKPOINT_S, save_again, "counterfolio-checkpoints"):
            ready_in_s = self._work_on(job)
        is_saved = save_again()
        self._save = None
        if is_saved:
            with suppress(OSError):  # then the answers are copied from the store
                self._folders.keep(job)
        else:  # the lease is lost, or the server stops: the job must not end here
            job.state = "running"
            remove(job.folder)
        return ready_in_s

    def _wait_for_store(self, job: Job, error: Exception) -> None:
        """Log why a job waits for the store, and show it to clients."""
        reason = getattr(error, "strerror", None) or "it is not reachable"
        job.waits = WAITS.format(reason)
        log.warning("job %s: %s", job.id, job.waits)

    def _until_stored(self, job: Job, access: Callable[[], None]) -> bool:
        """Retry an access to the store; return False if the lease is lost or the server stops."""
        while not self._closing.is_set():
            try:
                if self._store.renew(job) is None:
                    if self._store.record(job.id, None) is None:  # deleted during an upload
                        self._folders.remove_objects(job.id)
                    return False
                access()
            except (StoreProblem, OSError) as error:
                self._wait_for_store(job, error)
            except Problem:  # until the database is there again
                log.warning("the lease of job %s was not renewed", job.id)
            else:
                job.waits = ""
                return True
            self._closing.wait(RETRY_S)
        return False

    def _fail(self, job: Job, error: Exception) -> None:
        """Set the state of a job that failed."""
        reason = _reason(error)
        if isinstance(error, BatchError):
            if job.batch.question != AUDIT:  # results of audits have another format
                self.unsaved[job.id] = error.frame
            job.answered = error.answered
            job.lacks_room(reason or str(error))
        elif isinstance(error, CounterfolioError) and reason is None:
            job.put("failed", str(error), problem=Worded.of(error))
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
