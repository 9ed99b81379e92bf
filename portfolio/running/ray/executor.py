"""A Ray cluster as the place where backends race and batches are answered.

Nothing here is imported, and Ray is not started, unless it is asked for.
"""

import threading
from collections.abc import Generator, Iterator
from typing import Any

from encoders.backends.interface import Backend, Outcome, Request
from encoders.problem.problem import Problem
from portfolio.running.ray.connection import connect
from portfolio.running.ray.solver_actor import solve_on, solver_actor
from portfolio.running.ray.work_actors import ActorPool
from portfolio.running.work import Record, Task, Work


class RayExecutor:
    """Workers that are Ray actors, each with its share of cores declared.

    Thread safe. Connects on first use. With ``RAY_AUTH_MODE=token`` (from Ray 2.59 the default of
    clusters started here, from 2.61 of all) the cluster's token must be at hand, in
    ``RAY_AUTH_TOKEN`` or ``~/.ray/auth_token``, as for every Ray client.

    Parameters
    ----------
    address : of the cluster, "auto" for the one this machine belongs to, None to start one here
    workers : batch workers, default as many as the cluster's cores allow
    threads : cores of each batch worker
    """

    def __init__(
        self, address: str | None = None, workers: int | None = None, threads: int = 1
    ) -> None:
        self._address, self._workers, self._threads = address, workers, threads
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, int], list[Any]] = {}

    def __reduce__(self) -> tuple[type["RayExecutor"], tuple[str | None, int | None, int]]:
        """A copy connects for itself."""
        return RayExecutor, (self._address, self._workers, self._threads)

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """Answer a batch; see :class:`portfolio.running.work.Answers`.

        Parameters
        ----------
        job : pickled once
        tasks : taken when a worker is free

        Raises
        ------
        UnavailableBackendError, InputError
            There is no Ray, no cluster, no room, or the job can't be sent.
        """
        ray = self._connect()
        count = self._workers or max(1, int(ray.cluster_resources()["CPU"]) // self._threads)
        actors = ActorPool(ray, job, tasks, count, self._threads)
        try:
            yield from actors.answers()
        finally:
            actors.close()

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        """Solve on the cluster; see :meth:`portfolio.running.solver_workers.Workers.run`.

        Parameters
        ----------
        backend : has to be installed here and on the cluster
        problem : to solve
        request : its threads are cores of the actor

        Raises
        ------
        UnavailableBackendError, InputError
            A package is missing here, or there is no cluster.
        """
        backend.require()
        ray = self._connect()
        kind = (backend.name, request.threads)
        with self._lock:
            waiting = self._idle.setdefault(kind, [])
            if not waiting:
                self._make_room(ray, request.threads)
            actor = waiting.pop() if waiting else solver_actor(ray, request.threads)
        outcome, usable = solve_on(ray, actor, backend, problem, request)
        with self._lock:
            self._idle[kind] += usable
        return outcome

    def _make_room(self, ray: Any, cores: int) -> None:
        """End idle actors if those of another backend hold the cores that a new one needs."""
        if ray.available_resources().get("CPU", 0.0) >= cores:
            return
        for actors in self._idle.values():
            while actors:
                ray.kill(actors.pop())

    def close(self) -> None:
        """End the actors; Ray itself ends with this process."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for actor in (actor for actors in idle.values() for actor in actors):
            self._connect().kill(actor)

    def _connect(self) -> Any:
        with self._lock:  # runners of a race come at once
            return connect(self._address)
