"""A pool of warm worker processes with a queue; processes that die are replaced."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, takewhile
from math import ceil

from portfolio.service.line import Line
from portfolio.service.messages import Refused
from portfolio.service.ticket import Loaded, Ticket

TOGETHER_S = 0.2  # maximum seconds of questions that a worker gets together
CLOSING = "the service is shutting down. Retry later."
COMPILING = (
    "no worker is ready yet: the solver is being compiled for this machine, which takes about "
    "half a minute once. Retry later."
)
LOADING = "no worker is ready yet: the models are being loaded. Retry later."


class FullError(Exception):
    """The queue is full; ``wait_s`` estimates the seconds until it is not."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(wait_s)
        self.wait_s = wait_s


class ClosedError(Exception):
    """The service is shutting down."""


class Pool:
    """Worker processes and the queue of questions.

    Thread safe. The worker processes end with this process, even if it crashes.

    Attributes
    ----------
    begun : bool, True if a worker was ever warm
    """

    def __init__(
        self, workers: int, most_waiting: int, memory_bytes: int = 0, threads: int = 1
    ) -> None:
        self.threads = threads
        self.workers, self.most_waiting, self.memory_bytes = workers, most_waiting, memory_bytes
        self._tickets: deque[Ticket] = deque()
        self._free: list[Line] = []
        self._lock = threading.Lock()
        self._closed = False
        self._mean_s = 1.0  # moving average of the seconds of a question
        self._pace_s = TOGETHER_S  # the same, with each value capped at TOGETHER_S
        self._current: tuple[Loaded, ...] = ()
        self._lines = [Line(self, memory_bytes, threads) for _ in range(workers)]
        self._later = self._lines[1:]  # lines that are not started
        self.begun = False

    def prepare(self) -> None:
        """Start the first process, so that it imports and compiles before models are loaded."""
        self._lines[0].prepare()

    def start(self, models: Iterable[Loaded]) -> None:
        """Start the processes, which load the models.

        The first one warms up alone, as the others reuse the code that it compiles.
        """
        self.keep(models)
        self._lines[0].start()

    def tried(self) -> None:
        """Start the other lines; see :class:`portfolio.service.line.Waiting`."""
        with self._lock:
            later, self._later = self._later, []
            self.begun = self.begun or self.ready
        for line in later:
            line.start()

    def keep(self, models: Iterable[Loaded]) -> None:
        """Set the current models; workers drop all others when no question needs them."""
        self._current = tuple(models)

    @property
    def current(self) -> tuple[Loaded, ...]:
        """Models of new questions."""
        return self._current

    @property
    def ready(self) -> bool:
        """True if a worker is warm."""
        return not self._closed and self.warm > 0

    @property
    def warm(self) -> int:
        """Number of warm workers."""
        return sum(line.warm for line in self._lines)

    @property
    def why(self) -> str:
        """Reason why no worker is warm, as an error message."""
        if self._closed:
            return CLOSING
        return COMPILING if any(line.compiles for line in self._lines) else LOADING

    @property
    def waiting(self) -> int:
        """Number of queued questions."""
        with self._lock:
            self._drop_stopped()
            return len(self._tickets)

    @property
    def busy(self) -> int:
        """Number of workers that answer a question."""
        return sum(line.busy for line in self._lines)

    @property
    def restarts(self) -> int:
        """Number of workers that were replaced."""
        return sum(line.restarts for line in self._lines)

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [line.pid for line in self._lines if line.pid]

    def submit(self, ticket: Ticket) -> None:
        """Queue a question; raise FullError or ClosedError if it cannot be queued."""
        with self._lock:
            if self._closed:
                raise ClosedError
            if self._give(ticket):
                return
            most = self.most_waiting + self.workers - self.busy
            if len(self._tickets) >= most:
                self._drop_stopped()
            if len(self._tickets) >= most:
                raise FullError(self._mean_s * len(self._tickets) / self.workers)
            self._tickets.append(ticket)

    def _give(self, ticket: Ticket) -> bool:
        """Give a question to a free line; return False if there is none."""
        if not self._free:
            return False
        line = self._free.pop()
        line.busy = ticket.assigned = True
        line.give(ticket)
        return True

    def again(self, tickets: Sequence[Ticket]) -> None:
        """Put unanswered questions back at the head of the queue, each to be asked alone."""
        with self._lock:
            for ticket in reversed(tickets):
                ticket.assigned, ticket.alone = False, True
                if self._closed:
                    ticket.tell(Refused(CLOSING, "lost"))
                elif not self._give(ticket):
                    self._tickets.appendleft(ticket)

    def _drop_stopped(self) -> None:
        """Remove questions of disconnected clients from the queue."""
        self._tickets = deque(ticket for ticket in self._tickets if not ticket.stopped)

    def close(self) -> None:
        """End all processes; queued questions fail with an error."""
        with self._lock:
            self._closed = True
            waiting, self._tickets = self._tickets, deque()
        for ticket in waiting:
            ticket.tell(Refused(CLOSING, "lost"))
        for line in self._lines:
            line.end()

    def next(self, suits: Callable[[Ticket], bool]) -> list[Ticket]:
        """Return the next questions if the first one satisfies ``suits``, else an empty list."""
        with self._lock:
            return self._dequeue(suits)

    def _dequeue(self, suits: Callable[[Ticket], bool]) -> list[Ticket]:
        """Remove and return the first question and those that can be answered together with it."""
        self._drop_stopped()
        if not self._tickets or not suits(self._tickets[0]):
            return []
        first = self._tickets[0]
        like = takewhile(
            lambda ticket: ticket.plain and ticket.model.key == first.model.key, self._tickets
        )
        several = list(islice(like, self._share())) or [first]
        for ticket in several:
            self._tickets.popleft()
            ticket.assigned = True
        return several

    def _share(self) -> int:
        """Return the number of questions for one worker: its fair share of the queue.

        A native prediction has a high fixed cost, which questions share. The limit keeps the wait
        of the first question short.
        """
        fair = ceil(len(self._tickets) / self.workers)
        return max(1, min(fair, int(TOGETHER_S / self._pace_s)))

    def rest(self, line: Line) -> list[Ticket]:
        """Return the next questions; if there are none, mark the line as free."""
        with self._lock:
            tickets = self._dequeue(lambda _: True)
            line.busy = bool(tickets)
            if not tickets:
                self._free.append(line)
            return tickets

    def count(self, seconds: float) -> None:
        """Update the moving averages with the seconds of a question."""
        with self._lock:
            self._mean_s += (seconds - self._mean_s) / 8
            self._pace_s += (min(seconds, TOGETHER_S) - self._pace_s) / 8
