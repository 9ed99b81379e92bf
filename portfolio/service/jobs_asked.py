"""Operations on jobs with plain results, as the jobs may run in another process."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from portfolio.service.job import Batch, Job
from portfolio.service.jobs import Jobs

P = ParamSpec("P")
T = TypeVar("T")


class AskJobs(Protocol):
    """A function that runs operations where the jobs are."""

    async def __call__(
        self, operation: Callable[Concatenate[Jobs, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call ``asked(jobs, *args, **kwargs)`` and return its result."""
        ...


@dataclass(frozen=True, eq=False)
class JobsHere:
    """Operations on the jobs of this process.

    Attributes
    ----------
    jobs : Jobs, the jobs
    """

    jobs: Jobs

    async def __call__(
        self, operation: Callable[Concatenate[Jobs, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function in a thread; see :class:`AskJobs`."""
        return await asyncio.to_thread(operation, self.jobs, *args, **kwargs)


def add(jobs: Jobs, batch: Batch, rows: bytes) -> dict[str, Any]:
    """Create a job and return its state."""
    return jobs.add(batch, rows).summary()


def every(jobs: Jobs, owner: str | None, offset: int, limit: int) -> dict[str, Any]:
    """Return a page of job states, oldest first, and the number of jobs."""
    visible = [job for job in list(jobs.jobs.values()) if owner in (None, job.batch.owner)]
    page = [job.summary() for job in visible[offset : offset + limit]]
    return {"jobs": page, "offset": offset, "total": len(visible)}


def _job(jobs: Jobs, number: str, owner: str | None) -> Job | None:
    """Return a job if it exists and belongs to the owner, else None."""
    job = jobs.jobs.get(number)
    return job if job is not None and owner in (None, job.batch.owner) else None


def state(jobs: Jobs, number: str, owner: str | None) -> dict[str, Any] | None:
    """Return the state of a job; None if it does not exist."""
    job = _job(jobs, number, owner)
    return None if job is None else job.summary()


def cancel(jobs: Jobs, number: str, owner: str | None) -> tuple[dict[str, Any] | None, bool]:
    """Cancel a job, or remove one that has ended; return (state or None, done)."""
    job = _job(jobs, number, owner)
    done = job is not None and jobs.cancel(job)
    return None if job is None else job.summary(), done


def resume(jobs: Jobs, number: str, owner: str | None) -> tuple[dict[str, Any] | None, bool]:
    """Resume a job that failed for lack of disk space; return (state or None, resumed)."""
    job = _job(jobs, number, owner)
    goes_on = job is not None and jobs.resume(job)
    return None if job is None else job.summary(), goes_on


def page(jobs: Jobs, number: str, offset: int, limit: int) -> list[dict[str, Any]] | None:
    """Return a page of answers of a job that has ended; None while it still writes them."""
    job = jobs.jobs.get(number)  # it may have been removed in the meantime
    return [] if job is None else job.page(offset, limit)


def result(jobs: Jobs, number: str) -> str | None:
    """Return the result of a group or an audit as JSON; None if there is none."""
    job = jobs.jobs.get(number)
    return None if job is None else job.result()
