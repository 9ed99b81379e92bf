"""Executor of small batches in the caller's process, which saves the start of workers."""

from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from time import perf_counter
from typing import Protocol, runtime_checkable

from portfolio.workers.interrupt import noted_interrupts
from portfolio.workers.work import Answers, Record, Task, Work

START_S = 4.0  # seconds of remaining work from which workers are started
LEAST_ROW_S = 0.004  # least seconds of a row
MOST_ROWS = int(START_S / LEAST_ROW_S)  # batches with more rows always use workers
PATIENCE_S = 2.0  # seconds after which a row is passed to workers
SETTLED = ("proved", "error", "interrupted")  # reasons to stop that a longer limit does not change
FIRST_S = 1e-3  # seconds of a first attempt, which imports and builds what all rows need


@runtime_checkable
class BriefWork(Work, Protocol):
    """Interface of work that supports a short attempt."""

    def answer_briefly(self, task: Task, limit_s: float) -> Record | None:
        """Return the record of a task, or None if more time might give another one.

        A record whose "stop_reason" is "interrupted" means that the user pressed Ctrl-C.
        """
        ...


def settled(job: Work, task: Task, limit_s: float) -> Record | None:
    """Return the record of a task, or None if the short limit may have weakened it."""
    if task.limit_s <= limit_s:
        return job.answer(task)
    record = job.answer(replace(task, limit_s=limit_s))
    return record if record["stop_reason"] in SETTLED else None


@dataclass(frozen=True)
class SmallBatchesHere:
    """Executor that runs in this process while that is faster than the start of workers.

    See :class:`portfolio.workers.work.Answers`.
    """

    workers: Answers  # executor of the remaining rows once they justify the start of workers

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """Yield records of all tasks, in order while they are solved in this process."""
        if not isinstance(job, BriefWork):
            yield from self.workers(job, tasks)
            return
        waiting = deque(islice(tasks, MOST_ROWS))
        if len(waiting) < MOST_ROWS:
            yield from _answer_here(job, waiting)
        if waiting:
            yield from self.workers(job, chain(waiting, tasks))


def _answer_here(job: BriefWork, waiting: deque[Task]) -> Iterator[Record]:
    """Run tasks from the queue until the remaining ones justify the start of workers."""
    limit_s, answered = FIRST_S, 0
    began = perf_counter()
    while waiting:
        due = waiting[0].now()
        if due is None:  # the deadline has passed: no worker may start
            waiting.clear()
            return
        with noted_interrupts() as noted:
            record = job.answer_briefly(due, limit_s)
        interrupted = record is not None and record.get("stop_reason") == "interrupted"
        if noted.is_set() or interrupted:
            if record is not None and not interrupted:
                yield record
            raise KeyboardInterrupt
        if record is None:
            if limit_s == PATIENCE_S:
                return
            limit_s, began = PATIENCE_S, perf_counter()  # building is not part of the pace
            continue
        limit_s = PATIENCE_S
        waiting.popleft()
        answered += 1
        yield record
        pace_s = (perf_counter() - began) / answered
        if pace_s * len(waiting) > START_S:
            return
