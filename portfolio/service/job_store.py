"""Statements about the jobs of a database: each one is atomic, also among several servers."""

import json
import sqlite3
import uuid
from collections.abc import Iterable
from typing import Any

from sqlalchemy import BindParameter, and_, bindparam, case, func, or_, select, update
from sqlalchemy import delete as deletion

from portfolio.service.database import Database
from portfolio.service.job import OPEN, Batch, Job, JobRecord, NotAtOnceError, Worded
from portfolio.service.job_tables import JOBS
from portfolio.service.messages import Bounds

LEASE_S = 10.0  # seconds after which another server takes over the job of a server that is gone
J = JOBS.c
ID: BindParameter[str] = bindparam("id_")
OWNER: BindParameter[str] = bindparam("owner_")
LIMIT: BindParameter[int] = bindparam("limit_")
OFFSET: BindParameter[int] = bindparam("offset_")
IS_OPEN = J.state.in_(OPEN)


class JobStore:
    """The jobs in a database, and the leases of one server on those that it works on.

    A server renews its lease while it works on a job. If it is killed, the lease ends, and another
    server claims the job.
    """

    def __init__(self, database: Database, has_answers: bool = False) -> None:
        self._database, self.server = database, uuid.uuid4().hex
        now = database.now_s
        self._is_free = or_(J.server.is_(None), J.lease_until < now)
        self._lease = {"server": self.server, "lease_until": now + LEASE_S}
        described: tuple[Any, ...] = (J.id, J.model, J.digest, J.question, J.state, J.message)
        described += (J.answered, J.total, J.bounds, J.resumable)
        described += ((~self._is_free).label("busy"), J.created, J.attempt, J.stored, J.problem)
        one = select(*described, J.owner).where(J.id == ID)
        self._one, self._one_at_once = database.reader(one), database.reader_at_once(one)
        request = (J.arguments, J.rows, J.owner)
        self._batch = database.reader(select(*described, *request).where(J.id == ID))
        listed = or_(J.state != "cancelled", J.ended > 0.0)  # not those that were discarded
        count = select(func.count()).select_from(JOBS).where(listed)
        page = select(*described).where(listed).order_by(J.number).limit(LIMIT).offset(OFFSET)
        of_owner = J.owner == OWNER
        self._page, self._page_of = database.reader(page), database.reader(page.where(of_owner))
        self._count, self._count_of = database.reader(count), database.reader(count.where(of_owner))
        # PostgreSQL skips jobs that another server is claiming; SQLite has one writer at a time.
        waiting = and_(IS_OPEN, self._is_free, J.ready <= now)
        if not has_answers:  # jobs in a store of answers need servers with that store
            waiting = and_(waiting, J.stored.is_(None))
        first = select(J.number).where(waiting).order_by(J.ready, J.number).limit(1)
        claimed = first.with_for_update(skip_locked=True).scalar_subquery()
        self._waiting = database.reader(first)
        self._claim = (
            update(JOBS)
            .where(J.number == claimed)
            .values(self._lease | {"attempt": J.attempt + 1})
            .returning(*described, *request)
        )

    def add(
        self, job: str, batch: Batch, ready_in_s: float = 0.0, stored: int | None = None
    ) -> JobRecord:
        """Add a job to the queue, for a server that claims it after some seconds."""
        values = vars(batch) | {
            "id": job,
            "arguments": json.dumps(batch.arguments),
            "state": "queued",
            "message": "",
            "answered": 0,
            "resumable": False,
            "ended": 0.0,
            "ready": self._database.now_s + ready_in_s,
            "lease_until": 0.0,
            "attempt": 0,
            "stored": stored,
        }
        self._database.run(JOBS.insert().values(values))
        return JobRecord(job, batch.model, batch.digest, batch.question, created=batch.created)

    def queue(self, job: str) -> None:
        """Move a job that was added for later to the end of the queue."""
        self._change(job, IS_OPEN, {"ready": self._database.now_s})

    def discard(self, job: str) -> None:
        """End a job whose rows could not be stored; lists do not contain it, and it is expired."""
        self._change(job, IS_OPEN, {"state": "cancelled", "ended": 0.0})

    def record(self, job: str, owner: str | None) -> JobRecord | None:
        """Return a job if it exists and belongs to the owner, else None."""
        return _owned(self._one(id_=job), owner)

    def record_at_once(self, job: str, owner: str | None) -> JobRecord | None:
        """Return a job like :meth:`record`; raise NotAtOnceError if that takes longer."""
        if self._one_at_once is None:
            raise NotAtOnceError
        try:
            return _owned(self._one_at_once(id_=job), owner)
        except sqlite3.Error as error:  # which the other way reports
            raise NotAtOnceError from error

    def page(self, owner: str | None, offset: int, limit: int) -> tuple[list[JobRecord], int]:
        """Return a page of jobs, oldest first, and the number of all jobs of the owner."""
        if owner is None:
            rows, ((total,),) = self._page(limit_=limit, offset_=offset), self._count()
        else:
            rows = self._page_of(owner_=owner, limit_=limit, offset_=offset)
            ((total,),) = self._count_of(owner_=owner)
        return [_record(*row) for row in rows], total

    def claim(self) -> tuple[JobRecord, Batch] | None:
        """Lease the next job in the queue; return None if there is none."""
        if not self._waiting():  # reading does not wait for writers
            return None
        rows = self._database.rows(self._claim)
        if not rows:  # another server was faster
            return None
        return _with_request(*rows[0])

    def batch(self, job: str) -> Batch | None:
        """Return the request of a job; None if it does not exist."""
        rows = self._batch(id_=job)
        return _with_request(*rows[0])[1] if rows else None

    def renew(self, job: Job) -> str | None:
        """Store the progress of a job and renew its lease; return its state, None if lost."""
        message = job.waits or job.message
        values: dict[Any, Any] = self._lease | _progress(job)
        if job.waits or job.state == "running":  # unless it was cancelled
            state = "queued" if job.state == "queued" else "running"
            values |= {
                "state": case((IS_OPEN, state), else_=J.state),
                "message": case((IS_OPEN, message), else_=J.message),
            }
        rows = self._change(job.id, J.server == self.server, values, J.state)
        return rows[0].state if rows else None

    def finish(self, job: Job, ready_in_s: float = 0.0) -> None:
        """Store the end of a job, unless it was cancelled, and return the lease.

        A job that has not ended is queued again, for a server that claims it after some seconds.
        """
        now, is_leased = self._database.now_s, J.server == self.server
        values: dict[Any, Any] = _progress(job) | {"server": None}
        if job.state in OPEN:
            values["ready"] = now + ready_in_s
        else:
            ended: dict[Any, Any] = {"state": job.state, "message": job.message, "ended": now}
            ended["resumable"] = job.resumable
            ended["problem"] = None if job.problem is None else json.dumps(vars(job.problem))
            if self._change(job.id, and_(is_leased, IS_OPEN), values | ended):
                return
        self._change(job.id, is_leased, values)

    def release(self, job: str) -> None:
        """Return the lease of a job, so that another server continues at once."""
        self._change(job, J.server == self.server, {"server": None})

    def cancel(self, job: str) -> bool:
        """Cancel a job; return False if it has ended."""
        ended = {"state": "cancelled", "message": "", "ended": self._database.now_s}
        return bool(self._change(job, IS_OPEN, ended))

    def reopen(self, job: str | None = None) -> bool:
        """Queue a job, or all jobs, that failed for lack of disk space; return if there was one."""
        values: dict[Any, Any] = {"state": "queued", "message": "", "resumable": False}
        values |= {"ended": 0.0, "ready": self._database.now_s}
        return bool(self._change(job, and_(J.resumable, self._is_free), values))

    def lease_ended(self, job: str) -> bool:
        """Lease a job that has ended, to remove it; return False if it is not free."""
        return bool(self._change(job, and_(~IS_OPEN, self._is_free), self._lease))

    def delete(self, job: str) -> None:
        """Delete a job that this server has leased."""
        self._database.run(deletion(JOBS).where(J.id == job, J.server == self.server))

    def expired(self, keep_s: float) -> Iterable[str]:
        """Return the jobs that ended more than some seconds ago, if not 0, and discarded ones."""
        is_old = J.ended < (self._database.now_s - keep_s if keep_s else 1.0)
        old = select(J.id).where(~IS_OPEN, self._is_free, is_old)
        return [row.id for row in self._database.rows(old)]

    def has_stored(self) -> bool:
        """Return whether any job has its rows and answers in a store."""
        return bool(self._database.rows(select(J.id).where(J.stored.is_not(None)).limit(1)))

    def _change(
        self, job: str | None, condition: Any, values: dict[Any, Any], *returned: Any
    ) -> list[Any]:
        """Change jobs that meet a condition; return their columns."""
        change = update(JOBS).where(condition).values(values).returning(*(returned or (J.id,)))
        return self._database.rows(change if job is None else change.where(J.id == job))


