"""The application as a Ray Serve deployment, whose replicas have their own workers, and its jobs.

``serve deploy`` and ``serve run`` import :func:`build`.
"""

import asyncio
import inspect
import logging
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from ray import serve
from ray.serve import Application

from encoders.core.errors import InputError
from portfolio.service.app import create_app
from portfolio.service.database import is_shared
from portfolio.service.jobs import Jobs
from portfolio.service.log_lines import log_as_lines
from portfolio.service.pool import WARM_S
from portfolio.service.server import DRAIN_S
from portfolio.service.service import Service
from portfolio.service.settings import LOCAL, Settings, check_address, read_keys
from portfolio.service.sources import chosen
from portfolio.workers.local_executor import LocalExecutor
from portfolio.workers.ray.connection import answers, connect
from portfolio.workers.ray.executor import RayExecutor
from portfolio.workers.ray.racing_workers import RacingWorkers
from portfolio.workers.work import Answers, Record, Task, Work

NAME, JOBS = "counterfolio", "counterfolio-jobs"
LOOK_S = 0.1  # seconds between checks for a warm worker
SPARE = 50  # requests of a replica beyond its queue: rejected with 429, or not for workers
# Environment variable that names the middleware of Ray Serve's proxies; no other setting does.
AROUND = "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH"
SURGE = "max_surge_percent"  # option of a deployment
log = logging.getLogger("counterfolio.service")


class RayService(BaseModel):
    """Settings of the service on Ray: the ``args`` of an application in Serve's config file.

    Attributes
    ----------
    models, model, data, label, outputs, name, trust_pickle, demo : options of ``counterfolio
        serve``, with paths that are valid on every node.
    host : str, address that the proxies listen on; all but loopback addresses need keys.
    keys : Path, file of API keys, in addition to those in the environment of each node.
    workers, threads, longest, queue : options of ``counterfolio serve``, per replica.
    log_format : option of ``counterfolio serve``.
    show_rows : bool or None, ``--show-rows`` or ``--hide-rows``; None for only without keys.
    jobs, jobs_database, job_answers, longest_job, job_workers, job_memory, most_rows, keep_jobs :
        options of ``counterfolio serve`` for jobs, which run in their own replica.
    race_on_cluster : bool, run all but the first backend of a race on free cores of the cluster.
    replicas : int, minimum number of replicas.
    most_replicas : int, maximum number of replicas when requests queue up.
    surge : bool, start a new replica before ending an old one when settings change, which needs
        resources for one more replica; otherwise requests wait. Ignored by Ray before 2.60.
    """

    model_config = ConfigDict(extra="forbid")

    models: Path | None = None
    model: Path | None = None
    data: Path | None = None
    label: str | None = None
    outputs: str | None = None
    name: str | None = None
    trust_pickle: bool = False
    demo: bool = False
    host: str = "0.0.0.0"
    keys: Path | None = None
    workers: int = Field(1, ge=1)
    threads: int = Field(1, ge=1)
    longest: float = 60.0
    queue: int = Field(100, ge=0)
    log_format: str = "json"
    show_rows: bool | None = None
    jobs: Path | None = None
    jobs_database: str | None = None
    job_answers: str | None = None
    longest_job: float = 3600.0
    job_workers: int = Field(1, ge=0)
    job_memory: int = Field(4096, ge=0)
    most_rows: int = Field(200_000, ge=1)
    keep_jobs: float = Field(30.0, ge=0)
    race_on_cluster: bool = False
    replicas: int = Field(1, ge=1)
    most_replicas: int = 1
    surge: bool = True

    def settings(self) -> Settings:
        """Return the settings of a replica."""
        keys = read_keys(self.keys)
        check_address(self.host, bool(keys))
        sources = chosen(
            self.models,
            self.model,
            self.data,
            self.label,
            self.name,
            self.trust_pickle,
            self.demo,
            self.outputs,
        )
        return Settings(
            sources,
            workers=self.workers,
            threads=self.threads,
            longest_s=self.longest,
            longest_job_s=self.longest_job,
            most_waiting=self.queue,
            jobs=self.jobs,
            jobs_database=self.jobs_database,
            job_answers=self.job_answers,
            job_workers=0,  # a replica of another deployment runs them
            job_memory_bytes=self.job_memory << 20,
            most_rows=self.most_rows,
            keep_jobs_days=self.keep_jobs,
            keys=keys,
            log_format=self.log_format,
            show_rows=self.show_rows,
        )


class Replica:
    """A replica of the service; it creates its application where it runs."""

    app: FastAPI

    def __init__(self, *used: Any) -> None:
        pass

    async def check_health(self) -> None:
        """Wait until a worker is warm; Ray replaces a replica that takes too long."""
        while not self.app.state.service.pool.ready:
            await asyncio.sleep(LOOK_S)


