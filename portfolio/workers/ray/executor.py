"""Executor of races and batches on a Ray cluster, which is started on demand only."""

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

from encoders.backends.interface import Backend, Outcome, Request
from encoders.core.errors import InputError
from encoders.problem.problem import Problem
from portfolio.workers import local_executor, solver_workers
from portfolio.workers.local_executor import WorkPool, dumped
from portfolio.workers.process import RemoteProgram
from portfolio.workers.ray.actor import ActorProgram
from portfolio.workers.ray.connection import connect
from portfolio.workers.solver_workers import Kind, SolverPool
from portfolio.workers.work import Record, Task, Work

ROOM_S = 120.0  # seconds without free cores for any worker after which the batch fails


def ray_by_name(name: str) -> "RayExecutor":
    """Return an executor that starts a cluster on this machine."""
    if name != "ray":
        raise InputError(f"executor must be 'local', 'ray' or a RayExecutor, got {name!r}.")
    return RayExecutor()


class RayExecutor(SolverPool):
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
        super().__init__()
        self._address, self._workers, self._threads = address, workers, threads

    def __reduce__(self) -> tuple[type["RayExecutor"], tuple[str | None, int | None, int]]:
        """Pickle without the connection: a copy opens a new one."""
        return RayExecutor, (self._address, self._workers, self._threads)

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """Yield the records of a batch; see :class:`portfolio.workers.work.Answers`."""
        ray = self._connect()
        self.close()  # idle solvers would keep cores from the batch
        count = self._workers or max(1, int(ray.cluster_resources()["CPU"]) // self._threads)
        start = partial(ActorProgram, ray, local_executor.PROGRAM, self._threads)
        yield from WorkPool(job, ray.put(dumped(job)), tasks, count, start, ROOM_S).records()

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        """Solve on the cluster; see :meth:`portfolio.workers.solver_workers.Workers.run`.

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
        return self._solve(backend, problem, request)

    def _kind(self, backend: Backend, request: Request) -> Kind:
        return backend.name, request.threads

    def _start(self, request: Request) -> RemoteProgram:
        """Start an actor; end idle ones of other backends if it needs their cores."""
        ray = self._connect()
        if ray.available_resources().get("CPU", 0.0) < request.threads:
            self.close()
        return ActorProgram(ray, solver_workers.PROGRAM, request.threads)

    def _give_back(self, kind: Kind, worker: RemoteProgram, request: Request) -> None:
        """Keep a worker that has cores; one that waits for them would take them later."""
        if worker.alive and worker.ready():
            super()._give_back(kind, worker, request)
        elif worker.alive:
            worker.kill()

    def _connect(self) -> Any:
        with self._lock:  # racing backends connect at the same time
            return connect(self._address)
