"""A Ray cluster as the place where backends race and batches are answered.

Nothing here is imported, and Ray is not started, unless it is asked for.
"""

import contextlib
import importlib.util
import logging
import os
import pickle
import socket
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

from encoders.arrays import IntArray
from encoders.backend import Backend, Outcome, Request, StopReason
from encoders.errors import InputError, UnavailableBackendError
from encoders.kept import Kept
from encoders.problem import Problem
from portfolio.batch_job import Task, Work, cannot_start, failure
from portfolio.batch_log import Record
from portfolio.local import dumped
from portfolio.worker_main import Desk, Rival, solve_task
from portfolio.worker_main import Task as SolverTask
from portfolio.workers import GRACE_S, Held, why

LOOK_S = 0.02
KNOCK_S = 5.0
WAIT_S = 0.1
LATE_S = 5.0  # what a batch worker may take beyond a row's time limit before it is killed
ROOM_S = 120.0  # how long to wait for the cluster to have room for a first worker
TRIES = 3  # a row whose worker dies (its node, say) is asked again


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
        """Answer a batch; see :class:`portfolio.batch_job.Answers`."""
        ray = self._connect()
        count = self._workers or max(1, int(ray.cluster_resources()["CPU"]) // self._threads)
        crew = _Crew(ray, ray.put(dumped(job)), tasks, count, self._threads)
        try:
            yield from crew.answers()
        finally:
            crew.close()

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        """Solve on the cluster; as :meth:`portfolio.workers.Workers.run` does here."""
        backend.require()
        ray = self._connect()
        kind = (backend.name, request.threads)
        with self._lock:
            waiting = self._idle.setdefault(kind, [])
            if not waiting:
                self._make_room(ray, request.threads)
            actor = waiting.pop() if waiting else _solver(ray, request.threads)
        outcome, left = _solve(ray, actor, backend, problem, request)
        with self._lock:
            self._idle[kind] += left
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


def connect(address: str | None) -> Any:
    """The ray module, connected.

    Raises
    ------
    UnavailableBackendError, InputError
        Ray is not installed, or there is no such cluster.
    """
    if importlib.util.find_spec("ray") is None:
        raise UnavailableBackendError(
            "executor ray needs the package ray; install it with: pip install 'counterfolio[ray]'"
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        return ray
    try:
        _knock(address)
        _init(ray, address)
    except (OSError, ValueError, RuntimeError) as error:
        words = str(error).splitlines()[0]
        raise InputError(
            f"there is no Ray cluster at {address or 'this machine'} ({words}); start one with: "
            "ray start --head, or give another address."
        ) from error
    return ray


def _knock(address: str | None) -> None:
    """Raise OSError if nobody listens; Ray itself would try for minutes, and then exit."""
    host, colon, port = (address or "").rpartition("://")[2].rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), timeout=KNOCK_S).close()


def _init(ray: Any, address: str | None) -> None:
    """Connect, in a thread that lasts.

    The processes of a cluster that is started here are killed when the thread that started them
    ends, and the threads of a race are short-lived.
    """
    errors: list[Exception] = []
    over = threading.Event()

    def lasting() -> None:
        board = None if address else False
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR,
                     include_dashboard=board)  # fmt: skip
            _keep_quiet(ray)
        except Exception as error:
            errors.append(error)
        over.set()
        if not errors:
            threading.Event().wait()

    threading.Thread(target=lasting, daemon=True, name="counterfolio-ray").start()
    over.wait()
    if errors:
        raise errors[0]


def _keep_quiet(ray: Any) -> None:
    """What Ray prints of a lost node, pages of its state, goes to our log at level debug.

    ``log_to_driver`` does not hold back these messages, and there is no setting that does
    (``ray/_private/worker.py``, listen_error_messages).
    """
    worker = getattr(getattr(ray, "_private", None), "worker", None)
    if worker is not None and hasattr(worker, "print_to_stdstream"):
        tell = logging.getLogger("counterfolio.ray").debug
        worker.print_to_stdstream = lambda data, ignore_prefix: tell("\n".join(data["lines"]))