def _progress(job: Job) -> dict[Any, Any]:
    bounds = None if job.bounds is None else json.dumps(vars(job.bounds))
    progress = {"answered": job.answered, "total": job.total, "bounds": bounds}
    return progress | {"stored": job.stored}


def _owned(rows: list[Any], owner: str | None) -> JobRecord | None:
    """Return the job of a row, whose last column is its owner, if it belongs to an owner."""
    if not rows:
        return None
    *described, creator = rows[0]
    return _record(*described) if owner in (None, creator) else None


def _with_request(*columns: Any) -> tuple[JobRecord, Batch]:
    """Return the job of a row, and its request."""
    *described, arguments, file, owner = columns
    record = _record(*described)
    settings, names = json.loads(arguments), (record.model, record.digest, record.question)
    return record, Batch(*names, settings, file, owner, record.created)


def _record(*columns: Any) -> JobRecord:
    """Return the job of a row."""
    *first, bounds, resumable, busy, created, attempt, stored, problem = columns
    number, model, digest, question, state, message, answered, total = first
    return JobRecord(
        number,
        model,
        digest,
        question,
        state,
        message,
        answered,
        total,
        None if bounds is None else Bounds(**json.loads(bounds)),
        bool(resumable),
        bool(busy),
        created,
        attempt,
        stored,
        None if problem is None else Worded(**json.loads(problem)),
    )
