"""Training logs of a service, the leaves of decision diagrams that were used, and exploration."""

import logging
import queue
import random
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from encoders.core.errors import InputError
from portfolio.batch.exploration import RUNS, explorable
from portfolio.engine.logbook import EXPLORED, REDUCE, Logbook, check_folder
from portfolio.service.catalogue import Model
from portfolio.service.examples import plain_row
from portfolio.service.messages import EXPLAIN, EXPLORE, QuestionTicket, Reply
from portfolio.service.pool import ClosedError, FullError, ServicePool
from portfolio.service.settings import Settings
from portfolio.workers.process import POLL_S
from selector import words
from selector.diagram import Leaf
from selector.schedule import Schedule

log = logging.getLogger("counterfolio.service")
NONE = "[]"
MOST_WAITING = 100  # questions
# Arguments of explain that select a solver, or request more than the cheapest change.
LEFT_OUT = (
    "strategy",
    "portfolio",
    "metric",
    "second",
    "tie_break",
    "record",
    "records",
    "rounded",
    "text",
)


class Learning:
    """Training logs and counts of one service; answers are recorded by one thread."""

    def __init__(self, settings: Settings, pool: ServicePool) -> None:
        check_folder(settings.logs)
        self._folder, self._share = settings.logs, settings.explore
        self._explorer: Explorer | None = None
        if settings.logs is not None and settings.explore:
            self._explorer = Explorer(pool, settings.logs, self._complain)
        self._decided: Counter[tuple[str, str, int, Schedule]] = Counter()
        self._complained = False

    def start(self) -> None:
        """Start the exploration."""
        if self._explorer is not None:
            self._explorer.start()

    def close(self) -> None:
        """Stop the exploration."""
        if self._explorer is not None:
            self._explorer.close()

    def book(self, model: Model, question: str) -> Logbook | None:
        """Return the training log of an answer; None if it is not logged."""
        if self._folder is None or question != EXPLAIN:
            return None
        return Logbook(self._folder, model.name)

    def hear(self, model: Model, ticket: QuestionTicket, answer: Reply) -> None:
        """Count an answer, and queue a random share of questions for exploration."""
        self._complain(answer.complaint)
        nodes = model.explainer.diagram.nodes
        for place in words.leaves_of(nodes, answer.decision):
            leaf = nodes[place]
            assert isinstance(leaf, Leaf)
            self._decided[model.name, model.diagram_digest, place, leaf.schedule] += 1
        solved = answer.members.get("attempts", NONE) != NONE
        if self._explorer is None or ticket.log is None or not solved:
            return
        if random.random() < self._share:
            self._explorer.take(model, ticket)

    def book_of_batch(self, model: Model) -> Logbook | None:
        """Return the training log of a batch; None if it is not logged."""
        book = self.book(model, EXPLAIN)
        try:
            check_folder(book)
        except InputError as error:  # a damaged log must not prevent answers
            self._complain(str(error))
            return None
        return book

    def hear_batch(
        self, model: Model, arguments: dict[str, Any], X: pd.DataFrame, answers: pd.DataFrame
    ) -> None:
        """Queue a random share of the rows of a batch for exploration."""
        if self._explorer is None:
            return
        for place, backend in enumerate(answers["backend"]):
            if backend not in ("", REDUCE) and random.random() < self._share:
                members = arguments | {"x": plain_row(X.iloc[place])}
                ticket = QuestionTicket(model, EXPLAIN, members, members["time_limit_s"])
                self._explorer.take(model, ticket)

    def _complain(self, why: str) -> None:
        """Log the first failure to write training logs."""
        if why and not self._complained:
            self._complained = True
            log.error("writing the training log failed: %s", why)

    def decided(self, model: str) -> list[dict[str, Any]]:
        """Return how often each leaf was used since the start."""
        counted = [
            (diagram, leaf, words.schedule(schedule), count)
            for (name, diagram, leaf, schedule), count in self._decided.items()
            if name == model
        ]
        return [
            {"diagram": diagram, "leaf": leaf, "schedule": schedule, "count": count}
            for diagram, leaf, schedule, count in sorted(counted)
        ]

    def state(self) -> dict[str, Any]:
        """Return the state of logging and exploration."""
        explorer = self._explorer
        explored = {} if explorer is None else {
            "explored": explorer.explored,
            "dropped": explorer.dropped,
            "waiting": explorer.waiting,
            "under_way": explorer.busy,
        }  # fmt: skip
        return {"logs": self._folder is not None, "explore": self._share, **explored}


class Explorer:
    """A thread and a process for exploration, which clients never wait for."""

    def __init__(self, pool: ServicePool, folder: Path, complain: Callable[[str], None]) -> None:
        self._pool, self._folder, self._complain = pool, folder / EXPLORED, complain
        self._private = ServicePool(1, 1, pool.memory_bytes, pool.threads)
        self._waiting: queue.Queue[QuestionTicket] = queue.Queue(MOST_WAITING)
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

    def take(self, model: Model, ticket: QuestionTicket) -> None:
        """Queue a question for idle time; drop it if the queue is full."""
        arguments = {k: value for k, value in ticket.arguments.items() if k not in LEFT_OUT}
        limit_s = ticket.limit_s * len(explorable()) * RUNS
        log = Logbook(self._folder, model.name)
        try:
            self._waiting.put_nowait(QuestionTicket(model, EXPLORE, arguments, limit_s, log=log))
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
                self._private.start(self._pool.works)
            while not (self._private.ready and self._free()):
                if self._closed.wait(POLL_S):
                    return
            done = self._explored(ticket)
            self.explored += done
            self.dropped += not done
            self._waiting.task_done()

    def _explored(self, ticket: QuestionTicket) -> bool:
        """Explore a question; return False if it was dropped."""
        if ticket.model not in self._pool.works:
            return False
        self._private.keep(self._pool.works)
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
