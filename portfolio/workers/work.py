"""Interfaces of work for workers: tasks, records, and executors."""

import math
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from encoders.core.errors import CounterfolioError, InputError

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
