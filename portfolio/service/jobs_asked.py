"""What routes ask of jobs, told as plain values: they may be at work in another process."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from portfolio.service.jobs import Batch, Jobs

P = ParamSpec("P")
T = TypeVar("T")


class AskJobs(Protocol):
    """The way to the jobs, wherever they are."""

    async def __call__(
        self, asked: Callable[Concatenate[Jobs, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function there.

        Parameters
        ----------
        asked : one of this module
        *args, **kwargs : of it, besides the jobs
        """
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
        """Call a function beside the event loop; see :class:`AskJobs`.

        Parameters
        ----------
        asked : one of this module
        *args, **kwargs : of it, besides the jobs
        """
        return await asyncio.to_thread(asked, self.jobs, *args, **kwargs)


def add(jobs: Jobs, batch: Batch, rows: bytes) -> dict[str, Any]:
    """Begin a job, and tell how it stands.

    Parameters
    ----------
    jobs : that it joins
    batch : what it asks
    rows : content of the file that it names

    Raises
    ------
    OSError
        It can't be kept; nothing of it is.
    """
    return jobs.add(batch, rows).told()


def every(jobs: Jobs) -> list[dict[str, Any]]:
    """How all jobs stand.

    Parameters
    ----------
    jobs : of a service
    """
    return [job.told() for job in list(jobs.jobs.values())]


def told(jobs: Jobs, number: str) -> dict[str, Any] | None:
    """How a job stands; None: there is none.

    Parameters
    ----------
    jobs : of a service
    number : of one
    """
    job = jobs.jobs.get(number)
    return None if job is None else job.told()


def cancel(jobs: Jobs, number: str) -> dict[str, Any] | None:
    """End a job, and tell how it stands; None: there is none.

    Parameters
    ----------
    jobs : of a service
    number : of one
    """
    job = jobs.jobs.get(number)
    if job is not None:
        jobs.cancel(job)
    return told(jobs, number)


def resume(jobs: Jobs, number: str) -> tuple[dict[str, Any] | None, bool]:
    """Go on with a job that failed for lack of room.

    Parameters
    ----------
    jobs : of a service
    number : of one

    Returns
    -------
    How it stands, None where there is none, and whether it goes on.
    """
    job = jobs.jobs.get(number)
    goes_on = job is not None and jobs.resume(job)
    return told(jobs, number), goes_on


def page(jobs: Jobs, number: str, offset: int, limit: int) -> list[dict[str, Any]] | None:
    """Some answers of a job that has ended; None while the last ones come in.

    Parameters
    ----------
    jobs : of a service
    number : of one
    offset : of the first
    limit : how many at most
    """
    return jobs.jobs[number].page(offset, limit)


def result(jobs: Jobs, number: str) -> str | None:
    """What was found of a group or by an audit, as JSON; None where there is nothing.

    Parameters
    ----------
    jobs : of a service
    number : of one
    """
    return jobs.jobs[number].result()
