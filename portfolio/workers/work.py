"""Interfaces of work for workers: tasks, records, and executors."""

import math
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from encoders.core.errors import CounterfolioError, InputError

# Seconds after which collected records are verified and sent. With half of it a forest of a hundred
# trees spends a tenth of its time on predictions. A lost worker's unsent rows are solved again.
HELD_S = 0.4

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


class PreparedWork(Protocol):
    """Interface of what a worker needs to answer tasks, which is pickled and sent to it once."""

    def warm_up(self, task: Task) -> None:
        """Import and compile before the time of the first task starts."""

    def answer(self, task: Task) -> Any:
        """Return the answer of a task; never raise."""
        ...


class Work(PreparedWork, Protocol):
    """Interface of the work of a batch, whose answers are records."""

    def answer(self, task: Task) -> Record:
        """Return the record of a task, with at least "key" and "message"; never raise."""
        ...

    def lost(self, task: Task, message: str, late: bool = False) -> Record:
        """Return the record of a task whose worker died, or was killed for being ``late``.

        The process that distributes the tasks calls this, not a worker.
        """
        ...


class Caller(Protocol):
    """Interface of the connection from a task to the process that asked for it."""

    def stop_of(self, task: Task) -> threading.Event:
        """Return the event that stops a task."""
        ...

    def report(self, task: Task, content: Any) -> None:
        """Send intermediate results of a task."""

    def extend(self, seconds: float) -> None:
        """Allow more seconds to write an answer that is found."""


@runtime_checkable
class InteractiveWork(PreparedWork, Protocol):
    """Interface of work whose tasks can be stopped, and report on their progress."""

    def attach(self, caller: Caller) -> None:
        """Set the connection to the caller, once before the first task."""


class Together(Protocol):
    """Interface of work on several tasks, whose answers are verified in one call.

    One thread takes tasks. Another thread may settle meanwhile.
    """

    def take(self, task: Task) -> None:
        """Solve a task and keep its answer until it is verified; raise if that fails."""

    def settle(self) -> tuple[list[tuple[Task, Any]], list[Task]]:
        """Return the verified answers, and the tasks that must be solved alone."""
        ...


@runtime_checkable
class GatheringWork(PreparedWork, Protocol):
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


def together_of(job: PreparedWork) -> Together | None:
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
