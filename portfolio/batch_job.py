"""What workers of a batch need to know, and what they answer to one row."""

import math
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import CounterfolioError
from portfolio.batch_log import Record
from portfolio.counterfactual import Result


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
        left = self.ends - time.monotonic()
        if left <= 0:
            return None
        return self if left >= self.limit_s else replace(self, limit_s=left, cut=True)


@dataclass(frozen=True, eq=False)
class Job:
    """Explains rows by ``ask(row, seconds)``; a :class:`Work`."""

    ask: Callable[[FloatArray, float], Result]

    def warm_up(self, task: Task) -> None:
        """See :class:`Work`."""
        self.answer(replace(task, limit_s=1e-3))

    def answer(self, task: Task) -> Record:
        """The record of one row; what goes wrong is told in it."""
        try:
            return _record(task, self.ask(task.payload, task.limit_s))
        except CounterfolioError as error:
            return failure(task.key, str(error))
        except MemoryError:
            return failure(task.key, "out of memory")
        except Exception as error:  # one row must not end the job
            return failure(task.key, f"{type(error).__name__}: {error}")


class Work(Protocol):
    """What is shipped once to each worker, pickled."""

    def warm_up(self, task: Task) -> None:
        """Import and compile what a task needs, outside of its time."""

    def answer(self, task: Task) -> Record:
        """What came of a task; has at least "key" and "message", and raises nothing."""
        ...


class Answers(Protocol):
    """Workers of one batch: answers come as they are ready, tasks are taken when one is free.

    Closing the iterator ends all that is still at work.
    """

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]: ...


def cannot_start(error: Exception) -> str:
    """One sentence on why workers can't do a job at all."""
    if isinstance(error, CounterfolioError):
        return str(error)
    return (
        f"workers can't start ({type(error).__name__}: {error}); functions and classes that you "
        "pass must be of a module that can be imported there, not of a script or a notebook."
    )


def failure(key: str, message: str, reason: str = "error") -> Record:
    """The record of a row without an answer."""
    return {
        "key": key,
        "status": "unknown",
        "stop_reason": reason,
        "distance": None,
        "bound": 0.0,
        "backend": "",
        "target": None,
        "seconds": 0.0,
        "changed": [],
        "message": message,
        "row": None,
        "final": False,
    }


def _record(task: Task, result: Result) -> Record:
    found = result.counterfactual
    late = result.stop_reason == "time_limit" and task.cut
    return {
        "key": task.key,
        "status": result.status,
        "stop_reason": "deadline" if late else result.stop_reason,
        "distance": _finite(result.distance),
        "bound": _finite(result.lower_bound),
        "margin": result.margin,
        "backend": result.backend,
        "target": _plain(result.target),
        "seconds": result.timings.total,
        "changed": [change.feature for change in result.changed],
        "message": result.message,
        "row": None if found is None else np.asarray(found, dtype=np.float64).tolist(),
        # What a limit of the job, an error or an interrupt left open is asked again on resume.
        "final": not late and result.stop_reason not in ("error", "interrupted"),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