def build(service: RayService) -> Application:
    """Return the application for Ray Serve."""
    configured = serve.deployment(
        name=NAME,
        max_ongoing_requests=service.workers + service.queue + SPARE,
        autoscaling_config={
            "min_replicas": service.replicas,
            "max_replicas": max(service.replicas, service.most_replicas),
            "target_ongoing_requests": service.workers,
        },
        ray_actor_options={"num_cpus": service.workers * service.threads},
        health_check_timeout_s=WARM_S,
        graceful_shutdown_timeout_s=service.longest + DRAIN_S,
        **_rolling(service.surge),
    )
    used = []
    if service.jobs is not None and service.job_workers:
        used.append(jobs_deployment(service.settings, service.job_workers, service.threads))
    application: Application = configured(serve.ingress(_maker(service))(Replica)).bind(*used)
    return application


def _rolling(surge: bool) -> dict[str, Any]:
    """Return the deployment option for rolling updates, if this version of Ray has it."""
    supported = SURGE in inspect.signature(serve.deployment).parameters
    return {SURGE: 1} if surge and supported else {}  # Ray rounds 1 % up to one replica


def _maker(service: RayService) -> Callable[[], FastAPI]:
    def make() -> FastAPI:
        settings = _settings_here(service.settings)
        log_as_lines("counterfolio.service", form=settings.log_format)
        if service.race_on_cluster:
            place = connect("auto").get_runtime_context().gcs_address
            settings = replace(settings, solvers=RacingWorkers(place))
        return create_app(settings)

    return make


def run(service: RayService, port: int, address: str | None) -> None:
    """Serve on a cluster until SIGTERM or Ctrl-C; running requests are answered first."""
    if port == 0:
        raise InputError("--ray needs a port. Give --port a number above 0.")
    service.settings()
    over = threading.Event()
    os.environ.setdefault(AROUND, "portfolio.service.unanswered.around_proxies")
    ray = connect(address)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    log_as_lines("counterfolio.service", form=service.log_format)
    with _ended_with_its_cluster(ray, over):
        _serve(service, port)
        over.wait()
        serve.delete(NAME)


def _serve(service: RayService, port: int) -> None:
    where = "HeadOnly" if service.host in LOCAL else "EveryNode"
    serve.start(where, {"host": service.host, "port": port})
    try:
        serve.run(build(service), name=NAME)
    except RuntimeError as error:
        raise InputError(
            f"Ray Serve did not start ({str(error).splitlines()[0]}). See the log of Ray Serve."
        ) from error
    log.info("running on http://%s:%d with Ray Serve", service.host, port)


@contextmanager
def _ended_with_its_cluster(ray: Any, over: threading.Event) -> Iterator[None]:
    """End this process if the cluster is lost during the shutdown.

    A signal to a whole process group or container also ends a cluster that was started here. Ray
    would try to reconnect for a minute.
    """
    place, done = ray.get_runtime_context().gcs_address, threading.Event()

    def look() -> None:
        over.wait()
        while not done.wait(LOOK_S):
            if not answers(place):
                log.error("the Ray cluster is gone. Running requests are lost.")
                os._exit(0)  # any regular shutdown would contact the cluster

    threading.Thread(target=look, name="counterfolio-cluster", daemon=True).start()
    try:
        yield
    finally:
        done.set()


@dataclass(frozen=True)
class OnCluster:
    """Workers of a job: actors on the cores of the cluster that are free when it starts.

    If no core is free, a process next to the replica of the jobs answers on the replica's cores.
    """

    workers: int  # maximum number of workers
    threads: int  # cores of each worker

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """Hand out tasks and yield records; see :class:`portfolio.workers.work.Answers`."""
        free = int(connect("auto").available_resources().get("CPU", 0.0)) // self.threads
        count = min(free, self.workers)
        log.info("workers of a job on the cluster: %d", count)
        executor = RayExecutor("auto", count, self.threads) if count else LocalExecutor(1)
        yield from executor(job, tasks)


class JobsReplica:
    """A replica that runs jobs; if it is lost, another one continues with its job."""

    def __init__(self, settings: Callable[[], Settings], executor: Answers) -> None:
        self._jobs: Jobs | None = None
        checked = _settings_here(settings)
        log_as_lines("counterfolio.service", form=checked.log_format)
        service = Service(checked, executor)
        service.load()
        self._jobs = service.jobs
        self._jobs.start()

    def __del__(self) -> None:
        """Stop; another replica continues with the unfinished jobs."""
        if self._jobs is not None:
            self._jobs.close()


def _settings_here(settings: Callable[[], Settings]) -> Settings:
    """Return the settings of a replica; raise InputError if it can't reach the jobs database."""
    checked = settings()
    if checked.jobs is not None and not is_shared(checked.jobs_database):
        nodes = [node for node in connect("auto").nodes() if node["Alive"]]
        if len(nodes) > 1:
            raise InputError(
                f"the cluster has {len(nodes)} nodes, which cannot share a file of SQLite. Give "
                "jobs_database (--jobs-database) with the URL of a PostgreSQL database."
            )
    return checked


def jobs_deployment(settings: Callable[[], Settings], workers: int, threads: int) -> Application:
    """Return the deployment that runs the jobs, one at a time."""
    configured = serve.deployment(
        name=JOBS,
        num_replicas=1,
        ray_actor_options={"num_cpus": threads},
    )
    application: Application = configured(JobsReplica).bind(settings, OnCluster(workers, threads))
    return application
