"""Executor of races and batches on a Ray cluster.

This module is imported, and Ray is started, on demand only.
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
    """Executor of races and batches in Ray actors, each of which reserves its cores.

    Thread safe. It connects at the first use. With ``RAY_AUTH_MODE=token`` the token of the cluster
    must be in ``RAY_AUTH_TOKEN`` or ``~/.ray/auth_token``, as for every Ray client. This mode is
    the default from Ray 2.61, and from 2.59 for clusters started here.

    Parameters
    ----------
    address : str, optional
        Address of the cluster; "auto" for the one of this machine, None to start one here.
    workers : int, optional
        Number of batch workers; by default as many as the cores of the cluster allow.
    threads : int, default 1
        Number of cores of each batch worker.

    Examples
    --------
    >>> cluster = RayExecutor(address="auto", workers=32)  # connects at the first use
    """

    def __init__(
        self, address: str | None = None, workers: int | None = None, threads: int = 1
    ) -> None:
        self._address, self._workers, self._threads = address, workers, threads
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, int], list[Any]] = {}

    def __reduce__(self) -> tuple[type["RayExecutor"], tuple[str | None, int | None, int]]:
        """Pickle without the connection: a copy opens a new one."""
        return RayExecutor, (self._address, self._workers, self._threads)

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """Yield the records of a batch; see :class:`portfolio.running.work.Answers`."""
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
        backend : Backend
            Backend, which must be installed here and on the cluster.
        problem : Problem
            Problem to solve.
        request : Request
            Limits and callbacks; its threads are the cores of the actor.

        Returns
        -------
        Outcome
            Status, choice and bounds.

        Raises
        ------
        UnavailableBackendError
            If a package is not installed here.
        InputError
            If no cluster is reachable.
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
        """End idle actors of other backends if a new one needs their cores."""
        if ray.available_resources().get("CPU", 0.0) >= cores:
            return
        for actors in self._idle.values():
            while actors:
                ray.kill(actors.pop())

    def close(self) -> None:
        """End the actors; Ray itself ends with this process.

        Examples
        --------
        >>> RayExecutor(address="auto").close()
        """
        with self._lock:
            idle, self._idle = self._idle, {}
        for actor in (actor for actors in idle.values() for actor in actors):
            self._connect().kill(actor)

    def _connect(self) -> Any:
        with self._lock:  # racing backends connect at the same time
            return connect(self._address)
