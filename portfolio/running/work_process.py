"""The other end of a batch worker: explains the rows it is sent, one at a time."""

import pickle
import queue
from functools import partial
from typing import Any

from portfolio.running.process import Link, aside, watchdog
from portfolio.running.work import Task, Work, cannot_start

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
    while True:
        task: Task = inbox.get()
        with watchdog(task.limit_s + OVERRUN_S):
            record = job.answer(task)
        link.send("answer", record)
