"""Warm worker processes for solvers that may ignore a stop, crash, or hold the interpreter."""

import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import weakref
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from encoders.arrays import IntArray
from encoders.backend import Backend, Outcome, Request, StopReason
from encoders.kept import Kept
from encoders.problem import Problem
from portfolio.worker_main import Rival, Task

GRACE_S = 0.5  # between a polite stop, or the time limit, and the kill
POLL_S = 0.01
START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from portfolio.worker_main import serve; serve(int(sys.argv[2]), int(sys.argv[3]))"
)


class Workers:
    """Worker processes, one solver family each, started on demand and kept.

    Thread safe. The processes end with this object, with the interpreter, or when the parent
    dies, however it dies.

    Parameters
    ----------
    memory_bytes : address space of each worker, 0 for no limit
    """

    def __init__(self, memory_bytes: int = 0) -> None:
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._idle: dict[str, list[_Worker]] = {}
        self._owner = os.getpid()

    def __reduce__(self) -> tuple[type["Workers"], tuple[int]]:
        """A copy, here or in another process, starts workers of its own."""
        return Workers, (self._memory_bytes,)

    def keeper(self) -> "Keeper":
        """Something that runs one backend and keeps its model from query to query."""
        return Keeper(self._memory_bytes)

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        """Solve in this process if the backend can be trusted to stop, else in a worker."""
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
        self._give_back(backend.name, worker if worker.alive else _Worker(self._memory_bytes))
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
        return _Worker(self._memory_bytes)

    def _give_back(self, name: str, worker: "_Worker") -> None:
        with self._lock:
            self._idle.setdefault(name, []).append(worker)


class Keeper:
    """Runs backends with the model of the last structure kept, here or in a worker of its own.

    Not thread safe.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._kept = Kept()
        self._worker: _Worker | None = None

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        """Solve; a model is built only if the structure of the problem is a new one."""
        if not backend.capability.isolated:
            return self._kept.solve(backend, problem, request)
        backend.require()
        if self._worker is None or not self._worker.alive:
            self._worker = _Worker(self._memory_bytes)
        return self._worker.solve(backend, problem, request, keep=True)

    def close(self) -> None:
        """Drop the model and end the worker."""
        self._kept = Kept()
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


class _Worker:
    """One process and the connection to it; used by one thread at a time."""

    def __init__(self, memory_bytes: int) -> None:
        ours, theirs = multiprocessing.Pipe()
        arguments = [json.dumps(sys.path), str(theirs.fileno()), str(memory_bytes)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, *arguments],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        theirs.close()
        self._connection = ours
        self._ready = False
        weakref.finalize(self, _end, self._process, ours, os.getpid())

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process now; what it was doing is lost."""
        _end(self._process, self._connection, os.getpid())

    def solve(
        self, backend: Backend, problem: Problem, request: Request, keep: bool = False
    ) -> Outcome:
        """Solve in the process; killed where it does not stop in time, with its best kept."""
        began = time.perf_counter()
        held = _Held(problem, request)
        deadline = began + request.time_limit_s
        task = Task(
            backend,
            problem,
            time.monotonic() + request.time_limit_s,
            request.threads,
            request.seed,
            request.hint,
            request.cutoff,
            request.formulation,
            request.engine,
            keep,
        )
        try:
            if not self._await_ready(request, deadline):
                return held.outcome(_reason(request), "not started", time.perf_counter() - began)
            self._connection.send(task)
            answer = self._await(held, request, deadline)
        except (EOFError, OSError):
            self._process.wait()
            words = f"the worker died (exit code {self._process.returncode})"
            return held.outcome("error", words, time.perf_counter() - began)
        if isinstance(answer, Outcome):
            return answer
        return held.outcome(*answer, time.perf_counter() - began)

    def _await_ready(self, request: Request, deadline: float) -> bool:
        """Wait for a new process to listen: until then what is sent to it may block."""
        while not self._ready:
            if request.stop.is_set() or time.perf_counter() >= deadline:
                return False
            if self._connection.poll(POLL_S):
                self._ready = self._connection.recv()[0] == "ready"
        return True

    def _await(
        self, held: "_Held", request: Request, deadline: float
    ) -> Outcome | tuple[StopReason, str]:
        """Receive until the solve is over; stop politely, again and again, then kill."""
        kill_at = deadline + GRACE_S
        told: IntArray | None = None
        while True:
            if self._connection.poll(POLL_S):
                kind, content = self._connection.recv()
                if kind in ("done", "failed"):
                    outcome: Outcome | tuple[StopReason, str] = content
                    return outcome
                held.take(kind, content)
                continue
            now = time.perf_counter()
            rival = request.rival()
            if rival is not None and rival is not told:
                told = rival
                self._connection.send(Rival(rival))
            if request.stop.is_set():
                kill_at = min(kill_at, now + GRACE_S)
                self._connection.send("stop")
            if now >= kill_at:
                self.kill()
                return _reason(request), "killed: it did not stop in time"


def _reason(request: Request) -> StopReason:
    return "interrupted" if request.stop.is_set() else "time_limit"


def _end(process: "subprocess.Popen[bytes]", connection: Connection, owner: int) -> None:
    if owner != os.getpid():
        return
    with contextlib.suppress(OSError):
        connection.close()
    process.kill()
    process.wait()


class _Held:
    """What a worker has told so far."""

    def __init__(self, problem: Problem, request: Request) -> None:
        self._problem, self._request = problem, request
        self._choices: list[IntArray] = []
        self._lower = 0.0

    def take(self, kind: str, content: Any) -> None:
        """A choice, or bounds, passed on to whoever asked."""
        if kind == "choice":
            self._choices.append(content)
            self._request.on_choice(content)
        else:
            upper, lower = content
            self._lower = max(self._lower, lower)
            self._request.on_bounds(upper, lower)

    def outcome(self, reason: StopReason, words: str, seconds: float) -> Outcome:
        """What is known although the solve did not end by itself."""
        upper = self._problem.distance(self._choices[-1]) if self._choices else np.inf
        return Outcome(
            status="feasible" if self._choices else "unknown",
            stop_reason=reason,
            choices=tuple(reversed(self._choices)),
            upper=upper,
            lower=min(self._lower, upper),
            build_s=0.0,
            solve_s=seconds,
            raw=words,
        )
