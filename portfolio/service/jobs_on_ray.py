"""Jobs on Ray Serve: one replica keeps the jobs, actors on the cluster answer their rows."""

import asyncio
import fcntl
import logging
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from ray import serve
from ray.exceptions import RayError, RayTaskError
from ray.serve import Application
from ray.serve.exceptions import RayServeException

from portfolio.running.local_executor import LocalExecutor
from portfolio.running.ray.connection import connect
from portfolio.running.ray.executor import RayExecutor
from portfolio.running.work import Answers, Record, Task, Work
from portfolio.service.catalogue import Model
from portfolio.service.jobs import Jobs
from portfolio.service.jobs_asked import JobsHere
from portfolio.service.problems import Problem
from portfolio.service.server import log_as_lines
from portfolio.service.service import Service
from portfolio.service.settings import Settings

NAME = "counterfolio-jobs"
OWNER = "owner.lock"  # in the folder of the jobs
AT_ONCE = 100  # concurrent requests to the replica of the jobs
PATIENCE_S = 60.0  # seconds that each request may wait
log = logging.getLogger("counterfolio.service")
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class OnCluster:
    """Workers of a job: actors on the cores of the cluster that are free when it starts.

    If no core is free, a process next to the replica of the jobs answers on the replica's cores.

    Attributes
    ----------
    workers : int, maximum number of workers
    threads : int, cores of each worker
    """

    workers: int
    threads: int

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """Hand out tasks and yield records; see :class:`portfolio.running.work.Answers`."""
        free = int(connect("auto").available_resources().get("CPU", 0.0)) // self.threads
        count = min(free, self.workers)
        log.info("workers of a job on the cluster: %d", count)
        executor = RayExecutor("auto", count, self.threads) if count else LocalExecutor(1)
        yield from executor(job, tasks)


class JobsReplica:
    """The replica that keeps the jobs; a new one waits until the previous one has ended."""

    def __init__(self, settings: Callable[[], Settings], folder: Path, executor: Answers) -> None:
        self._jobs: Future[Jobs] = Future()
        log_as_lines("counterfolio.service")
        self._folder, self._executor = folder, executor
        self._service = Service(settings())
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = (folder / OWNER).open("ab")
        threading.Thread(target=self._own, name="counterfolio-owner", daemon=True).start()

    def _own(self) -> None:
        """Load the jobs after acquiring their lock, which is released with the process."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            work = self._service.job_work(self._models, self._executor)
            jobs = Jobs(self._folder, work, self._service.settings.keep_jobs_days)
            jobs.start()
            self._jobs.set_result(jobs)
        except Exception as error:
            self._jobs.set_exception(error)

    def _models(self) -> Mapping[str, Model]:
        """Return the current models; the replica that received the job may know newer files."""
        self._service.refresh()
        return self._service.catalogue.models

    async def ask(
        self, operation: Callable[Concatenate[Jobs, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function with the jobs; see :class:`portfolio.service.jobs_asked.AskJobs`."""
        jobs = await asyncio.shield(asyncio.wrap_future(self._jobs))
        return await JobsHere(jobs)(operation, *args, **kwargs)

    def check_health(self) -> None:
        """Raise the error if loading the jobs failed; Ray then replaces the replica."""
        if self._jobs.done():
            self._jobs.result()

    def __del__(self) -> None:
        """Stop; the next replica continues with the unfinished jobs."""
        if self._jobs.done() and self._jobs.exception() is None:
            self._jobs.result().close()


@dataclass(frozen=True, eq=False)
class JobsElsewhere:
    """Operations on the jobs of a :class:`JobsReplica`.

    Attributes
    ----------
    handle : DeploymentHandle, handle of its deployment
    """

    handle: Any

    async def __call__(
        self, operation: Callable[Concatenate[Jobs, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function in the replica; see :class:`portfolio.service.jobs_asked.AskJobs`."""
        try:
            sent = self.handle.ask.remote(operation, *args, **kwargs)
            answer: T = await asyncio.wait_for(sent, PATIENCE_S)
        except RayTaskError as error:
            raise error.cause from error
        except (RayError, RayServeException, TimeoutError) as error:
            words = "the replica that keeps the jobs was lost. Check GET /v1/jobs, then retry."
            raise Problem(503, words, {"Retry-After": "1"}) from error
        return answer


def jobs_deployment(
    settings: Callable[[], Settings], folder: Path, workers: int, threads: int
) -> Application:
    """Return the deployment of the jobs, which has one replica."""
    configured = serve.deployment(
        name=NAME,
        num_replicas=1,
        max_ongoing_requests=AT_ONCE,
        ray_actor_options={"num_cpus": threads},
    )
    application: Application = configured(JobsReplica).bind(
        settings, folder, OnCluster(workers, threads)
    )
    return application
