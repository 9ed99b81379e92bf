"""How many rows a batch answers in a second, once all its workers are warm."""

import os
import time
from collections.abc import Generator, Iterator
from dataclasses import astuple, dataclass, field, replace
from math import inf

import pandas as pd

from portfolio.batch.together import JobTogether
from portfolio.explainer import Explainer
from portfolio.running.local_executor import LocalExecutor
from portfolio.running.work import Record, Task, Together, Work, together_of
from portfolio.service.cpu import Cpu, Mark, children_of, cpu_of

WARM_S, SEEN_S = 0.5, 2.5  # seconds after all workers' first until rows are counted, and of that
SIGNED = "process"
PAUSE_S = 0.005  # seconds between records that were not told at once


@dataclass(frozen=True)
class Rate:
    """What was seen of a batch.

    Attributes
    ----------
    rows : that it answers in a second
    cpu : seconds of processors for a row
    """

    rows: float
    cpu: Cpu


@dataclass(frozen=True, eq=False)
class _Signed:
    """Work whose records say which process made them; a :class:`portfolio.running.work.Work`."""

    job: Work

    def warm_up(self, task: Task) -> None:
        self.job.warm_up(task)

    def answer(self, task: Task) -> Record:
        return self.job.answer(task) | {SIGNED: os.getpid()}

    def together(self) -> Together | None:
        together = together_of(self.job)
        if not isinstance(together, JobTogether):
            return together
        return replace(together, job=_Signed(together.job))

    def lost(self, task: Task, message: str, late: bool = False) -> Record:
        return self.job.lost(task, message, late) | {SIGNED: 0}


@dataclass(frozen=True, eq=False)
class Repeated:
    """Runs the tasks of a batch again and again, for a few seconds; no record is told.

    A :class:`portfolio.running.work.Answers`.

    Attributes
    ----------
    executor : that runs them
    marks : what was seen
    """

    executor: LocalExecutor
    marks: list[Mark] = field(default_factory=list)

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """See :class:`portfolio.running.work.Answers`."""
        last, warm_at, seen = 0.0, inf, set[int]()
        for rows, record in enumerate(self.executor(_Signed(job), self._endless(list(tasks)))):
            now = time.monotonic()
            # One that begins takes the processor from those that answer.
            seen.add(record[SIGNED])
            if len(seen) == self.executor.workers:
                warm_at = min(warm_at, now + WARM_S)
            if now - last > PAUSE_S and now > warm_at:
                self.marks.append(Mark(now, rows, _taken()))
            last = now
        yield from ()

    def _endless(self, tasks: list[Task]) -> Iterator[Task]:
        turn = 0
        while not self.marks or self.marks[-1].at - self.marks[0].at < SEEN_S:
            turn += 1
            yield from (replace(task, key=f"{turn} {task.key}") for task in tasks)

    @property
    def rate(self) -> Rate:
        """Of the rows between the first mark and the last."""
        first, last = self.marks[0], self.marks[-1]
        rows = last.rows - first.rows
        each = (seconds / rows for seconds in astuple(first.cpu.until(last.cpu)))
        return Rate(rows / (last.at - first.at), Cpu(*each))


def _taken() -> Cpu:
    return Cpu(time.process_time(), 0.0, sum(map(cpu_of, children_of(os.getpid()))))


def batch_rate(explainer: Explainer, rows: pd.DataFrame, workers: int) -> Rate:
    """Ask ``explain_batch`` about the same rows for a few seconds."""
    repeated = Repeated(LocalExecutor(workers))
    explainer.explain_batch(rows, executor=repeated)
    return repeated.rate
