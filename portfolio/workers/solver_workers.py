"""Worker processes for solvers that may ignore a stop, crash, or hold the interpreter."""

import os
import threading
import time
from functools import partial
from typing import Any

from encoders.backends.best_so_far import BestSoFar
from encoders.backends.interface import Backend, Outcome, Request, StopReason
from encoders.backends.prepared import PreparedModel
from encoders.backends.stopping import why
from encoders.core.arrays import IntArray
from encoders.problem.problem import Problem
from portfolio.workers.process import POLL_S, Process
from portfolio.workers.solver_messages import Rival, SolverTask

GRACE_S = 0.5  # seconds between a stop, or the time limit, and the kill


class Workers:
    """Worker processes, one per solver family, started on demand and reused.

    Thread safe. The processes end with this object, with the interpreter, or when the parent
    process dies.

    Parameters
    ----------
    memory_bytes : int, default 0
        Limit of the address space of each worker in bytes, 0 for no limit.

    Examples
    --------
    >>> with_limit = Explainer(model, X_train, workers=Workers(memory_bytes=8 * 2**30))
    >>> with_limit.explain(row).status
    'optimal'
    """

    def __init__(self, memory_bytes: int = 0) -> None:
        self.memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._idle: dict[str, list[_Worker]] = {}
        self._owner = os.getpid()

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
        worker = self._take(backend.name)
        try:
            outcome = worker.solve(backend, problem, request)
        except BaseException:
            worker.kill()
            raise
        # A killed worker is replaced at once, so that the next query need not wait for its start.
        self._give_back(backend.name, worker if worker.alive else _Worker(self.memory_bytes))
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

    def _take(self, name: str) -> "_Worker":
        with self._lock:
            if self._owner != os.getpid():  # after a fork the connections are the parent's
                self._idle, self._owner = {}, os.getpid()
            waiting = self._idle.get(name, [])
            while waiting:
                worker = waiting.pop()
                if worker.alive:
                    return worker
        return _Worker(self.memory_bytes)

    def _give_back(self, name: str, worker: "_Worker") -> None:
        with self._lock:
            self._idle.setdefault(name, []).append(worker)


class ModelKeeper:
    """Runner of backends that keeps the model of the last structure; not thread safe.

    It runs the backend in this process or in a separate worker.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._prepared = PreparedModel()
        self._worker: _Worker | None = None

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        """Solve; build a model only if the structure of the problem is new."""
        keep = not backend.capability.afresh
        if not backend.capability.isolated:
            solve = partial(self._prepared.solve, backend) if keep else backend.load()
            return solve(problem, request)
        backend.require()
        if self._worker is None or not self._worker.alive:
            self._worker = _Worker(self._memory_bytes)
        return self._worker.solve(backend, problem, request, keep)

    def close(self) -> None:
        """Delete the model and end the worker."""
        self._prepared = PreparedModel()
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


class _Worker:
    """Process that solves; for one thread at a time."""

    def __init__(self, memory_bytes: int) -> None:
        self._process = Process("portfolio.workers.solver_process", memory_bytes)

    @property
    def alive(self) -> bool:
        return self._process.alive

    def kill(self) -> None:
        """End the process immediately; its current work is lost."""
        self._process.kill()

    def solve(
        self, backend: Backend, problem: Problem, request: Request, keep: bool = False
    ) -> Outcome:
        """Solve in the process; kill it if it does not stop in time, and return its best choice."""
        began = time.perf_counter()
        best = BestSoFar(problem, request)
        deadline = began + request.time_limit_s
        task = SolverTask.of(backend, problem, request, keep)
        try:
            late = partial(_late, request, deadline)
            if not self._process.await_ready(late):
                return _ended(best, why(request), "not started", began)
            self._process.send(task)
            answer = self._await(best, request, deadline)
        except (EOFError, OSError):
            words = f"the worker died (exit code {self._process.exit_code()})"
            return _ended(best, "error", words, began)
        if isinstance(answer, Outcome):
            return answer
        return _ended(best, *answer, began)

    def _await(
        self, best: BestSoFar, request: Request, deadline: float
    ) -> Outcome | tuple[StopReason, str]:
        """Receive messages until the solve ends; repeat the stop request, then kill."""
        kill_at = deadline + GRACE_S
        sent: IntArray | None = None
        while True:
            message = self._process.receive(POLL_S)
            if message is not None:
                kind, content = message
                if kind in ("done", "failed"):
                    outcome: Outcome | tuple[StopReason, str] = content
                    return outcome
                take(best, kind, content)
                continue
            now = time.perf_counter()
            rival = request.rival()
            if rival is not None and rival is not sent:
                sent = rival
                self._process.send(Rival(rival))
            if request.stop.is_set():
                kill_at = min(kill_at, now + GRACE_S)
                self._process.send("stop")
            if now >= kill_at:
                self.kill()
                return why(request), "killed: it did not stop in time"


def _late(request: Request, deadline: float) -> bool:
    return request.stop.is_set() or time.perf_counter() >= deadline


def take(best: BestSoFar, kind: str, content: Any) -> None:
    """Pass a choice or bounds from a worker to the caller."""
    if kind == "choice":
        best.found(content)
    else:
        best.at_least(content[1])


def _ended(best: BestSoFar, reason: StopReason, words: str, began: float) -> Outcome:
    return best.ended(reason, 0.0, time.perf_counter() - began, words)
