"""Executor of batches in worker processes and in a thread of this process."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from encoders.core.cores import usable_cores
from portfolio.workers.caller_thread import CallerThread
from portfolio.workers.local_executor import PROGRAM, LocalExecutor, RowTicket, WorkPool, dumped
from portfolio.workers.process import Process, RemoteProgram
from portfolio.workers.small_batches import BriefWork, SmallBatchesHere
from portfolio.workers.ticket import Loss, Ticket
from portfolio.workers.work import Answers, Record, Task, Together, Work, together_of


def default_executor(threads: int) -> Answers:
    """Return an executor for all cores, where each row is solved by a number of threads."""
    workers = max(1, usable_cores() // threads)
    return SmallBatchesHere(SharedExecutor(LocalExecutor(workers)))


@dataclass(frozen=True)
class SharedExecutor:
    """Executor in which a thread of this process takes the place of one worker process.

    The thread answers rows while processes start, and as long as all of its rows are fast. See
    :class:`portfolio.workers.work.Answers`.
    """

    processes: LocalExecutor  # number of workers, the thread included

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """Yield the records of all tasks."""
        together = together_of(job)
        if together is None or not isinstance(job, BriefWork) or self.processes.memory_bytes:
            yield from self.processes(job, tasks)
        else:
            yield from _SharedPool(job, together, tasks, self.processes.workers).records()


class _SharedPool(WorkPool):
    """Pool whose first program is a thread of this process."""

    def __init__(
        self, job: BriefWork, together: Together, tasks: Iterator[Task], workers: int
    ) -> None:
        self._suspects: set[str] = set()  # keys of the tasks of lost workers
        self._thread: CallerThread | None = CallerThread(
            job, together, lambda task: task.key in self._suspects
        )
        super().__init__(job, dumped(job), tasks, workers, self._next_program)

    def _next_program(self) -> RemoteProgram:
        with self._changed:
            thread, self._thread = self._thread, None
        return thread or Process(PROGRAM, memory_bytes=0)

    def retry(
        self, tickets: Sequence[Ticket], loss: Loss, detail: str = "", once: bool = False
    ) -> None:
        """See :class:`Pool`; a task that ended a worker is never solved in this process."""
        self._suspects.update(each.key for each in tickets if isinstance(each, RowTicket))
        super().retry(tickets, loss, detail, once)
