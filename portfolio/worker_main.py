"""The other end of a worker: solves what it is sent, one problem at a time."""

import queue
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from encoders.arrays import IntArray
from encoders.attempt import peak_bytes
from encoders.backend import Backend, Outcome, Request
from encoders.errors import CounterfolioError
from encoders.kept import Kept
from encoders.problem import Problem
from portfolio.process import Link, watchdog

OVERRUN_S = 5.0
Send = Callable[[str, Any], None]


@dataclass(frozen=True, eq=False)
class Task:
    """What a worker is asked; a request without what can't be sent.

    ``deadline`` is on the clock of ``time.monotonic``, which all processes share; ``keep`` asks
    to keep the model for queries that differ in costs only.
    """

    backend: Backend
    problem: Problem
    deadline: float
    threads: int
    seed: int
    hint: IntArray | None
    cutoff: float
    formulation: str
    engine: str
    keep: bool

    @staticmethod
    def of(backend: Backend, problem: Problem, request: Request, keep: bool) -> "Task":
        """What a request asks of a process on this machine."""
        return Task(
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


@dataclass(frozen=True, eq=False)
class Rival:
    """The best choice that others have found by now."""

    choice: IntArray


def serve(descriptor: int, memory_bytes: int) -> None:
    """Answer tasks from a connection until it closes."""
    desk = Desk()
    link = Link(descriptor, memory_bytes, desk.take)
    kept = Kept()
    while True:
        task = desk.tasks.get()
        try:
            link.send("done", solve_task(task, link.send, desk, kept))
        except MemoryError:
            link.send("failed", ("memory_limit", "out of memory"))
        except CounterfolioError as error:
            link.send("failed", ("error", str(error)))
        except Exception as error:
            text = traceback.format_exception_only(error)[-1].strip()
            link.send("failed", ("error", text))


class Desk:
    """What has been received: tasks, a stop, the best rival."""

    def __init__(self) -> None:
        self.tasks: queue.Queue[Task] = queue.Queue()
        self.stop = threading.Event()
        self.rival: IntArray | None = None

    def take(self, message: object) -> None:
        """Put a message where the solve finds it."""
        if isinstance(message, Task):
            self.stop, self.rival = threading.Event(), None
            self.tasks.put(message)
        elif isinstance(message, Rival):
            self.rival = message.choice
        else:
            self.stop.set()


def solve_task(task: Task, send: Send, desk: Desk, kept: Kept) -> Outcome:
    """Solve within the time left, telling each choice and bound as it comes."""
    left = max(task.deadline - time.monotonic(), 0.0)
    with watchdog(left + OVERRUN_S):
        solve = partial(kept.solve, task.backend) if task.keep else task.backend.load()
        outcome = solve(
            task.problem,
            Request(
                time_limit_s=left,
                threads=task.threads,
                seed=task.seed,
                hint=task.hint,
                cutoff=task.cutoff,
                formulation=task.formulation,
                engine=task.engine,
                stop=desk.stop,
                on_choice=lambda levels: send("choice", levels),
                on_bounds=lambda upper, lower: send("bounds", (upper, lower)),
                rival=lambda: desk.rival,
            ),
        )
        return replace(outcome, peak_bytes=peak_bytes())
