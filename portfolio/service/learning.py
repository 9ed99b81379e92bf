"""What a service keeps of its answers: logs to learn from, and which leaf decided how often."""

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
from portfolio.service.messages import Told
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
    """Logs and counts of one service; told of answers by one thread."""

    def __init__(self, settings: Settings, pool: Pool) -> None:
        check_folder(settings.logs)
        self._folder, self._share = settings.logs, settings.explore
        self._explorer: Explorer | None = None
        if settings.logs is not None and settings.explore:
            self._explorer = Explorer(pool, settings.logs, self._complain)
        self._decided: Counter[tuple[str, str, int, Schedule]] = Counter()
        self._complained = False

    def start(self) -> None:
        """Begin to explore."""
        if self._explorer is not None:
            self._explorer.start()

    def close(self) -> None:
        """Explore no more."""
        if self._explorer is not None:
            self._explorer.close()

    def book(self, model: Model, question: str) -> Logbook | None:
        """Where an answer is to be logged; None: nowhere."""
        if self._folder is None or question != EXPLAIN:
            return None
        return Logbook(self._folder, model.name)

    def hear(self, model: Model, ticket: Ticket, told: Told) -> None:
        """Count an answer, and maybe explore its question."""
        self._complain(told.complaint)
        nodes = model.explainer.diagram.nodes
        for place in leaves_of(nodes, told.decision):
            leaf = nodes[place]
            assert isinstance(leaf, Leaf)
            self._decided[model.name, model.diagram_digest, place, leaf.schedule] += 1
        solved = told.members.get("attempts", NONE) != NONE
        if self._explorer is None or ticket.log is None or not solved:
            return
        if random.random() < self._share:
            self._explorer.take(model, ticket)

    def book_of_batch(self, model: Model) -> Logbook | None:
        """Where the answers of a batch are to be logged; None: nowhere."""
        book = self.book(model, EXPLAIN)
        try:
            check_folder(book)
        except InputError as error:  # costs a line in the log, and no answer
            self._complain(str(error))
            return None
        return book

    def hear_batch(
        self, model: Model, arguments: dict[str, Any], X: pd.DataFrame, answers: pd.DataFrame
    ) -> None:
        """Maybe explore some of the questions of a batch."""
        if self._explorer is None:
            return
        for place, backend in enumerate(answers["backend"]):
            if backend not in ("", REDUCE) and random.random() < self._share:
                asked = arguments | {"x": plain_row(X.iloc[place])}
                ticket = Ticket(model, EXPLAIN, asked, asked["time_limit_s"])
                self._explorer.take(model, ticket)

    def _complain(self, why: str) -> None:
        """Say once that logs can't be written."""
        if why and not self._complained:
            self._complained = True
            log.error("answers are not logged: %s", why)

    def decided(self, model: str) -> list[dict[str, Any]]:
        """How often each leaf decided since the start."""
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
        """Whether it logs, and how far exploration is."""
        explorer = self._explorer
        explored = {} if explorer is None else {
            "explored": explorer.explored,
            "dropped": explorer.dropped,
            "waiting": explorer.waiting,
            "under_way": explorer.busy,
        }  # fmt: skip
        return {"logs": self._folder is not None, "explore": self._share, **explored}
