"""Program of a batch worker, which explains the rows that it receives."""

import pickle
import queue
import time
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any

from portfolio.workers.process import Link, aside, watchdog
from portfolio.workers.work import HELD_S, Record, Task, Together, Work, cannot_start, together_of

OVERRUN_S = 10.0  # seconds beyond a row's limit; above the parent's GRACE_S, which comes first


def serve(link: Link) -> None:
    """Receive a pickled job, then solve its tasks until the connection closes."""
    inbox: queue.Queue[Any] = queue.Queue()
    link.listen(inbox.put)
    aside(partial(_answer_all, link, inbox))


def _answer_all(link: Link, inbox: "queue.Queue[Any]") -> None:
    content: bytes = inbox.get()
    first: Task = inbox.get()
    try:
        job: Work = pickle.loads(content)
        job.warm_up(first)
    except Exception as error:
        link.send("broken", cannot_start(error))
        return
    link.send("warm", None)
    together = together_of(job)
    while True:
        tasks: list[Task] = inbox.get()
        if together is None or len(tasks) == 1:
            batches = _one_by_one(job, tasks)
        else:
            batches = _several(job, together, tasks)
        for records in batches:
            link.send("answers", records)


def _one_by_one(job: Work, tasks: list[Task]) -> Iterator[list[Record]]:
    """Yield the record of each task; an empty list if the deadline has passed."""
    for task in tasks:
        due = task.now()
        if due is None:
            yield []
            return
        with watchdog(due.limit_s + OVERRUN_S):
            record = job.answer(due)
        yield [record]


def _several(job: Work, together: Together, tasks: list[Task]) -> Iterator[list[Record]]:
    """Yield the records of tasks, a few of which are verified together."""
    waiting = deque(tasks)
    while waiting:
        due = _take_some(together, waiting)
        with watchdog(OVERRUN_S):
            records, again = together.settle()
        if records:
            yield records
        yield from _one_by_one(job, again)
        if not due:
            yield []
            return


def _take_some(together: Together, waiting: deque[Task]) -> bool:
    """Solve tasks for ``HELD_S`` seconds; return False if the deadline has passed.

    One watchdog covers all of them, as starting one per task would cost some percent of the time.
    A stuck task is noticed at most ``HELD_S`` later.
    """
    began = time.monotonic()
    with watchdog(HELD_S + max(task.limit_s for task in waiting) + OVERRUN_S):
        while waiting and time.monotonic() - began <= HELD_S:
            due = waiting.popleft().now()
            if due is None:
                return False
            together.take(due)
    return True
