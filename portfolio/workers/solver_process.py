"""Program of a solver process, which solves one problem at a time."""

import queue
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from encoders.backends.interface import Backend, Outcome, Request, SolveSettings
from encoders.backends.prepared import PreparedModel
from encoders.core import system
from encoders.core.arrays import IntArray
from encoders.core.errors import CounterfolioError
from encoders.problem.problem import Problem
from portfolio.workers.process import Link, watchdog

OVERRUN_S = 5.0  # seconds beyond the limit; above the parent's GRACE_S, which comes first
Send = Callable[[str, Any], None]


@dataclass(frozen=True, eq=False)
class SolverTask:
    """Request to solve a problem, without the callbacks, which cannot be pickled.

    Pickling preserves the time that remains, as clocks of machines differ.
    """

    backend: Backend  # backend to call
    problem: Problem  # problem to solve
    settings: SolveSettings  # settings of the solver
    deadline: float  # deadline by this machine's monotonic clock
    keep: bool  # keep the model for later problems of the same structure

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields with the seconds that remain."""
        return vars(self) | {"deadline": self.deadline - time.monotonic()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the fields, with a deadline by the clock of this machine."""
        self.__dict__.update(state, deadline=state["deadline"] + time.monotonic())


@dataclass(frozen=True, eq=False)
class Rival:
    """Best choice that other backends have found so far, int64 (n_variables,)."""

    choice: IntArray


def serve(link: Link) -> None:
    """Solve tasks from a connection until it closes."""
    inbox = Inbox()
    link.listen(inbox.take)
    kept = PreparedModel()
    while True:
        task = inbox.tasks.get()
        try:
            link.send("done", solve_task(task, link.send, inbox, kept))
        except MemoryError:
            link.send("failed", ("memory_limit", "out of memory"))
        except CounterfolioError as error:
            link.send("failed", ("error", str(error)))
        except Exception as error:
            text = traceback.format_exception_only(error)[-1].strip()
            link.send("failed", ("error", text))


class Inbox:
    """Received messages: tasks, a stop request, and the best rival choice."""

    def __init__(self) -> None:
        self.tasks: queue.Queue[SolverTask] = queue.Queue()
        self.stop = threading.Event()
        self.rival: IntArray | None = None

    def take(self, message: object) -> None:
        """Store a message for the solve; the control thread calls this while another one solves."""
        if isinstance(message, SolverTask):
            self.stop, self.rival = threading.Event(), None
            self.tasks.put(message)
        elif isinstance(message, Rival):
            self.rival = message.choice
        else:
            self.stop.set()


def solve_task(task: SolverTask, send: Send, inbox: Inbox, kept: PreparedModel) -> Outcome:
    """Solve within the remaining time, and send each choice and bound as it is found."""
    remaining_s = max(task.deadline - time.monotonic(), 0.0)
    with watchdog(remaining_s + OVERRUN_S):
        solve = partial(kept.solve, task.backend) if task.keep else task.backend.load()
        request = Request(
            **(vars(task.settings) | {"time_limit_s": remaining_s}),
            stop=inbox.stop,
            on_choice=lambda levels: send("choice", levels),
            on_bounds=lambda upper, lower: send("bounds", (upper, lower)),
            rival=lambda: inbox.rival,
        )
        return replace(solve(task.problem, request), peak_bytes=system.peak_bytes())