class _Solver:
    """An actor that solves; its control group listens while it does.

    Calls carry the number of the solve they are about: one that comes late must not touch the next.
    """

    def __init__(self) -> None:
        self._kept = Kept()
        self._desk = Desk()
        self._number = 0
        self._events: list[tuple[str, Any]] = []

    def ready(self) -> None:
        """Answered once the actor has a place and has started."""

    def solve(self, number: int, task: SolverTask, seconds: float) -> Outcome:
        """Deadlines are of this machine's clock."""
        events: list[tuple[str, Any]] = []
        self._number, self._events = number, events
        self._desk.take(replace(task, deadline=time.monotonic() + seconds))
        own = self._desk.tasks.get()
        return solve_task(own, lambda *event: events.append(event), self._desk, self._kept)

    def look(self, number: int, seen: int, rival: IntArray | None) -> list[tuple[str, Any]]:
        """What is new, in exchange for what others have found."""
        if number != self._number:
            return []
        if rival is not None:
            self._desk.take(Rival(rival))
        return self._events[seen:]

    def stop(self, number: int) -> None:
        if number == self._number:
            self._desk.take("stop")


def _solver(ray: Any, threads: int) -> Any:
    control = ray.method(concurrency_group="control")
    methods = {"look": control(_Solver.look), "stop": control(_Solver.stop)}
    remote = ray.remote(num_cpus=threads, concurrency_groups={"control": 2})
    return remote(type("_Solver", (_Solver,), methods)).remote()


def _solve(
    ray: Any, actor: Any, backend: Backend, problem: Problem, request: Request
) -> tuple[Outcome, list[Any]]:
    """The outcome, and an actor for the next query: one that was killed or died is replaced."""
    began = time.perf_counter()
    held = Held(problem, request)
    reason: StopReason
    try:
        if not _started(ray, actor, request, began):
            ray.kill(actor)
            return held.outcome(why(request), "not started", time.perf_counter() - began), []
        left_s = max(0.0, began + request.time_limit_s - time.perf_counter())
        task = SolverTask.of(backend, problem, request, False)
        outcome = _followed(ray, actor, held, task, replace(request, time_limit_s=left_s))
        if outcome is not None:
            return outcome, [actor]
        reason, words = why(request), "killed: it did not stop in time"
    except ray.exceptions.RayTaskError as error:
        words = f"{type(error.cause).__name__}: {error.cause}"
        return held.outcome("error", words, time.perf_counter() - began), [actor]
    except ray.exceptions.RayError:
        reason, words = "error", "the worker on the cluster died"
    end = held.outcome(reason, words, time.perf_counter() - began)
    return end, [_solver(ray, request.threads)]


def _started(ray: Any, actor: Any, request: Request, began: float) -> bool:
    """Whether the actor has found its place and started within the time limit."""
    ref = actor.ready.remote()
    while not ray.wait([ref], timeout=LOOK_S)[0]:
        late = time.perf_counter() >= began + request.time_limit_s
        if late or request.stop.is_set():
            return False
    ray.get(ref)  # raises if it died
    return True


def _followed(
    ray: Any, actor: Any, held: Held, task: SolverTask, request: Request
) -> Outcome | None:
    """Outcome of a solve whose choices and bounds are passed on; None if it had to be killed."""
    number = time.monotonic_ns()
    ref = actor.solve.remote(number, task, request.time_limit_s)
    kill_at = time.perf_counter() + request.time_limit_s + GRACE_S
    seen, told = 0, None
    while not ray.wait([ref], timeout=LOOK_S)[0]:
        rival = request.rival()
        with contextlib.suppress(ray.exceptions.GetTimeoutError):
            news = rival if rival is not told else None
            events = ray.get(actor.look.remote(number, seen, news), timeout=GRACE_S)
            told, seen = rival, seen + len(events)
            for event in events:
                held.take(*event)
        if request.stop.is_set():
            kill_at = min(kill_at, time.perf_counter() + GRACE_S)
            actor.stop.remote(number)
        if time.perf_counter() >= kill_at:
            ray.kill(actor)
            return None
    outcome: Outcome = ray.get(ref)
    return outcome


