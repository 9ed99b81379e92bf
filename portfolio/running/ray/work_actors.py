"""Actors that answer batches."""

import pickle
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from encoders.errors import InputError
from portfolio.running.local_executor import dumped
from portfolio.running.work import NoRoomError, Record, Task, Work, cannot_start

WAIT_S = 0.1  # seconds between looks at what is late
LATE_S = 5.0  # seconds that a batch worker may take beyond a row's limit before it is killed
ROOM_S = 120.0  # seconds that the cluster may have no room for any worker
TRIES = 3  # a row whose worker dies (its node, say) is asked again


class _BatchActor:
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
class _Assignment:
    """What an actor is at; ``task`` None while it warms up."""

    actor: Any
    task: Task | None
    kill_at: float


class ActorPool:
    """Actors of one batch, given a task whenever one is free.

    Parameters
    ----------
    ray : the module, connected
    job : what to do
    tasks : taken when an actor is free
    count : of actors
    cores : of each actor

    Raises
    ------
    InputError
        The job can't be pickled.
    """

    def __init__(self, ray: Any, job: Work, tasks: Iterator[Task], count: int, cores: int) -> None:
        self._ray, self._job, self._tasks, self._cores = ray, job, tasks, cores
        self._content = ray.put(dumped(job))
        self._again: list[Task] = []
        self._tries: dict[str, int] = {}
        self._assignments: dict[Any, _Assignment] = {}
        self._count = count
        self._first: Task | None = None
        self._exhausted = False

    def answers(self) -> Generator[Record]:
        """Records as they come.

        Raises
        ------
        InputError
            There is no room, or workers can't start.
        """
        self._first = self._next()
        if self._first is None:
            return
        self._again.append(self._first)
        for _ in range(self._count):
            self._start_actor()
        room_until = time.monotonic() + ROOM_S
        while self._assignments and (self._again or self._busy() or not self._exhausted):
            ready, _ = self._ray.wait(list(self._assignments), timeout=WAIT_S)
            for ref in ready:
                yield from self._done(ref)
            yield from self._late()
            if self._busy():
                room_until = time.monotonic() + ROOM_S
            elif time.monotonic() > room_until:
                raise NoRoomError(
                    f"the Ray cluster had no room for a worker of {self._cores} cores within "
                    f"{ROOM_S:g} s; free some, or ask for fewer threads."
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
            actor, None, self._first.ends
        )

    def _busy(self) -> bool:
        return any(assignment.task is not None for assignment in self._assignments.values())

    def _next(self) -> Task | None:
        task = self._again.pop(0) if self._again else next(self._tasks, None)
        self._exhausted = task is None
        return task

    def _done(self, ref: Any) -> Generator[Record]:
        """Take what an actor has to say, and give it something to do."""
        assignment = self._assignments.pop(ref)
        try:
            record = self._ray.get(ref)
        except self._ray.exceptions.RayError:
            yield from self._lost(assignment)
            return
        if assignment.task is not None:
            yield record
        elif record:
            raise InputError(record)
        waiting = self._next()
        task = None if waiting is None else waiting.now()
        if task is None:
            self._ray.kill(assignment.actor)
            return
        kill_at = time.monotonic() + task.limit_s + LATE_S
        self._assignments[assignment.actor.answer.remote(task)] = _Assignment(
            assignment.actor, task, kill_at
        )

    def _lost(self, assignment: _Assignment) -> Generator[Record]:
        """The actor died: its row is asked again, up to a limit, and another actor takes over."""
        key = "" if assignment.task is None else assignment.task.key
        self._tries[key] = self._tries.get(key, 0) + 1
        if assignment.task is not None:
            if self._tries[key] < TRIES:
                self._again.append(assignment.task)
            else:
                words = f"the worker on the cluster died {TRIES} times"
                yield self._job.lost(assignment.task, words)
        elif self._tries[key] >= TRIES * self._count:
            raise InputError(
                "workers on the Ray cluster die while they start; is counterfolio, in this "
                "version, installed on every node?"
            )
        self._start_actor()

    def _late(self) -> Generator[Record]:
        for ref, assignment in list(self._assignments.items()):
            if time.monotonic() < assignment.kill_at:
                continue
            self._ray.kill(assignment.actor)
            del self._assignments[ref]
            if assignment.task is not None:  # else the whole batch is out of time
                yield self._job.lost(assignment.task, "killed: it did not end in time", late=True)
                self._start_actor()
