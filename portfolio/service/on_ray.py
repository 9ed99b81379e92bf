"""The application as a deployment of Ray Serve: replicas with workers of their own.

``serve deploy`` and ``serve run`` find :func:`build` by its name.
"""

import asyncio
import inspect
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from ray import serve
from ray.serve import Application

from encoders.errors import InputError
from portfolio.running.ray.connection import answers, connect
from portfolio.running.ray.racing_workers import RacingWorkers
from portfolio.service.app import create_app
from portfolio.service.jobs_on_ray import NAME as JOBS
from portfolio.service.jobs_on_ray import JobsElsewhere, jobs_deployment
from portfolio.service.line import WARM_S
from portfolio.service.server import DRAIN_S, log_as_lines
from portfolio.service.settings import LOCAL, Settings, check_address, read_keys
from portfolio.service.sources import chosen

NAME = "counterfolio"
LOOK_S = 0.1  # seconds between looks whether a worker is warm
SPARE = 50  # requests a replica takes beyond its queue, which get a 429 or are no questions
# Ray Serve's proxies take what stands around them from here, and from nowhere else.
AROUND = "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH"
SURGE = "max_surge_percent"  # of a deployment
log = logging.getLogger("counterfolio.service")


class RayService(BaseModel):
    """What is served, and by how many: the ``args`` of an application in Serve's config file.

    Attributes
    ----------
    models, model, data, label, name, trust_pickle, demo : as options of ``counterfolio serve``;
        paths as every node sees them
    host : that the proxies listen on; others than this machine's need keys
    keys : file of API keys; those of the environment of each node hold as well
    workers, threads, longest, queue : of each replica, as options of ``counterfolio serve``
    jobs, longest_job, job_workers, job_memory, most_rows, keep_jobs : of batches, which a replica
        of their own keeps, likewise
    race_on_cluster : whether others than the first backend of a race run on cores that are free
    replicas : always there
    most_replicas : that there are as questions queue up
    surge : whether, as settings change, a replica begins before another one ends, which takes room
        for one more; without it questions wait while a replica begins. Ray before 2.60 has none
    """

    model_config = ConfigDict(extra="forbid")

    models: Path | None = None
    model: Path | None = None
    data: Path | None = None
    label: str | None = None
    name: str | None = None
    trust_pickle: bool = False
    demo: bool = False
    host: str = "0.0.0.0"
    keys: Path | None = None
    workers: int = Field(1, ge=1)
    threads: int = Field(1, ge=1)
    longest: float = 60.0
    queue: int = Field(100, ge=0)
    jobs: Path | None = None
    longest_job: float = 3600.0
    job_workers: int = Field(1, ge=1)
    job_memory: int = Field(4096, ge=0)
    most_rows: int = Field(200_000, ge=1)
    keep_jobs: float = Field(30.0, ge=0)
    race_on_cluster: bool = False
    replicas: int = Field(1, ge=1)
    most_replicas: int = 1
    surge: bool = True

    def settings(self) -> Settings:
        """Those of a replica."""
        keys = read_keys(self.keys)
        check_address(self.host, keys)
        sources = chosen(
            self.models, self.model, self.data, self.label, self.name, self.trust_pickle, self.demo
        )
        return Settings(
            sources,
            workers=self.workers,
            threads=self.threads,
            longest_s=self.longest,
            longest_job_s=self.longest_job,
            most_waiting=self.queue,
            job_memory_bytes=self.job_memory << 20,
            most_rows=self.most_rows,
            keep_jobs_days=self.keep_jobs,
            keys=keys,
        )


class Replica:
    """One of those that answer; its application is made where it runs."""

    app: FastAPI

    def __init__(self, *used: Any) -> None:
        pass

    async def check_health(self) -> None:
        """Return once a worker is warm; Ray replaces a replica that has none for too long."""
        while not self.app.state.service.pool.ready:
            await asyncio.sleep(LOOK_S)


def build(given: RayService) -> Application:
    """The application, for Ray Serve to run."""
    configured = serve.deployment(
        name=NAME,
        max_ongoing_requests=given.workers + given.queue + SPARE,
        autoscaling_config={
            "min_replicas": given.replicas,
            "max_replicas": max(given.replicas, given.most_replicas),
            "target_ongoing_requests": given.workers,
        },
        ray_actor_options={"num_cpus": given.workers * given.threads},
        health_check_timeout_s=WARM_S,
        graceful_shutdown_timeout_s=given.longest + DRAIN_S,
        **_rolling(given.surge),
    )
    used = []
    if given.jobs is not None:
        used.append(jobs_deployment(given.settings, given.jobs, given.job_workers, given.threads))
    application: Application = configured(serve.ingress(_maker(given))(Replica)).bind(*used)
    return application


def _rolling(surge: bool) -> dict[str, Any]:
    """How replicas are replaced, as far as this version of Ray has a say in that."""
    known = SURGE in inspect.signature(serve.deployment).parameters
    return {SURGE: 1} if surge and known else {}  # a percent of any number is one replica at least


def _maker(given: RayService) -> Callable[[], FastAPI]:
    def make() -> FastAPI:
        log_as_lines("counterfolio.service")
        settings, jobs = given.settings(), None
        if given.race_on_cluster:
            place = connect("auto").get_runtime_context().gcs_address
            settings = replace(settings, solvers=RacingWorkers(place))
        if given.jobs is not None:
            jobs = JobsElsewhere(serve.get_deployment_handle(JOBS))
        return create_app(settings, jobs)

    return make


def run(given: RayService, port: int, address: str | None) -> None:
    """Serve on a cluster until SIGTERM or Ctrl-C; questions under way are answered first."""
    if port == 0:
        raise InputError("--ray needs a port; give --port a number above 0.")
    given.settings()
    over = threading.Event()
    os.environ.setdefault(AROUND, "portfolio.service.unanswered.around_proxies")
    ray = connect(address)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    log_as_lines("counterfolio.service")
    with _ended_with_its_cluster(ray, over):
        _serve(given, port)
        over.wait()
        serve.delete(NAME)


def _serve(given: RayService, port: int) -> None:
    where = "HeadOnly" if given.host in LOCAL else "EveryNode"
    serve.start(where, {"host": given.host, "port": port})
    try:
        serve.run(build(given), name=NAME)
    except RuntimeError as error:
        raise InputError(
            f"Ray Serve did not begin ({str(error).splitlines()[0]}); its log says why."
        ) from error
    log.info("running on http://%s:%d of Ray Serve", given.host, port)


@contextmanager
def _ended_with_its_cluster(ray: Any, over: threading.Event) -> Iterator[None]:
    """End this process where the cluster is gone at its end, or goes then.

    A signal to a whole group or container of processes ends a cluster that was started here as
    well. Ray would look for it for a minute.
    """
    place, done = ray.get_runtime_context().gcs_address, threading.Event()

    def look() -> None:
        over.wait()
        while not done.wait(LOOK_S):
            if not answers(place):
                log.error("the Ray cluster is gone; questions under way are lost.")
                os._exit(0)  # all that is left to do would ask the cluster

    threading.Thread(target=look, name="counterfolio-cluster", daemon=True).start()
    try:
        yield
    finally:
        done.set()
