"""Program of a worker, which loads works and answers the tasks that it receives."""

import pickle
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from encoders.core.compiled import once_compiling
from portfolio.workers.process import Link, aside, watchdog
from portfolio.workers.repeated import repeated
from portfolio.workers.work import (
    InteractiveWork,
    PreparedWork,
    Task,
    Together,
    cannot_start,
    together_of,
)

FLUSH_S = 0.5  # seconds after which verified answers are sent, although others take longer
OVERRUN_S = 70.0  # seconds beyond all limits; longer than the parent waits


def serve(link: Link, prepare: Callable[[], None] = lambda: None) -> None:
    """Prepare, then load works and answer tasks until the connection closes."""
    desk = Desk(link)
    link.listen(desk.take)
    aside(partial(_answer_all, desk, prepare))


class Desk:
    """Received messages in order, and a :class:`portfolio.workers.work.Caller` of their tasks."""

    def __init__(self, link: Link) -> None:
        self.send = link.send
        self.messages: queue.Queue[tuple[Any, ...]] = queue.Queue()
        self._stops: dict[str, threading.Event] = {}

    def take(self, message: tuple[Any, ...]) -> None:
        """Queue a message, or apply it immediately if it is a stop.

        The control thread calls this while another thread answers.
        """
        kind, key, *content = message
        if kind == "stop":
            if key in self._stops:
                self._stops[key].set()
            return
        if kind == "tasks":
            self._stops = {task.key: threading.Event() for task in content[0]}
        self.messages.put(message)

    def stop_of(self, task: Task) -> threading.Event:
        """See :class:`portfolio.workers.work.Caller`."""
        return self._stops.get(task.key) or threading.Event()

    def report(self, task: Task, content: Any) -> None:
        """See :class:`portfolio.workers.work.Caller`."""
        self.send("report", (task.key, content))

    def extend(self, seconds: float) -> None:
        """See :class:`portfolio.workers.work.Caller`."""
        self.send("extend", seconds)

    def back(self, tasks: list[Task], alone: bool) -> None:
        """Return tasks without an answer, perhaps to be answered ``alone``."""
        if tasks:
            self.send("back", ([task.key for task in tasks], alone))


def _answer_all(desk: Desk, prepare: Callable[[], None]) -> None:
    works: dict[str, _Loaded] = {}
    with once_compiling(partial(desk.send, "compiling", None)):
        prepare()
    while True:
        kind, key, *content = desk.messages.get()
        if kind == "forget":
            works.pop(key, None)
            continue
        try:
            if kind == "load":
                works[key] = _Loaded(pickle.loads(content[0]), desk)
                desk.send("loaded", key)
                continue
            works[key].warm_up(content[0][0])
        except Exception as error:
            desk.send("broken", cannot_start(error))
            continue
        works[key].answer(content[0])


class _Loaded:
    """A work in this process."""

    def __init__(self, work: PreparedWork, desk: Desk) -> None:
        self._work, self._desk = work, desk
        self._warm = False
        self._together: Together | None = None
        if isinstance(work, InteractiveWork):
            work.attach(desk)

    def warm_up(self, task: Task) -> None:
        """Prepare for tasks like this one, once."""
        if not self._warm:
            self._work.warm_up(task)
            self._together = together_of(self._work)
            self._warm = True
            self._desk.send("warm", None)

    def answer(self, tasks: list[Task]) -> None:
        """Answer tasks, and send back those whose deadline has passed."""
        with watchdog(max(task.limit_s for task in tasks) + OVERRUN_S):
            if self._together is not None and len(tasks) > 1:
                several = Several(self._desk, self._together, deque(tasks))
                with repeated(FLUSH_S, several.flush, "counterfolio-flush"):
                    several.answer_all()
                return
            for task in tasks:
                if (due := task.now()) is None:
                    self._desk.back([task], alone=False)
                else:
                    self._desk.send("answers", [(task.key, self._work.answer(due))])


class Several:
    """Tasks whose answers are verified together.

    One thread answers them. Another one may flush the answers and send back the remaining tasks.
    """

    def __init__(self, desk: Desk, together: Together, remaining: deque[Task]) -> None:
        self._desk, self._together, self._remaining = desk, together, remaining

    def answer_all(self) -> None:
        """Answer one task after another, then verify and send the answers."""
        for task in self._taken():
            due = task.now()
            if due is None:
                self._desk.back([task], alone=False)
                continue
            try:
                self._together.take(due)
            except Exception:  # asked alone, the task reports its error
                self._desk.back([task], alone=True)
        self._settle()

    def flush(self) -> None:
        """Send finished answers and send back tasks that are not started."""
        self._desk.back(list(self._taken()), alone=False)
        self._settle()

    def _taken(self) -> Iterator[Task]:
        """Yield and remove the remaining tasks; two threads may share them."""
        while True:
            try:
                yield self._remaining.popleft()
            except IndexError:
                return

    def _settle(self) -> None:
        answers, again = self._together.settle()
        self._desk.back(again, alone=True)
        if answers:
            self._desk.send("answers", [(task.key, answer) for task, answer in answers])
