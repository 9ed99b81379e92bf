"""Jobs of the service: run one after another, stored in folders, resumed after a restart."""

import errno
import json
import logging
import queue
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from encoders.errors import CounterfolioError, InputError
from portfolio.batch.run import BatchError
from portfolio.running.work import NoRoomError
from portfolio.service.job import JOB, OPEN, Batch, Job, kept_job
from portfolio.service.job_files import PARTIAL, make_folder, remove
from portfolio.service.job_work import JobWork
from portfolio.service.messages import AUDIT

log = logging.getLogger("counterfolio.service")
FULL = (errno.ENOSPC, errno.EDQUOT)
DAY_S = 86_400.0
LOOK_S = 600.0  # seconds between searches for expired jobs


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

    def add(self, batch: Batch, rows: bytes) -> Job:
        """Create and queue a job."""
        folder = self._folder / uuid.uuid4().hex
        make_folder(folder, {batch.rows: rows, JOB: json.dumps(asdict(batch)).encode()})
        job = Job(folder, batch)
        job.put("queued")
        self.jobs[folder.name] = job
        self._queue.put(job)
        return job

    def cancel(self, job: Job) -> bool:
        """Cancel a job but keep its answers, or remove one that has ended; return True if done."""
        if job.state in OPEN:
            job.put("cancelled")
            job.stop.set()
            return True
        if job.busy:
            return False
        self._remove(job)
        return True

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

    def resume(self, job: Job) -> bool:
        """Queue a job that failed for lack of disk space again; return False for any other job."""
        again = job.reopen()
        if again:
            self._queue.put(job)
        return again

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
