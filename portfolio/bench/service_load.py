"""Measurement of throughput: closed loops of HTTP clients, batches, and processor times."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import cycle
from math import inf
from pathlib import Path
from typing import Self

import pandas as pd

from encoders.core.errors import InputError
from portfolio.api.explainer import Explainer
from portfolio.batch.job import JobTogether
from portfolio.workers.local_executor import LocalExecutor
from portfolio.workers.work import Record, Task, Together, Work, together_of

END = b"\r\n\r\n"
LENGTH = b"content-length:"
WARM_S, COUNTED_S = 0.5, 2.5  # seconds after every worker has answered: before and while counting
PROCESS = "process"
PAUSE_S = 0.005  # minimum seconds between records that did not arrive together
Answered = tuple[int, int, bytes]  # position of the request, HTTP status, body


@dataclass(frozen=True)
class Cpu:
    """Processor times."""

    clients: float  # seconds of this process
    service: float  # seconds of the service's process, 0 for a batch
    workers: float  # seconds of the worker processes

    def until(self, later: Self) -> Self:
        """Return the difference to a later measurement."""
        mine, others = astuple(self), astuple(later)
        return type(self)(*(after - before for before, after in zip(mine, others, strict=True)))


@dataclass(frozen=True)
class Mark:
    """A moment at which answers came: clock time, number of answers so far, processor times."""

    at: float
    rows: int
    cpu: Cpu


def counted(first: Mark, last: Mark) -> tuple[float, int, Cpu]:
    """Return seconds, number of answers and processor times between two marks."""
    return last.at - first.at, last.rows - first.rows, first.cpu.until(last.cpu)


def cpu_of(pid: int) -> float:
    """Return the processor time of one process in seconds."""
    if sys.platform == "win32":
        raise InputError("the service's processor time can be measured on Linux only.")
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, after_name[11:13])) / os.sysconf("SC_CLK_TCK")


def children_of(pid: int) -> list[int]:
    """Return the process ids of the children of a process."""
    return [
        int(child)
        for each in Path(f"/proc/{pid}/task").glob("*/children")
        for child in each.read_text().split()
    ]


@dataclass(frozen=True, eq=False)
class LoopResult:
    """Answers of a loop in order of arrival, and the marks between which they are counted."""

    answers: list[Answered]
    first: Mark
    last: Mark


def closed_loop(
    port: int, path: str, bodies: Sequence[bytes], clients: int, cpu_now: Callable[[], Cpu]
) -> LoopResult:
    """Post each body once; return the responses."""
    answers: list[Answered] = []
    first = Mark(time.perf_counter(), 0, cpu_now())
    asyncio.run(_all(port, enumerate(_requests(path, bodies)), clients, answers))
    return LoopResult(answers, first, Mark(time.perf_counter(), len(answers), cpu_now()))


def timed_loop(
    port: int,
    path: str,
    bodies: Sequence[bytes],
    clients: int,
    seconds: tuple[float, float],
    cpu_now: Callable[[], Cpu],
) -> LoopResult:
    """Post bodies repeatedly in the same order; return the responses within two time spans."""
    requests = cycle(enumerate(_requests(path, bodies)))
    answers: list[Answered] = []

    async def watched() -> LoopResult:
        asking = asyncio.create_task(_all(port, requests, clients, answers))
        marks = []
        for each in seconds:
            await asyncio.wait([asking], timeout=each)
            marks.append(Mark(time.perf_counter(), len(answers), cpu_now()))
        asking.cancel()
        # Raise errors of clients, except their cancellation.
        [error] = await asyncio.gather(asking, return_exceptions=True)
        if isinstance(error, Exception):
            raise error
        return LoopResult(answers, *marks)

    return asyncio.run(watched())


def _requests(path: str, bodies: Iterable[bytes]) -> list[bytes]:
    head = "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    head += "content-length: {}\r\n\r\n"
    return [head.format(path, len(body)).encode() + body for body in bodies]


async def _all(
    port: int, requests: Iterable[tuple[int, bytes]], clients: int, answers: list[Answered]
) -> None:
    shared = iter(requests)
    await asyncio.gather(*[_client(port, shared, answers) for _ in range(clients)])


async def _client(
    port: int, requests: Iterator[tuple[int, bytes]], answers: list[Answered]
) -> None:
    """Send the next request after each answer, with as little overhead as possible."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for place, request in requests:
            writer.write(request)
            head = (await reader.readuntil(END)).lower()
            length = int(head.partition(LENGTH)[2].partition(b"\r\n")[0])
            answers.append((place, int(head[9:12]), await reader.readexactly(length)))
    finally:
        writer.close()


@dataclass(frozen=True)
class BatchRate:
    """Throughput of a batch: rows per second, and processor times of one row."""

    rows: float
    cpu: Cpu


@dataclass(frozen=True, eq=False)
class _Signed:
    """A :class:`portfolio.workers.work.Work` whose records contain the process id."""

    job: Work

    def warm_up(self, task: Task) -> None:
        self.job.warm_up(task)

    def answer(self, task: Task) -> Record:
        return self.job.answer(task) | {PROCESS: os.getpid()}

    def together(self) -> Together | None:
        together = together_of(self.job)
        if not isinstance(together, JobTogether):
            return together
        return replace(together, job=_Signed(together.job))

    def lost(self, task: Task, message: str, late: bool = False) -> Record:
        return self.job.lost(task, message, late) | {PROCESS: 0}


@dataclass(frozen=True, eq=False)
class Repeated:
    """An executor that repeats the tasks of a batch for a few seconds and returns no records."""

    executor: LocalExecutor
    marks: list[Mark] = field(default_factory=list)

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """Run the tasks repeatedly; see :class:`portfolio.workers.work.Answers`."""
        last, warm_at, seen = 0.0, inf, set[int]()
        for rows, record in enumerate(self.executor(_Signed(job), self._endless(list(tasks)))):
            now = time.monotonic()
            # Workers that are starting slow down those that answer.
            seen.add(record[PROCESS])
            if len(seen) == self.executor.workers:
                warm_at = min(warm_at, now + WARM_S)
            if now - last > PAUSE_S and now > warm_at:
                self.marks.append(Mark(now, rows, _cpu_now()))
            last = now
        yield from ()

    def _endless(self, tasks: list[Task]) -> Iterator[Task]:
        turn = 0
        while not self.marks or self.marks[-1].at - self.marks[0].at < COUNTED_S:
            turn += 1
            yield from (replace(task, key=f"{turn} {task.key}") for task in tasks)

    @property
    def rate(self) -> BatchRate:
        """Throughput between the first mark and the last."""
        seconds, rows, cpu = counted(self.marks[0], self.marks[-1])
        return BatchRate(rows / seconds, Cpu(*(part / rows for part in astuple(cpu))))


def _cpu_now() -> Cpu:
    return Cpu(time.process_time(), 0.0, sum(map(cpu_of, children_of(os.getpid()))))


def batch_rate(explainer: Explainer, rows: pd.DataFrame, workers: int) -> BatchRate:
    """Return the throughput of ``explain_batch``, measured for a few seconds."""
    repeated = Repeated(LocalExecutor(workers))
    explainer.explain_batch(rows, executor=repeated)
    return repeated.rate
