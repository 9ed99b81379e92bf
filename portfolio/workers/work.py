"""Interfaces of work for workers: tasks, records, and executors."""

import math
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil
from typing import Any, Protocol, runtime_checkable

from encoders.core.errors import CounterfolioError, InputError

# Seconds after which collected records are verified and sent. With half of it a forest of a hundred
# trees spends a tenth of its time on predictions. A lost worker's unsent rows are solved again.
HELD_S = 0.4
TRIES = 3  # attempts of a row whose worker dies

Record = dict[str, Any]  # outcome of a task: plain values, at least "key" and "message"


class NoRoomError(InputError):
    """Error if no worker can start or continue for lack of free cores."""


@dataclass(frozen=True, eq=False)
class Task:
    """Unit of work, in most cases a row to explain.

    Attributes
    ----------
    key : content hash of model, row and settings.
    payload : content, for a batch the row as float64 array (n_columns,) in the model's order.
    limit_s : time limit in seconds.
    ends : deadline of the batch, on the clock ``time.monotonic()`` of the batch's process.
    cut : bool, whether the deadline leaves less than the time limit of the row.
    """

    key: str
    payload: Any
    limit_s: float
    ends: float = math.inf
    cut: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields with the seconds that remain, as clocks of machines differ."""
        return vars(self) | {"ends": self.ends - time.monotonic()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the fields, with a deadline by the clock of this machine."""
        self.__dict__.update(state, ends=state["ends"] + time.monotonic())

    def now(self) -> "Task | None":
        """Return the task with the time that remains; None if the deadline has passed."""
        remaining_s = self.ends - time.monotonic()
        if remaining_s <= 0:
            return None
        return self if remaining_s >= self.limit_s else replace(self, limit_s=remaining_s, cut=True)


class Work(Protocol):
    """Interface of work, which is pickled and sent once to each worker."""

    def warm_up(self, task: Task) -> None:
        """Import and compile before the time of a task starts."""

    def answer(self, task: Task) -> Record:
        """Return the record of a task, with at least "key" and "message"; never raise."""
        ...

    def lost(self, task: Task, message: str, late: bool = False) -> Record:
        """Return the record of a task whose worker died, or was killed for being ``late``.

        The process that distributes the tasks calls this, not a worker.
        """
        ...


class Together(Protocol):
    """Interface of work on several tasks, whose records are verified in one call."""

    def take(self, task: Task) -> None:
        """Solve a task and keep its record until it is verified; never raise."""

    def settle(self) -> tuple[list[Record], list[Task]]:
        """Return the verified records, and the tasks that must be solved alone."""
        ...


@runtime_checkable
class GatheringWork(Work, Protocol):
    """Interface of work that may solve several tasks together faster than one by one."""

    def together(self) -> Together | None:
        """Return an object that solves several tasks together; None if that is not faster."""
        ...


class Answers(Protocol):
    """Interface of executors: free workers take tasks, records are yielded as they are ready.

    Closing the iterator ends all workers.
    """

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """Distribute tasks and yield their records in any order."""
        ...


def together_of(job: Work) -> Together | None:
    """Return what solves several tasks of a job together; None if it supports single tasks only."""
    return job.together() if isinstance(job, GatheringWork) else None


def cannot_start(error: Exception) -> str:
    """Return a message on why workers cannot run a job at all."""
    if isinstance(error, CounterfolioError):
        return str(error)
    return (
        f"workers can't start ({type(error).__name__}: {error}). Define functions and classes that "
        "you pass in a module that workers can import, not in a script or a notebook."
    )


def in_a_sentence(error: Exception) -> str:
    """Return an error of a task as a message."""
    if isinstance(error, CounterfolioError):
        return str(error)
    return "out of memory" if isinstance(error, MemoryError) else f"{type(error).__name__}: {error}"


class Waiting:
    """Queue of tasks that no worker has yet; not thread safe."""

    def __init__(self, tasks: Iterator[Task], workers: int, most: int) -> None:
        self._tasks, self._workers, self._most = tasks, workers, most
        self._ahead: deque[Task] = deque()
        self._again: deque[Task] = deque()
        self._tries: Counter[str] = Counter()

    def next(self, pace_s: float) -> list[Task]:
        """Return the next tasks of a worker: as many as it solves before it verifies them."""
        if self._again:
            return [self._again.popleft()]
        count = max(1, min(self._most, int(HELD_S / pace_s)))
        target = count if count == 1 else count * self._workers
        self._ahead.extend(islice(self._tasks, max(0, target - len(self._ahead))))
        share = min(count, ceil(len(self._ahead) / self._workers))
        return [self._ahead.popleft() for _ in range(share)]

    @property
    def any(self) -> bool:
        """True if any task is waiting."""
        if not self._again and not self._ahead:
            self._ahead.extend(islice(self._tasks, 1))
        return bool(self._again or self._ahead)

    def not_begun(self, tasks: list[Task]) -> None:
        """Return tasks that a worker did not start to the front of the queue."""
        self._ahead.extendleft(reversed(tasks))

    def alone(self, tasks: list[Task]) -> None:
        """Queue tasks again, one at a time, because their records were rejected."""
        self._again.extend(tasks)

    def put_back(self, tasks: list[Task]) -> list[Task]:
        """Queue tasks again, one at a time; return those that reached the limit of attempts."""
        if len(tasks) == 1:
            self._tries[tasks[0].key] += 1
        given_up = [task for task in tasks if self._tries[task.key] >= TRIES]
        self.alone([task for task in tasks if task not in given_up])
        return given_up