class _Clerk:
    """An actor that explains rows."""

    def __init__(self, job: bytes) -> None:
        self._content = job

    def warm_up(self, task: Task) -> str:
        """Why it can't do the job, "" if it can."""
        try:
            self._job: Work = pickle.loads(self._content)
            self._job.warm_up(task)
        except Exception as error:
            return cannot_start(error)
        return ""

    def answer(self, task: Task) -> Record:
        return self._job.answer(task)


@dataclass
class _Duty:
    """What an actor is at; ``task`` None while it warms up."""

    actor: Any
    task: Task | None
    kill_at: float


class _Crew:
    """Actors of one batch, given a task whenever one is free."""

    def __init__(self, ray: Any, job: Any, tasks: Iterator[Task], count: int, cores: int) -> None:
        self._ray, self._job, self._tasks, self._cores = ray, job, tasks, cores
        self._again: list[Task] = []
        self._tries: dict[str, int] = {}
        self._duties: dict[Any, _Duty] = {}
        self._count = count
        self._first: Task | None = None
        self._exhausted = False

    def answers(self) -> Generator[Record]:
        """Records as they come."""
        self._first = self._next()
        if self._first is None:
            return
        self._again.append(self._first)
        for _ in range(self._count):
            self._hire()
        room_until = time.monotonic() + ROOM_S
        while self._duties and (self._again or self._busy() or not self._exhausted):
            ready, _ = self._ray.wait(list(self._duties), timeout=WAIT_S)
            for ref in ready:
                room_until = float("inf")
                yield from self._done(ref)
            yield from self._late()
            if time.monotonic() > room_until:
                raise InputError(
                    f"the Ray cluster had no room for a worker of {self._cores} cores within "
                    f"{ROOM_S:g} s; free some, or ask for fewer threads."
                )

    def close(self) -> None:
        """End all actors."""
        for duty in self._duties.values():
            self._ray.kill(duty.actor)
        self._duties = {}

    def _hire(self) -> None:
        assert self._first is not None
        actor = self._ray.remote(_Clerk).options(num_cpus=self._cores).remote(self._job)
        self._duties[actor.warm_up.remote(self._first)] = _Duty(actor, None, self._first.ends)

    def _busy(self) -> bool:
        return any(duty.task is not None for duty in self._duties.values())

    def _next(self) -> Task | None:
        task = self._again.pop(0) if self._again else next(self._tasks, None)
        self._exhausted = task is None
        return task

    def _done(self, ref: Any) -> Generator[Record]:
        """Take what an actor has to say, and give it something to do."""
        duty = self._duties.pop(ref)
        try:
            record = self._ray.get(ref)
        except self._ray.exceptions.RayError:
            yield from self._lost(duty)
            return
        if duty.task is not None:
            yield record
        elif record:
            raise InputError(record)
        waiting = self._next()
        task = None if waiting is None else waiting.now()
        if task is None:
            self._ray.kill(duty.actor)
            return
        kill_at = time.monotonic() + task.limit_s + LATE_S
        self._duties[duty.actor.answer.remote(task)] = _Duty(duty.actor, task, kill_at)

    def _lost(self, duty: _Duty) -> Generator[Record]:
        """The actor died: its row is asked again, up to a limit, and another actor takes over."""
        key = "" if duty.task is None else duty.task.key
        self._tries[key] = self._tries.get(key, 0) + 1
        if duty.task is not None:
            if self._tries[key] < TRIES:
                self._again.append(duty.task)
            else:
                yield failure(key, f"the worker on the cluster died {TRIES} times")
        elif self._tries[key] >= TRIES * self._count:
            raise InputError(
                "workers on the Ray cluster die while they start; is counterfolio, in this "
                "version, installed on every node?"
            )
        self._hire()

    def _late(self) -> Generator[Record]:
        for ref, duty in list(self._duties.items()):
            if time.monotonic() < duty.kill_at:
                continue
            self._ray.kill(duty.actor)
            del self._duties[ref]
            if duty.task is not None:  # else the whole batch is out of time
                yield failure(duty.task.key, "killed: it did not end in time", "time_limit")
                self._hire()
