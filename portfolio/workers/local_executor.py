"""Executor of batches in processes on this machine."""

import pickle
import queue
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from math import inf
from typing import Any

from encoders.core.errors import InputError
from portfolio.workers.pool import TRIES, Pool, Worker
from portfolio.workers.process import Process, RemoteProgram, warn_without_limit
from portfolio.workers.ticket import Loss, Ticket
from portfolio.workers.turn import GRACE_S
from portfolio.workers.work import HELD_S, NoRoomError, Record, Task, Work, together_of

LATE = "the worker was killed: the row exceeded its time limit"
PROGRAM = "portfolio.workers.work_process"
START_S = 120.0  # most seconds for a process to listen
WARM_S = 720.0  # most seconds for a worker to load a job, and to prepare for its first row
WAIT_S = 0.1  # seconds between checks of the deadline and the end
JOIN_S = 1.0  # most seconds at the end of a batch for a thread that was just starting a process


@dataclass(frozen=True)
class LocalExecutor:
    """Executor of batches in worker processes on this machine.

    A worker receives several rows at a time if they are solved fast.

    Attributes
    ----------
    workers : int
        Number of worker processes.
    memory_bytes : int
        Limit of the address space of each worker in bytes, 0 for no limit. It has an effect on
        Linux only; other platforms warn.

    Examples
    --------
    >>> answers = explainer.explain_batch(X, executor=LocalExecutor(workers=2))
    >>> len(answers) == len(X)
    True
    """

    workers: int
    memory_bytes: int = 0

    def __post_init__(self) -> None:
        warn_without_limit(self.memory_bytes)

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """Yield the records of all tasks; see :class:`portfolio.workers.work.Answers`."""
        yield from WorkPool(job, dumped(job), tasks, self.workers, self._start).records()

    def _start(self) -> RemoteProgram:
        return Process(PROGRAM, self.memory_bytes)


def dumped(job: Work) -> bytes:
    """Return a job as bytes; raise InputError if it cannot be pickled."""
    try:
        return pickle.dumps(job)
    except Exception as error:
        raise InputError(
            f"the model, norm or constraints can't be sent to workers ({error}). "
            "Use functions and classes of a module that can be imported."
        ) from error


@dataclass(frozen=True, eq=False)
class PackedJob:
    """Job as workers receive it; see :class:`portfolio.workers.ticket.PackedWork`."""

    content: Any
    key: str = "job"


class WorkPool(Pool):
    """Pool of workers for the tasks of one job.

    Parameters
    ----------
    job : Work
        Work to do.
    content : bytes or reference
        The pickled job, or a reference to it on a cluster.
    tasks : iterator of Task
        Tasks, taken as workers become free.
    workers : int
        Largest number of workers.
    start : callable
        Function that starts a worker.
    room_s : float
        Seconds after which the batch fails if no worker gets free cores; inf on this machine, where
        workers that do not start within ``START_S`` are replaced.
    """

    wait_s, first_s = WAIT_S, WARM_S

    def __init__(
        self,
        job: Work,
        content: Any,
        tasks: Iterator[Task],
        workers: int,
        start: Callable[[], RemoteProgram],
        room_s: float = inf,
    ) -> None:
        first = list(islice(tasks, workers))
        patience_s = START_S if room_s == inf else inf
        super().__init__(len(first), start, HELD_S, patience_s, WARM_S)
        self.job, self.joint = job, together_of(job) is not None
        self.done: queue.Queue[Record] = queue.Queue()
        self.packed = PackedJob(content)
        self.works = (self.packed,)
        self._tasks, self._room_s = chain(first, tasks), room_s
        self._lost = 0  # workers that died while they started
        self._busy_at = time.monotonic()
        self._ends = inf  # deadline of the batch, which all its tasks share
        self._error: Exception | None = None

    def records(self) -> Generator[Record]:
        """Yield the records of all tasks."""
        for worker in self._workers:
            worker.start()
        try:
            while any(worker.runs for worker in self._workers) or not self.done.empty():
                try:
                    yield self.done.get(timeout=WAIT_S)
                except queue.Empty:
                    if time.monotonic() >= self._ends + 2 * GRACE_S:
                        self.close()  # frees a thread that is sending to a frozen worker
        finally:
            self.close()
            for worker in self._workers:
                worker.join(JOIN_S)
        if self._error is not None:
            raise self._error

    def useless(self, worker: Worker) -> bool:
        """See :class:`Pool`; the batch fails if no worker can start."""
        with self._changed:
            now = time.monotonic()
            if self.busy:
                self._busy_at = now
            elif now > self._busy_at + self._room_s:
                self._fail(
                    NoRoomError(
                        f"the cluster did not provide free cores for a worker within "
                        f"{self._room_s:g} s. Free some, or set fewer threads."
                    )
                )
            self._look(1)
            return self.closed or not (self._tickets or worker.busy)

    def report_failure(self, detail: str, broken: bool) -> None:
        """See :class:`Pool`; the batch fails at once if its job is broken."""
        self._lost += 1
        if broken:
            self._fail(InputError(detail))
        elif self._lost >= TRIES * self.workers:
            self._fail(
                InputError(
                    f"workers died while they started: {detail}. Install this version of "
                    "counterfolio wherever workers run."
                )
            )

    def _fail(self, error: Exception) -> None:
        if not self.closed:
            self._error = error
            self.close()

    def _may_come(self) -> bool:
        return self.busy > 0 and not self.closed  # a worker may put its tickets back

    def _look(self, count: int) -> None:
        super()._look(count)
        target = count if count == 1 else count * self.workers
        missing = 0 if self.closed else max(0, target - len(self._tickets))
        try:
            for task in islice(self._tasks, missing):
                self._ends = min(self._ends, task.ends)
                self._tickets.append(RowTicket(self, task))
        except Exception as error:
            self._fail(error)


class RowTicket(Ticket):
    """Ticket of a task of a batch."""

    def __init__(self, pool: WorkPool, task: Task) -> None:
        self._pool, self._task, self.key = pool, task, task.key

    @property
    def work(self) -> PackedJob:
        """See :class:`Ticket`."""
        return self._pool.packed

    @property
    def over(self) -> bool:
        """See :class:`Ticket`."""
        return self.due() is None

    @property
    def joint(self) -> bool:
        """See :class:`Ticket`."""
        return self._pool.joint and not self.alone

    def due(self) -> Task | None:
        """See :class:`Ticket`."""
        return self._task.now()

    def finish(self, answer: Record) -> None:
        """See :class:`Ticket`."""
        self._pool.done.put(answer)

    def fail(self, loss: Loss, detail: str) -> None:
        """See :class:`Ticket`; rows of a batch that ended have no record."""
        if loss != "closed":
            late = loss == "late"
            self.finish(self._pool.job.lost(self._task, LATE if late else detail, late))
