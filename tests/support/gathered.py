"""Batches in this process that put several answers to the model at once; and work that fails."""

import json
import os
import pickle
import time
from itertools import islice

import numpy as np


def gathered(job, tasks, count=7):
    """Yield the records of a worker that takes so many rows at a time."""
    job = pickle.loads(pickle.dumps(job))
    together = job.together()
    while some := list(islice(tasks, count)):
        for task in some:
            together.take(task)
        records, again = together.settle()
        for record in [own for _, own in records] + [job.answer(task) for task in again]:
            yield json.loads(json.dumps(record, allow_nan=False))


class Echo:
    """Work whose records contain the number of tasks that were verified together.

    A payload "dies" ends the process, "sleeps" takes too long, "refused" has to be asked alone.
    """

    def __init__(self):
        self.held = []

    def warm_up(self, task):
        pass

    def answer(self, task, count=1):
        if task.payload == "dies":
            os._exit(3)
        if task.payload == "sleeps":
            time.sleep(60.0)
        return {"key": task.key, "message": "", "count": count, "limit_s": task.limit_s}

    def lost(self, task, message, late=False):
        return {"key": task.key, "message": message, "late": late}

    def together(self):
        return self

    def take(self, task):
        self.held.append((task, self.answer(task)))

    def settle(self):
        held, self.held = self.held, []
        again = [task for task, _ in held if task.payload == "refused"]
        good = [(task, record) for task, record in held if task.payload != "refused"]
        return [(task, record | {"count": len(held)}) for task, record in good], again


def contrary(labels, odd):
    """Return labels of a model that changed after it was read, for some rows."""
    return np.where(odd, 1 - labels, labels)


def picky(labels, odd):
    """Return labels of a model that rejects some rows."""
    if odd.any():
        raise ValueError("no such row, please")
    return labels
