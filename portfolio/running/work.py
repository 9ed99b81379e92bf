"""Work that is sent to workers: its tasks, and the records that come back."""

import math
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from encoders.errors import CounterfolioError, InputError

Record = dict[str, Any]  # what came of a task: plain values, at least "key" and "message"


class NoRoomError(InputError):
    """No worker could begin, or go on; there may be room later."""


@dataclass(frozen=True, eq=False)
class Task:
    """One piece of work, a row to explain in most cases.

    Attributes
    ----------
    key : content hash of model, row and settings
    payload : what to work on: of a batch the row, float64 (n_columns,), in the model's order
    limit_s : seconds for it
    ends : ``time.monotonic()`` of the batch's own process at which all must be over
    cut : this leaves it less than its own limit
    """

    key: str
    payload: Any
    limit_s: float
    ends: float = math.inf
    cut: bool = False

    def now(self) -> "Task | None":
        """What can be asked at this moment, None if it is too late."""
        remaining_s = self.ends - time.monotonic()
        if remaining_s <= 0:
            return None
        return self if remaining_s >= self.limit_s else replace(self, limit_s=remaining_s, cut=True)


class Work(Protocol):
    """What is shipped once to each worker, pickled."""

    def warm_up(self, task: Task) -> None:
        """Import and compile what a task needs, outside of its time."""

    def answer(self, task: Task) -> Record:
        """What came of a task; has at least "key" and "message", and raises nothing."""
        ...

    def lost(self, task: Task, message: str, late: bool = False) -> Record:
        """The record of a task whose worker died; ``late``: was killed when time was up.

        Called where the work is given out, not by a worker.
        """
        ...


class Together(Protocol):
    """Tasks that are worked on one after another, and whose records are verified at once."""

    def take(self, task: Task) -> None:
        """Work on a task and hold back what comes of it; raises nothing."""

    def settle(self) -> tuple[list[Record], list[Task]]:
        """Records of what was taken, and the tasks that have to be asked alone instead."""
        ...


@runtime_checkable
class GatheringWork(Work, Protocol):
    """Work of which several tasks together may take less than each alone."""

    def together(self) -> Together | None:
        """What works on several tasks; None where nothing is gained."""
        ...


class Answers(Protocol):
    """Workers of one batch: answers come as they are ready, tasks are taken when one is free.

    Closing the iterator ends all that is still at work.
    """

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """Hand out tasks and yield what comes of them, in any order."""
        ...


def together_of(job: Work) -> Together | None:
    """What works on several tasks of a job, None where they are asked one by one."""
    return job.together() if isinstance(job, GatheringWork) else None


def cannot_start(error: Exception) -> str:
    """One sentence on why workers can't do a job at all."""
    if isinstance(error, CounterfolioError):
        return str(error)
    return (
        f"workers can't start ({type(error).__name__}: {error}); functions and classes that you "
        "pass must be of a module that can be imported there, not of a script or a notebook."
    )


def in_a_sentence(error: Exception) -> str:
    """What went wrong with one task."""
    if isinstance(error, CounterfolioError):
        return str(error)
    return "out of memory" if isinstance(error, MemoryError) else f"{type(error).__name__}: {error}"
