"""Jobs of the service: kept in a database, run one after another, continued by any server."""

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import pandas as pd

from encoders.core.errors import InputError
from portfolio.service.job import (
    FULL,
    OPEN,
    PARTIAL,
    Batch,
    JobFiles,
    JobRecord,
    NotAtOnceError,
    answers_of,
    remove,
)
from portfolio.service.job_folders import JobFolders
from portfolio.service.job_runner import JobRunner
from portfolio.service.job_work import JobWork
from portfolio.service.problems import Problem

if TYPE_CHECKING:  # SQLAlchemy is imported only by services that have jobs
    from portfolio.service.answer_store import AnswerStore
    from portfolio.service.job_store import JobStore

log = logging.getLogger("counterfolio.service")
EARLIER = "job.json"  # in the folders of jobs of earlier versions
DAY_S = 86_400.0
ABANDONED_S = 3600.0  # age at which an incomplete folder is removed
ARRIVING_S = 600.0  # maximum seconds to store the rows of a new job
P = ParamSpec("P")
T = TypeVar("T")
Summary = dict[str, Any]  # state of a job as plain values


@dataclass(frozen=True, eq=False)
class AskJobs:
    """Access to jobs from the event loop."""

    jobs: "Callable[[], Jobs]"  # function that returns the jobs

    async def __call__(
        self, method: Callable[Concatenate["Jobs", P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a method in a thread and return its result."""
        return await asyncio.to_thread(method, self.jobs(), *args, **kwargs)

    async def state(self, number: str, owner: str | None) -> Summary | None:
        """Call :meth:`Jobs.state`, without a thread if it can answer at once: clients poll it."""
        try:
            return self.jobs().state(number, owner, at_once=True)
        except NotAtOnceError:
            return await self(Jobs.state, number, owner)


class Jobs:
    """All jobs of a database, with their rows and answers in a folder.

    Without ``work`` this server accepts jobs and returns their answers, and other servers run them.
    """

    def __init__(
        self,
        folder: Path,
        store: "JobStore",
        work: JobWork | None,
        keep_days: float = 0.0,
        answers: "AnswerStore | None" = None,
    ) -> None:
        self._folders, self._store = JobFolders(folder, answers), store
        self._keep_s = keep_days * DAY_S
        self._runner = JobRunner(store, work, self._folders, self.remove_old)

    def start(self) -> None:
        """Run jobs, also those whose server was killed."""
        self._runner.start()

    def close(self) -> None:
        """Stop; another server, or this one after its next start, continues with the jobs."""
        self._runner.close()

    def add(self, batch: Batch, rows: bytes) -> Summary:
        """Create and queue a job; return its state.

        The database has it first, so that no folder belongs to an unknown job. If the server is
        killed before it has stored the rows, the job fails when its turn comes.
        """
        number = uuid.uuid4().hex
        record = self._store.add(number, batch, ARRIVING_S, self._folders.first_attempt)
        try:
            self._folders.add(number, batch, rows)
        except BaseException:
            self._discard(number)
            raise
        self._store.queue(number)
        self._runner.wake()
        return record.summary()

    def _discard(self, number: str) -> None:
        """Remove a job without rows, or let :meth:`remove_old` do so if its store is not there.

        Its objects may exist, as a store may lose only the response to a request.
        """
        self._store.discard(number)
        with suppress(Problem):
            self._remove(number)

    def every(self, owner: str | None, offset: int, limit: int) -> dict[str, Any]:
        """Return a page of job states, oldest first, and the number of jobs."""
        records, total = self._store.page(owner, offset, limit)
        page = [self._current(record).summary() for record in records]
        return {"jobs": page, "offset": offset, "total": total}

    def state(self, number: str, owner: str | None, at_once: bool = False) -> Summary | None:
        """Return the state of a job; None if it does not exist or belongs to another owner.

        With ``at_once`` it raises NotAtOnceError where reading would take longer.
        """
        read = self._store.record_at_once if at_once else self._store.record
        record = read(number, owner)
        return None if record is None else self._current(record).summary()

    def _current(self, record: JobRecord) -> JobRecord:
        """Return a job with the latest progress, if this server works on it."""
        job = self._runner.job
        if job is None or job.id != record.id or record.state not in OPEN:
            return record
        return replace(
            record,
            answered=job.answered,
            total=job.total,
            bounds=job.bounds,
            message=job.waits or job.message,  # why it failed, before the database has it
        )

    def cancel(self, number: str, owner: str | None) -> tuple[Summary | None, bool]:
        """Cancel a job but keep its answers, or remove one that has ended; return (state, done)."""
        record = self._store.record(number, owner)
        if record is None:
            return None, False
        if record.state not in OPEN:
            return record.summary(), self._remove(number)
        done = self._store.cancel(number)
        self._runner.stop(number)
        return self.state(number, owner), done

    def resume(self, number: str, owner: str | None) -> tuple[Summary | None, bool]:
        """Resume a job that failed for lack of disk space; return (state, resumed)."""
        if self._store.record(number, owner) is None:
            return None, False
        resumed = self._store.reopen(number)
        self._runner.wake()
        return self.state(number, owner), resumed

    def page(self, number: str, offset: int, limit: int | None) -> pd.DataFrame | None:
        """Return answers of a job that has ended, from an offset; None while it writes them."""
        record = self._store.record(number, None)
        if record is None:  # removed in the meantime
            return pd.DataFrame()
        if record.busy and record.state == "cancelled":
            return None
        unsaved: pd.DataFrame | None = self._runner.unsaved.get(number)
        if unsaved is not None:
            end = None if limit is None else offset + limit
            return answers_of(unsaved.iloc[offset:end], record.state)
        files = JobFiles(self._folders.answer_folder(record))
        return answers_of(files.page(offset, limit), record.state)

    def batch(self, number: str) -> Batch | None:
        """Return the request of a job; None if it does not exist."""
        return self._store.batch(number)

    def files(self, number: str) -> JobFiles:
        """Return the files of a job."""
        record = self._store.record(number, None)
        return JobFiles(self._folders.answer_folder(record or JobRecord(number, "", "", "")))

    def result(self, number: str) -> str | None:
        """Return the result of a group or an audit as JSON; None if there is none."""
        return self.files(number).result()

    def _remove(self, number: str) -> bool:
        """Remove a job that has ended; return False while a server works on it."""
        record = self._store.record(number, None)
        if record is None or not self._store.lease_ended(number):
            return False
        try:
            hidden = self._folders.hide(record)
        except Problem:  # the job is kept, for a later attempt
            self._store.release(number)
            raise
        self._store.delete(number)
        self._runner.unsaved.pop(number, None)
        for folder in hidden:
            remove(folder)
        return True

    def remove_old(self) -> None:
        """Remove expired jobs, and outdated copies of others."""
        self._folders.remove_outdated(lambda number: self._store.record(number, None))
        for number in self._store.expired(self._keep_s):
            self._remove(number)


def prepare_folder(folder: Path) -> None:
    """Create the folder of the jobs; raise InputError if it can't be used."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _refuse_earlier(folder)
        _remove_abandoned(folder)
    except OSError as error:
        raise InputError(f"cannot read the jobs in {folder}: {error}. Check the folder.") from error
    try:
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        if error.errno not in FULL:  # jobs wait for free space
            raise InputError(
                f"cannot write to the folder of jobs {folder} ({error.strerror}). Give --jobs a "
                "folder that the user of this process can write to."
            ) from error


def _refuse_earlier(folder: Path) -> None:
    """Raise InputError if an earlier version has kept jobs in a folder."""
    for path in folder.glob(f"*/{EARLIER}"):
        raise InputError(
            f"{folder} has jobs of an earlier version of counterfolio, such as "
            f"{path.parent.name!r}. Give an empty folder, and send unfinished jobs again."
        )


def _remove_abandoned(folder: Path) -> None:
    """Remove folders that a server left incomplete when it was killed."""
    before = time.time() - ABANDONED_S
    for partial in folder.glob(f"*{PARTIAL}"):
        if partial.lstat().st_mtime < before:
            remove(partial)
