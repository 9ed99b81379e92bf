"""The workers of a service and its queue of questions."""

import logging
from collections.abc import Iterable
from functools import partial

from portfolio.service.messages import CLOSING, COMPILING, LOADING
from portfolio.workers.pool import Pool
from portfolio.workers.process import Process
from portfolio.workers.ticket import PackedWork, Ticket

log = logging.getLogger("counterfolio.service")
PROGRAM = "portfolio.service.worker_process"
TOGETHER_S = 0.2  # maximum seconds of questions that a worker gets together
WARM_S = 120.0  # maximum seconds for a process to start, and to load models


class FullError(Exception):
    """The queue is full; ``wait_s`` estimates the seconds until it is not."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(wait_s)
        self.wait_s = wait_s


class ClosedError(Exception):
    """The service is shutting down."""


class ServicePool(Pool):
    """Worker processes that wait for questions, which end with this process.

    Attributes
    ----------
    begun : bool, True if a worker was ever ready
    """

    def __init__(
        self, workers: int, most_waiting: int, memory_bytes: int = 0, threads: int = 1
    ) -> None:
        start = partial(Process, PROGRAM, memory_bytes, threads)
        super().__init__(workers, start, TOGETHER_S, WARM_S, WARM_S)
        self.most_waiting, self.memory_bytes, self.threads = most_waiting, memory_bytes, threads
        self.begun = False
        self._mean_s = 1.0  # moving average of the seconds of a question
        self._later = self._workers[1:]  # workers that are not started

    def prepare(self) -> None:
        """Start the first process, so that it imports and compiles before models are loaded."""
        self._workers[0].prepare()

    def start(self, models: Iterable[PackedWork]) -> None:
        """Start the processes, which load the models.

        The first one warms up alone, as the others reuse the code that it compiles.
        """
        self.keep(models)
        self._workers[0].start()

    def keep(self, models: Iterable[PackedWork]) -> None:
        """Set the current models; workers drop all others when no question needs them."""
        self.works = tuple(models)

    @property
    def ready(self) -> bool:
        """True if a worker is ready."""
        return not self.closed and self.warm > 0

    @property
    def warm(self) -> int:
        """Number of workers that are ready."""
        return sum(worker.ready for worker in self._workers)

    @property
    def why(self) -> str:
        """Reason why no worker is ready, as an error message."""
        if self.closed:
            return CLOSING
        return COMPILING if any(worker.compiles for worker in self._workers) else LOADING

    @property
    def waiting(self) -> int:
        """Number of queued questions."""
        with self._changed:
            self._look(0)
            return len(self._tickets)

    @property
    def restarts(self) -> int:
        """Number of workers that were replaced."""
        return sum(worker.restarts for worker in self._workers)

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [worker.pid for worker in self._workers if worker.pid]

    def submit(self, ticket: Ticket) -> None:
        """Queue a question; raise FullError or ClosedError if it cannot be queued."""
        with self._changed:
            if self.closed:
                raise ClosedError
            if self.waiting >= self.most_waiting + self.workers - self.busy:
                raise FullError(self._mean_s * len(self._tickets) / self.workers)
            self._tickets.append(ticket)
            self._changed.notify()

    def count(self, seconds: float) -> None:
        """See :class:`Pool`."""
        self._mean_s += (seconds - self._mean_s) / 8
        super().count(seconds)

    def report_attempt(self) -> None:
        """Start the other workers once the first has tried to start."""
        with self._changed:
            later, self._later = self._later, []
            self.begun = self.begun or self.ready
        for worker in later:
            worker.start()

    def report_failure(self, detail: str, broken: bool) -> None:
        """See :class:`Pool`; the worker tries again."""
        if broken:
            log.error("a worker cannot load a model: %s", detail)

    def _may_come(self) -> bool:
        return not self.closed
