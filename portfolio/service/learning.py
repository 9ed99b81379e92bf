"""Training logs of a service, and counts of the leaves of decision diagrams that were used."""

import logging
import random
from collections import Counter
from typing import Any

import pandas as pd

from encoders.errors import InputError
from portfolio.logbook import REDUCE, Logbook, check_folder
from portfolio.service.catalogue import Model
from portfolio.service.examples import plain_row
from portfolio.service.explorer import Explorer
from portfolio.service.messages import Reply
from portfolio.service.pool import Pool
from portfolio.service.questions import EXPLAIN
from portfolio.service.settings import Settings
from portfolio.service.ticket import Ticket
from selector import words
from selector.diagram import Leaf
from selector.schedule import Schedule
from selector.way import leaves_of

log = logging.getLogger("counterfolio.service")
NONE = "[]"


class Learning:
    """Training logs and counts of one service; answers are recorded by one thread."""

    def __init__(self, settings: Settings, pool: Pool) -> None:
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

    def hear(self, model: Model, ticket: Ticket, answer: Reply) -> None:
        """Count an answer, and queue a random share of questions for exploration."""
        self._complain(answer.complaint)
        nodes = model.explainer.diagram.nodes
        for place in leaves_of(nodes, answer.decision):
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
                ticket = Ticket(model, EXPLAIN, members, members["time_limit_s"])
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
