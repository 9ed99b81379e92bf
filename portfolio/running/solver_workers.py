"""Warm worker processes for solvers that may ignore a stop, crash, or hold the interpreter."""

import os
import threading
import time
from functools import partial
from typing import Any

from encoders.arrays import IntArray
from encoders.backends.best_so_far import BestSoFar
from encoders.backends.interface import Backend, Outcome, Request, StopReason
from encoders.backends.prepared import PreparedModel
from encoders.backends.stopping import why
from encoders.problem.problem import Problem
from portfolio.running.process import POLL_S, Process
from portfolio.running.solver_messages import Rival, SolverTask

GRACE_S = 0.5  # seconds between a stop, or the time limit, and the kill


class Workers:
    """Worker processes, one solver family each, started on demand and kept.

    Thread safe. The processes end with this object, with the interpreter, or when the parent
    dies, however it dies.

    Parameters
    ----------
    memory_bytes : address space of each worker, 0 for no limit
    """

    def __init__(self, memory_bytes: int = 0) -> None:
        self.memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._idle: dict[str, list[_Worker]] = {}
        self._owner = os.getpid()

    def __reduce__(self) -> tuple[type["Workers"], tuple[int]]:
        """A copy, here or in another process, starts workers of its own."""
        return Workers, (self.memory_bytes,)

    def keeper(self) -> "ModelKeeper":
        """Something that runs one backend and keeps its model from query to query."""
        return ModelKeeper(self.memory_bytes)

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        """Solve in this process if the backend can be trusted to stop, else in a worker.

        Parameters
        ----------
        backend : which
        problem : to solve
        request : how, and whom to tell

        Raises
        ------
        UnavailableBackendError
            The package it needs is not installed.
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
        # One that had to be killed is replaced at once: the next query finds it warm.
        self._give_back(backend.name, worker if worker.alive else _Worker(self.memory_bytes))
        return outcome

    def close(self) -> None:
        """End all idle workers; those at work end with their solve."""
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
    """Runs backends with the model of the last structure kept, here or in a worker of its own.

    Not thread safe.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._kept = PreparedModel()
        self._worker: _Worker | None = None

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        """Solve; a model is built only if the structure of the problem is a new one."""
        keep = not backend.capability.afresh
        if not backend.capability.isolated:
            solve = partial(self._kept.solve, backend) if keep else backend.load()
            return solve(problem, request)
        backend.require()
        if self._worker is None or not self._worker.alive:
            self._worker = _Worker(self._memory_bytes)
        return self._worker.solve(backend, problem, request, keep)

    def close(self) -> None:
        """Drop the model and end the worker."""
        self._kept = PreparedModel()
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


class _Worker:
    """A process that solves; used by one thread at a time."""

    def __init__(self, memory_bytes: int) -> None:
        self._process = Process("portfolio.running.solver_process", memory_bytes)

    @property
    def alive(self) -> bool:
        return self._process.alive

    def kill(self) -> None:
        """End the process now; what it was doing is lost."""
        self._process.kill()

    def solve(
        self, backend: Backend, problem: Problem, request: Request, keep: bool = False
    ) -> Outcome:
        """Solve in the process; killed where it does not stop in time, with its best kept."""
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
        """Receive until the solve is over; ask it to stop, again and again, then kill."""
        kill_at = deadline + GRACE_S
        told: IntArray | None = None
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
            if rival is not None and rival is not told:
                told = rival
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
    """A choice, or bounds, that a worker tells, passed on to whoever asked."""
    if kind == "choice":
        best.found(content)
    else:
        best.at_least(content[1])


def _ended(best: BestSoFar, reason: StopReason, words: str, began: float) -> Outcome:
    return best.ended(reason, 0.0, time.perf_counter() - began, words)
