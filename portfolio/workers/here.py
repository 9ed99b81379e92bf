"""Executor in the caller's process, for callers that are workers of another system themselves."""

from collections.abc import Generator, Iterator
from time import perf_counter

from portfolio.workers.work import HELD_S, Record, Task, Together, Work, together_of


def answer_here(job: Work, tasks: Iterator[Task]) -> Generator[Record]:
    """Yield the records of all tasks; see :class:`portfolio.workers.work.Answers`."""
    together = together_of(job)
    if together is None:
        yield from (job.answer(task) for task in tasks)
        return
    alone: list[Task] = []
    began = perf_counter()
    for task in tasks:
        try:
            together.take(task)
        except Exception:  # solved alone, the task reports its error
            alone.append(task)
        if perf_counter() - began > HELD_S:
            yield from _settled(together, alone)
            began = perf_counter()
    yield from _settled(together, alone)
    yield from (job.answer(task) for task in alone)


def _settled(together: Together, alone: list[Task]) -> Iterator[Record]:
    """Yield the verified records, and add the tasks of other records to a list."""
    records, again = together.settle()
    alone += again
    yield from (record for _, record in records)
