"""The other end of a batch worker: explains the rows it is sent, one after another."""

import pickle
import queue
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from portfolio.running.process import Link, aside, watchdog
from portfolio.running.waiting import HELD_S
from portfolio.running.work import Record, Task, Together, Work, cannot_start, together_of

OVERRUN_S = 10.0  # seconds beyond a row's limit; above the parent's GRACE_S, which comes first


def serve(descriptor: int, memory_bytes: int) -> None:
    """Take a pickled job, then answer its tasks until the connection closes.

    Parameters
    ----------
    descriptor : number of the connection's file, inherited
    memory_bytes : address space of this process, 0 for no limit
    """
    inbox: queue.Queue[Any] = queue.Queue()
    link = Link(descriptor, memory_bytes, inbox.put)
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
            told = _one_by_one(job, tasks)
        else:
            told = _several(job, together, tasks)
        for records in told:
            link.send("answers", records)


def _one_by_one(job: Work, tasks: list[Task]) -> Iterator[list[Record]]:
    """Records of tasks, none of those that it is too late for."""
    for task in tasks:
        due = task.now()
        if due is None:
            yield []
            return
        with watchdog(due.limit_s + OVERRUN_S):
            record = job.answer(due)
        yield [record]


def _several(job: Work, together: Together, tasks: list[Task]) -> Iterator[list[Record]]:
    """The same; records are held back until a few can be verified at once, but not for long."""
    held_from = time.monotonic()
    for at, task in enumerate(tasks, 1):
        due = task.now()
        if due is not None:
            with watchdog(due.limit_s + OVERRUN_S):
                together.take(due)
        if due is None or at == len(tasks) or time.monotonic() - held_from > HELD_S:
            with watchdog(OVERRUN_S):
                records, again = together.settle()
            if records:
                yield records
            yield from _one_by_one(job, again)
            held_from = time.monotonic()
        if due is None:
            yield []
            return
