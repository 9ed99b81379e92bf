"""Worker processes for solvers that may ignore a stop, crash, or hold the interpreter."""

import os
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial

from encoders.backends.best_so_far import BestSoFar
from encoders.backends.interface import Backend, Outcome, Request, StopReason
from encoders.backends.prepared import PreparedModel
from encoders.backends.stopping import why
from encoders.core.arrays import IntArray
from encoders.problem.problem import Problem
from portfolio.workers.process import POLL_S, Process, RemoteProgram, warn_without_limit
from portfolio.workers.solver_process import Rival, SolverTask

GRACE_S = 0.5  # seconds between a stop, or the time limit, and the kill
PROGRAM = "portfolio.workers.solver_process"
Kind = tuple[str, int]  # name of a backend, and its cores on a cluster, 0 on this machine


class SolverPool(ABC):
    """Workers that solve, started on demand and reused; thread safe.

    Examples
    --------
    >>> from counterfolio import Workers
    >>> workers = Workers()
    >>> explainer.run_by(workers).explain(row).status
    'optimal'
    >>> workers.close()
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[Kind, list[RemoteProgram]] = {}
        self._owner = os.getpid()

    @abstractmethod
    def _kind(self, backend: Backend, request: Request) -> Kind:
        """Return the kind of worker that solves a request."""

    @abstractmethod
    def _start(self, request: Request) -> RemoteProgram:
        """Return a new worker."""

    def _solve(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        """Solve in an idle worker, or in a new one."""
        kind = self._kind(backend, request)
        worker = self._take(kind) or self._start(request)
        try:
            outcome = solve_in(worker, backend, problem, request)
        except BaseException:
            worker.kill()
            raise
        self._give_back(kind, worker, request)
        return outcome

    def close(self) -> None:
        """End all idle workers; busy ones end with their solve.

        Examples
        --------
        >>> Workers().close()
        """
        with self._lock:
            idle, self._idle = self._idle, {}
        for workers in idle.values():
            for worker in workers:
                worker.kill()

    def _take(self, kind: Kind) -> RemoteProgram | None:
        with self._lock:
            if self._owner != os.getpid():  # after a fork the connections are the parent's
                self._idle, self._owner = {}, os.getpid()
            waiting = self._idle.get(kind, [])
            while waiting:
                worker = waiting.pop()
                if worker.alive:
                    return worker
        return None

    def _give_back(self, kind: Kind, worker: RemoteProgram, request: Request) -> None:
        with self._lock:
            self._idle.setdefault(kind, []).append(worker)


class Workers(SolverPool):
    """Worker processes, one per solver family, started on demand and reused.

    Thread safe. The processes end with this object, with the interpreter, or when the parent
    process dies.

    Parameters
    ----------
    memory_bytes : int, default 0
        Limit of the address space of each worker in bytes, 0 for no limit. It has an effect on
        Linux only; other platforms warn.

    Examples
    --------
    >>> with_limit = Explainer(model, X_train, workers=Workers(memory_bytes=8 * 2**30))
    >>> with_limit.explain(row).status
    'optimal'
    """

    def __init__(self, memory_bytes: int = 0) -> None:
        super().__init__()
        warn_without_limit(memory_bytes)
        self.memory_bytes = memory_bytes

    def __reduce__(self) -> tuple[type["Workers"], tuple[int]]:
        """Pickle without workers: a copy starts new ones."""
        return Workers, (self.memory_bytes,)

    def keeper(self) -> "ModelKeeper":
        """Return a runner of one backend that keeps its model from query to query.

        Returns
        -------
        ModelKeeper
            The runner.

        Examples
        --------
        >>> keeper = Workers().keeper()
        >>> keeper.close()
        """
        return ModelKeeper(self.memory_bytes)

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        """Solve in this process if the backend reliably stops on request, else in a worker.

        Parameters
        ----------
        backend : Backend
            Backend to run.
        problem : Problem
            Problem to solve.
        request : Request
            Limits and callbacks.

        Returns
        -------
        Outcome
            Status, choice and bounds.

        Raises
        ------
        UnavailableBackendError
            If the package that the backend needs is not installed.

        Examples
        --------
        >>> workers = Workers()
        >>> explainer.run_by(workers).explain(row).status
        'optimal'
        """
        if not backend.capability.isolated:
            return backend.load()(problem, request)
        backend.require()
        return self._solve(backend, problem, request)

    def _kind(self, backend: Backend, request: Request) -> Kind:
        return backend.name, 0

    def _start(self, request: Request) -> RemoteProgram:
        return Process(PROGRAM, self.memory_bytes)

    def _give_back(self, kind: Kind, worker: RemoteProgram, request: Request) -> None:
        # A killed worker is replaced at once, so that the next query need not wait for its start.
        super()._give_back(kind, worker if worker.alive else self._start(request), request)


class ModelKeeper:
    """Runner of backends that keeps the model of the last structure.

    It runs the backend in this process or in a separate worker. A solve waits until the previous
    one has ended, which may have lost a race.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._prepared = PreparedModel()
        self._worker: Process | None = None
        self._solving = threading.Lock()

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        """Solve; build a model only if the structure of the problem is new."""
        began = time.perf_counter()
        if not self._solving.acquire(timeout=min(request.time_limit_s, threading.TIMEOUT_MAX)):
            return _not_started(problem, request, began)
        try:
            if request.stop.is_set():
                return _not_started(problem, request, began)
            left_s = request.time_limit_s - (time.perf_counter() - began)
            return self._run(backend, problem, replace(request, time_limit_s=max(0.0, left_s)))
        finally:
            self._solving.release()

    def _run(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        keep = not backend.capability.afresh
        if not backend.capability.isolated:
            solve = partial(self._prepared.solve, backend) if keep else backend.load()
            return solve(problem, request)
        backend.require()
        began, worker = time.perf_counter(), self._worker
        if worker is not None and worker.alive:
            outcome = solve_in(worker, backend, problem, request, keep)
            if outcome.stop_reason != "error" or worker.alive:
                return outcome
            # It died, perhaps before the query, and a new worker may answer.
            left_s = max(0.0, request.time_limit_s - (time.perf_counter() - began))
            request = replace(request, time_limit_s=left_s)
        self._worker = Process(PROGRAM, self._memory_bytes)
        return solve_in(self._worker, backend, problem, request, keep)

    def close(self) -> None:
        """Delete the model and end the worker."""
        self._prepared = PreparedModel()
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


def _not_started(problem: Problem, request: Request, began: float) -> Outcome:
    """Return the outcome of a solve that waited for the previous one in vain."""
    waited_s = time.perf_counter() - began
    return BestSoFar(problem, request).ended(why(request), 0.0, waited_s, "not started")


def solve_in(
    worker: RemoteProgram, backend: Backend, problem: Problem, request: Request, keep: bool = False
) -> Outcome:
    """Solve in a worker; kill it if it does not stop in time, and return its best choice."""
    began = time.perf_counter()
    best = BestSoFar(problem, request)
    deadline = began + request.time_limit_s
    task = SolverTask(
        backend, problem, request.settings, time.monotonic() + request.time_limit_s, keep
    )
    answer: Outcome | tuple[StopReason, str]
    try:
        if worker.await_ready(partial(_late, request, deadline)):
            worker.send(task)
            answer = _await(worker, best, request, deadline)
        else:
            answer = why(request), "not started"
    except (EOFError, OSError):
        answer = "error", worker.death()
    if isinstance(answer, Outcome):
        return answer
    reason, words = answer
    return best.ended(reason, 0.0, time.perf_counter() - began, words)


def _await(
    worker: RemoteProgram, best: BestSoFar, request: Request, deadline: float
) -> Outcome | tuple[StopReason, str]:
    """Receive messages until the solve ends; repeat the stop request, then kill."""
    kill_at = deadline + GRACE_S
    sent: IntArray | None = None
    while True:
        message = worker.receive(POLL_S)
        if message is not None:
            kind, content = message
            if kind in ("done", "failed"):
                outcome: Outcome | tuple[StopReason, str] = content
                return outcome
            if kind == "choice":
                best.found(content)
            else:
                best.at_least(content[1])
            continue
        now = time.perf_counter()
        rival = request.rival()
        if rival is not None and rival is not sent:
            sent = rival
            worker.send(Rival(rival))
        if request.stop.is_set():
            kill_at = min(kill_at, now + GRACE_S)
            worker.send("stop")
        if now >= kill_at:
            worker.kill()
            return why(request), "killed: it did not stop in time"


def _late(request: Request, deadline: float) -> bool:
    return request.stop.is_set() or time.perf_counter() >= deadline
