"""Exploration: all backends solve logged questions again, in a separate process in idle time."""

import queue
import threading
from collections.abc import Callable
from pathlib import Path

from portfolio.exploration import RUNS, explorable
from portfolio.logbook import EXPLORED, Logbook
from portfolio.running.process import POLL_S
from portfolio.service.alternatives import EXPLORE, LEFT_OUT
from portfolio.service.catalogue import Model
from portfolio.service.messages import Reply
from portfolio.service.pool import ClosedError, FullError, Pool
from portfolio.service.ticket import Ticket

MOST_WAITING = 100  # questions


class Explorer:
    """A thread and a process for exploration, which clients never wait for."""

    def __init__(self, pool: Pool, folder: Path, complain: Callable[[str], None]) -> None:
        self._pool, self._folder, self._complain = pool, folder / EXPLORED, complain
        self._private = Pool(1, 1, pool.memory_bytes, pool.threads)
        self._waiting: queue.Queue[Ticket] = queue.Queue(MOST_WAITING)
        self._closed = threading.Event()
        self._thread = threading.Thread(
            target=self._work, name="counterfolio-explorer", daemon=True
        )
        self._begun = False
        self.explored = self.dropped = 0

    def start(self) -> None:
        """Start the thread; the process starts with the first question."""
        self._thread.start()

    def close(self) -> None:
        """End thread and process; drop the current question."""
        self._closed.set()
        self._private.close()

    @property
    def waiting(self) -> int:
        """Number of questions that wait or are being explored."""
        return self._waiting.unfinished_tasks

    @property
    def busy(self) -> bool:
        """True while a question is being explored."""
        return self._private.busy > 0

    def take(self, model: Model, ticket: Ticket) -> None:
        """Queue a question for idle time; drop it if the queue is full."""
        arguments = {k: value for k, value in ticket.arguments.items() if k not in LEFT_OUT}
        limit_s = ticket.limit_s * len(explorable()) * RUNS
        log = Logbook(self._folder, model.name)
        try:
            self._waiting.put_nowait(Ticket(model, EXPLORE, arguments, limit_s, log=log))
        except queue.Full:
            self.dropped += 1

    def _free(self) -> bool:
        """Return True if a worker is idle."""
        return not self._pool.waiting and self._pool.busy < self._pool.workers

    def _work(self) -> None:
        while not self._closed.is_set():
            try:
                ticket = self._waiting.get(timeout=1.0)
            except queue.Empty:
                continue
            if not self._begun:
                self._begun = True
                self._private.start(self._pool.current)
            while not (self._private.ready and self._free()):
                if self._closed.wait(POLL_S):
                    return
            done = self._explored(ticket)
            self.explored += done
            self.dropped += not done
            self._waiting.task_done()

    def _explored(self, ticket: Ticket) -> bool:
        """Explore a question; return False if it was dropped."""
        if ticket.model not in self._pool.current:
            return False
        self._private.keep(self._pool.current)
        try:
            self._private.submit(ticket)
        except (FullError, ClosedError):
            return False
        # A stopped question counts as done immediately, as its future may never be set.
        while not ticket.future.done():
            if self._closed.wait(POLL_S) or not self._free():
                ticket.stop()
        answer = None if ticket.future.cancelled() else ticket.future.result()
        if not isinstance(answer, Reply):
            return False
        self._complain(answer.complaint)
        return answer.status == "explored"
