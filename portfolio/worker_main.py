"""The other end of a worker: solves what it is sent, one problem at a time.

A control thread listens while the solve runs: a stop is passed on, and when the parent is gone
the process ends, whatever the solver is doing.
"""

import contextlib
import faulthandler
import os
import queue
import resource
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from encoders.arrays import IntArray
from encoders.backend import Backend, Outcome, Request
from encoders.errors import CounterfolioError
from encoders.kept import Kept
from encoders.problem import Problem

PARENT_GONE = 1
OVERRUN_S = 5.0


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


@dataclass(frozen=True, eq=False)
class Rival:
    """The best choice that others have found by now."""

    choice: IntArray


def serve(descriptor: int, memory_bytes: int) -> None:
    """Answer tasks from a connection until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    link = _Link(Connection(descriptor))
    threading.Thread(target=link.listen, daemon=True, name="counterfolio-control").start()
    link.send("ready", None)
    kept = Kept()
    while True:
        task = link.tasks.get()
        try:
            link.send("done", _solve(task, link, kept))
        except MemoryError:
            link.send("failed", ("memory_limit", "out of memory"))
        except CounterfolioError as error:
            link.send("failed", ("error", str(error)))
        except Exception as error:
            text = traceback.format_exception_only(error)[-1].strip()
            link.send("failed", ("error", text))


class _Link:
    """The connection to the parent, shared by the solve, its callbacks and the control thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self.tasks: queue.Queue[Task] = queue.Queue()
        self.rival: IntArray | None = None
        self.stop = threading.Event()

    def listen(self) -> None:
        """Receive tasks, stops and rivals; end the process when the parent is gone."""
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                os._exit(PARENT_GONE)
            if isinstance(message, Task):
                self.stop, self.rival = threading.Event(), None
                self.tasks.put(message)
            elif isinstance(message, Rival):
                self.rival = message.choice
            else:
                self.stop.set()

    def send(self, kind: str, content: Any) -> None:
        with self._lock, contextlib.suppress(OSError):
            self._connection.send((kind, content))


def _solve(task: Task, link: _Link, kept: Kept) -> Outcome:
    # A solver that holds the interpreter can't hear that its parent is gone: a watchdog in C
    # ends the process should it overrun its limit.
    left = max(task.deadline - time.monotonic(), 0.0)
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(left + OVERRUN_S, exit=True, file=nowhere)
        try:
            solve = partial(kept.solve, task.backend) if task.keep else task.backend.load()
            return solve(
                task.problem,
                Request(
                    time_limit_s=left,
                    threads=task.threads,
                    seed=task.seed,
                    hint=task.hint,
                    cutoff=task.cutoff,
                    formulation=task.formulation,
                    engine=task.engine,
                    stop=link.stop,
                    on_choice=lambda levels: link.send("choice", levels),
                    on_bounds=lambda upper, lower: link.send("bounds", (upper, lower)),
                    rival=lambda: link.rival,
                ),
            )
        finally:
            faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
