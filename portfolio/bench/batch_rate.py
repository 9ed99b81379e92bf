"""Throughput of a batch in rows per second, once all workers are warm."""

import os
import time
from collections.abc import Generator, Iterator
from dataclasses import astuple, dataclass, field, replace
from math import inf

import pandas as pd

from portfolio.api.explainer import Explainer
from portfolio.batch.together import JobTogether
from portfolio.bench.cpu import Cpu, Mark, children_of, cpu_of
from portfolio.workers.local_executor import LocalExecutor
from portfolio.workers.work import Record, Task, Together, Work, together_of

WARM_S, SEEN_S = 0.5, 2.5  # seconds after every worker has answered: before and while counting
SIGNED = "process"
PAUSE_S = 0.005  # minimum seconds between records that did not arrive together


@dataclass(frozen=True)
class Rate:
    """Throughput of a batch.

    Attributes
    ----------
    rows : float, rows per second
    cpu : Cpu, processor seconds per row
    """

    rows: float
    cpu: Cpu


@dataclass(frozen=True, eq=False)
class _Signed:
    """A :class:`portfolio.workers.work.Work` whose records contain the process id."""

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
    """An executor that repeats the tasks of a batch for a few seconds and returns no records.

    A :class:`portfolio.workers.work.Answers`.

    Attributes
    ----------
    executor : LocalExecutor, workers that run the tasks
    marks : list of Mark, moments at which records came
    """

    executor: LocalExecutor
    marks: list[Mark] = field(default_factory=list)

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """Run the tasks repeatedly; see :class:`portfolio.workers.work.Answers`."""
        last, warm_at, seen = 0.0, inf, set[int]()
        for rows, record in enumerate(self.executor(_Signed(job), self._endless(list(tasks)))):
            now = time.monotonic()
            # Workers that are starting slow down those that answer.
            seen.add(record[SIGNED])
            if len(seen) == self.executor.workers:
                warm_at = min(warm_at, now + WARM_S)
            if now - last > PAUSE_S and now > warm_at:
                self.marks.append(Mark(now, rows, _cpu_now()))
            last = now
        yield from ()

    def _endless(self, tasks: list[Task]) -> Iterator[Task]:
        turn = 0
        while not self.marks or self.marks[-1].at - self.marks[0].at < SEEN_S:
            turn += 1
            yield from (replace(task, key=f"{turn} {task.key}") for task in tasks)

    @property
    def rate(self) -> Rate:
        """Throughput between the first mark and the last."""
        first, last = self.marks[0], self.marks[-1]
        rows = last.rows - first.rows
        each = (seconds / rows for seconds in astuple(first.cpu.until(last.cpu)))
        return Rate(rows / (last.at - first.at), Cpu(*each))


def _cpu_now() -> Cpu:
    return Cpu(time.process_time(), 0.0, sum(map(cpu_of, children_of(os.getpid()))))


def batch_rate(explainer: Explainer, rows: pd.DataFrame, workers: int) -> Rate:
    """Return the throughput of ``explain_batch``, measured for a few seconds."""
    repeated = Repeated(LocalExecutor(workers))
    explainer.explain_batch(rows, executor=repeated)
    return repeated.rate
