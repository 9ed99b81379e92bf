"""Executor of races and batches on a Ray cluster.

This module is imported, and Ray is started, on demand only.
"""

import pickle
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Any

from encoders.backends.interface import Backend, Outcome, Request
from encoders.core.errors import InputError
from encoders.problem.problem import Problem
from portfolio.results.printing import counted
from portfolio.workers.local_executor import LATE, MOST, dumped
from portfolio.workers.ray.connection import connect
from portfolio.workers.ray.solver_actor import solve_on, solver_actor
from portfolio.workers.waiting import HELD_S, TRIES, Waiting
from portfolio.workers.work import NoRoomError, Record, Task, Work, cannot_start, together_of

WAIT_S = 0.1  # seconds between checks of limits

LATE_S = 5.0  # seconds beyond the time limit of a row after which a worker is killed

ROOM_S = 120.0  # seconds without free cores for any worker after which the batch fails


class _BatchActor:
    """Actor that explains rows."""

    def __init__(self, job: bytes) -> None:
        self._content = job

    def warm_up(self, task: Task) -> str:
        """Load the job and warm up; return the error message, "" without an error."""
        try:
            self._job: Work = pickle.loads(self._content)
            self._job.warm_up(task)
            self._together = together_of(self._job)
        except Exception as error:
            return cannot_start(error)
        return ""

    def answer(self, tasks: list[Task]) -> tuple[list[Record], int]:
        """Return the records and the number of started tasks; the remaining ones are returned."""
        if self._together is None or len(tasks) == 1:
            return [self._job.answer(tasks[0])], 1
        began, begun = time.monotonic(), 0
        while begun < len(tasks) and time.monotonic() - began < HELD_S:
            self._together.take(tasks[begun])
            begun += 1
        return self._together.settle()[0], begun


@dataclass
class _Assignment:
    """Current tasks of an actor; none while it warms up."""

    actor: Any
    tasks: list[Task]
    kill_at: float
    began: float = field(default_factory=time.monotonic)


class ActorPool:
    """Actors of one batch; free ones receive the next tasks."""

    def __init__(self, ray: Any, job: Work, tasks: Iterator[Task], count: int, cores: int) -> None:
        self._ray, self._job, self._cores = ray, job, cores
        self._content = ray.put(dumped(job))
        self._waiting = Waiting(tasks, count, MOST if together_of(job) is not None else 1)
        self._starts_lost = 0
        self._assignments: dict[Any, _Assignment] = {}
        self._count = count
        self._first: Task | None = None

    def answers(self) -> Generator[Record]:
        """Yield records as they are ready."""
        first = self._waiting.next(inf)
        if not first:
            return
        (self._first,) = first
        self._waiting.not_begun(first)
        for _ in range(self._count):
            self._start_actor()
        room_until = time.monotonic() + ROOM_S
        while self._assignments and (self._busy() or self._waiting.any):
            ready, _ = self._ray.wait(list(self._assignments), timeout=WAIT_S)
            for ref in ready:
                yield from self._done(ref)
            yield from self._late()
            if self._busy():
                room_until = time.monotonic() + ROOM_S
            elif time.monotonic() > room_until:
                raise NoRoomError(
                    f"the Ray cluster did not provide {counted(self._cores, 'free core')} for a "
                    f"worker within {ROOM_S:g} s. Free some, or set fewer threads."
                )

    def close(self) -> None:
        """End all actors."""
        for assignment in self._assignments.values():
            self._ray.kill(assignment.actor)
        self._assignments = {}

    def _start_actor(self) -> None:
        assert self._first is not None
        actor = self._ray.remote(_BatchActor).options(num_cpus=self._cores).remote(self._content)
        self._assignments[actor.warm_up.remote(self._first)] = _Assignment(
            actor, [], self._first.ends
        )

    def _busy(self) -> bool:
        return any(assignment.tasks for assignment in self._assignments.values())

    def _done(self, ref: Any) -> Generator[Record]:
        """Yield the records of an actor, and send it the next tasks."""
        assignment = self._assignments.pop(ref)
        try:
            reply = self._ray.get(ref)
        except self._ray.exceptions.RayError:
            yield from self._lost(assignment)
            return
        pace_s = inf
        if assignment.tasks:
            records, begun = reply
            yield from records
            pace_s = (time.monotonic() - assignment.began) / begun
            self._take_back(assignment.tasks, records, begun)
        elif reply:
            raise InputError(reply)
        now = [task.now() for task in self._waiting.next(pace_s)]
        due = [task for task in now if task is not None]
        if not due:
            self._ray.kill(assignment.actor)
            return
        kill_at = time.monotonic() + HELD_S + max(task.limit_s for task in due) + LATE_S
        self._assignments[assignment.actor.answer.remote(due)] = _Assignment(
            assignment.actor, due, kill_at
        )

    def _take_back(self, tasks: list[Task], records: list[Record], begun: int) -> None:
        """Queue tasks without a record again."""
        recorded = {record["key"] for record in records}
        self._waiting.alone([task for task in tasks[:begun] if task.key not in recorded])
        self._waiting.not_begun(tasks[begun:])

    def _lost(self, assignment: _Assignment) -> Generator[Record]:
        """Replace an actor that died; queue its rows again, up to a limit."""
        for task in self._waiting.put_back(assignment.tasks):
            yield self._job.lost(task, f"the worker on the cluster died {TRIES} times")
        self._starts_lost += not assignment.tasks
        if self._starts_lost >= TRIES * self._count:
            raise InputError(
                "workers on the Ray cluster died while they started. Install this version of "
                "counterfolio on every node."
            )
        self._start_actor()

    def _late(self) -> Generator[Record]:
        for ref, assignment in list(self._assignments.items()):
            if time.monotonic() < assignment.kill_at:
                continue
            self._ray.kill(assignment.actor)
            del self._assignments[ref]
            tasks = assignment.tasks
            if len(tasks) == 1:
                yield self._job.lost(tasks[0], LATE, late=True)
            elif tasks:  # any of them may be the slow one
                self._waiting.put_back(tasks)
            if tasks:  # without tasks the deadline of the batch has passed
                self._start_actor()


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
        """Yield the records of a batch; see :class:`portfolio.workers.work.Answers`."""
        ray = self._connect()
        count = self._workers or max(1, int(ray.cluster_resources()["CPU"]) // self._threads)
        actors = ActorPool(ray, job, tasks, count, self._threads)
        try:
            yield from actors.answers()
        finally:
            actors.close()

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
