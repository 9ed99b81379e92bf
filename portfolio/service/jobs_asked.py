"""What routes ask of jobs, told as plain values: they may be at work in another process."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from portfolio.service.job import Batch, Job
from portfolio.service.jobs import Jobs

P = ParamSpec("P")
T = TypeVar("T")


class AskJobs(Protocol):
    """The way to the jobs, wherever they are."""

    async def __call__(
        self, asked: Callable[Concatenate[Jobs, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function there."""
        ...


@dataclass(frozen=True, eq=False)
class JobsHere:
    """The way to jobs of this process.

    Attributes
    ----------
    jobs : that are asked
    """

    jobs: Jobs

    async def __call__(
        self, asked: Callable[Concatenate[Jobs, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function beside the event loop; see :class:`AskJobs`."""
        return await asyncio.to_thread(asked, self.jobs, *args, **kwargs)


def add(jobs: Jobs, batch: Batch, rows: bytes) -> dict[str, Any]:
    """Begin a job, and tell how it stands."""
    return jobs.add(batch, rows).told()


def every(jobs: Jobs, owner: str | None, offset: int, limit: int) -> dict[str, Any]:
    """Return how some jobs stand, the oldest first, and how many there are."""
    own = [job for job in list(jobs.jobs.values()) if owner in (None, job.batch.owner)]
    page = [job.told() for job in own[offset : offset + limit]]
    return {"jobs": page, "offset": offset, "total": len(own)}


def _job(jobs: Jobs, number: str, owner: str | None) -> Job | None:
    """Return a job that somebody may see; None: there is none."""
    job = jobs.jobs.get(number)
    return job if job is not None and owner in (None, job.batch.owner) else None


def told(jobs: Jobs, number: str, owner: str | None) -> dict[str, Any] | None:
    """Return how a job stands; None: there is none."""
    job = _job(jobs, number, owner)
    return None if job is None else job.told()


def cancel(jobs: Jobs, number: str, owner: str | None) -> tuple[dict[str, Any] | None, bool]:
    """Cancel a job, or remove one that has ended."""
    job = _job(jobs, number, owner)
    done = job is not None and jobs.cancel(job)
    return None if job is None else job.told(), done


def resume(jobs: Jobs, number: str, owner: str | None) -> tuple[dict[str, Any] | None, bool]:
    """Go on with a job that failed for lack of room."""
    job = _job(jobs, number, owner)
    goes_on = job is not None and jobs.resume(job)
    return None if job is None else job.told(), goes_on


def page(jobs: Jobs, number: str, offset: int, limit: int) -> list[dict[str, Any]] | None:
    """Some answers of a job that has ended; None while the last ones come in."""
    job = jobs.jobs.get(number)  # it may have been removed meanwhile
    return [] if job is None else job.page(offset, limit)


def result(jobs: Jobs, number: str) -> str | None:
    """What was found of a group or by an audit, as JSON; None where there is nothing."""
    job = jobs.jobs.get(number)
    return None if job is None else job.result()
