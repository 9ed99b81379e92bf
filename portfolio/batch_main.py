"""The other end of a batch worker: explains the rows it is sent, one at a time."""

import pickle
import queue
from typing import Any

from portfolio.batch_job import Task, Work
from portfolio.process import Link, watchdog

OVERRUN_S = 10.0


def serve(descriptor: int, memory_bytes: int) -> None:
    """Take a pickled job, then answer its tasks until the connection closes."""
    inbox: queue.Queue[Any] = queue.Queue()
    link = Link(descriptor, memory_bytes, inbox.put)
    job: Work = pickle.loads(inbox.get())
    first: Task = inbox.get()
    job.warm_up(first)
    link.send("warm", None)
    while True:
        task: Task = inbox.get()
        with watchdog(task.limit_s + OVERRUN_S):
            record = job.answer(task)
        link.send("answer", record)
