"""Warm worker processes that questions wait for; one that dies is replaced, and asked again."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, takewhile
from math import ceil

from portfolio.service.line import Line
from portfolio.service.messages import Refused
from portfolio.service.ticket import Loaded, Ticket

TOGETHER_S = 0.2  # seconds that questions may take which are asked together
CLOSING = "the service is going down; ask again."
COMPILING = (
    "no worker is warm yet: the solver is being compiled for this machine, which takes about half "
    "a minute once; ask again."
)
LOADING = "no worker is warm yet: the models are being loaded; ask again."


class FullError(Exception):
    """More questions wait than may."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(wait_s)
        self.wait_s = wait_s


class ClosedError(Exception):
    """The service is going down."""


class Pool:
    """Processes and the queue before them.

    Thread safe. All processes end with this one, however it ends.

    Attributes
    ----------
    begun : whether a worker was ever warm
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
        self._mean_s = 1.0  # of questions by now, later ones counting more
        self._pace_s = TOGETHER_S  # the same, where one that takes long counts little
        self._current: tuple[Loaded, ...] = ()
        self._lines = [Line(self, memory_bytes, threads) for _ in range(workers)]
        self._later = self._lines[1:]  # those that are not begun
        self.begun = False

    def prepare(self) -> None:
        """Start the first process, which imports and compiles before it has models."""
        self._lines[0].prepare()

    def start(self, models: Iterable[Loaded]) -> None:
        """Begin processes, which load the models one after another.

        The first one gets warm alone: whatever it has to compile the others find compiled.
        """
        self.keep(models)
        self._lines[0].start()

    def tried(self) -> None:
        """See :class:`portfolio.service.line.Waiting`."""
        with self._lock:
            later, self._later = self._later, []
            self.begun = self.begun or self.ready
        for line in later:
            line.start()

    def keep(self, models: Iterable[Loaded]) -> None:
        """From now on these are the models; workers forget others once they are not asked."""
        self._current = tuple(models)

    @property
    def current(self) -> tuple[Loaded, ...]:
        """The models of new questions."""
        return self._current

    @property
    def ready(self) -> bool:
        """Whether a worker is warm."""
        return not self._closed and self.warm > 0

    @property
    def warm(self) -> int:
        """How many workers are warm."""
        return sum(line.warm for line in self._lines)

    @property
    def why(self) -> str:
        """Why no worker is warm, in a sentence."""
        if self._closed:
            return CLOSING
        return COMPILING if any(line.compiles for line in self._lines) else LOADING

    @property
    def waiting(self) -> int:
        """How many questions wait."""
        with self._lock:
            self._drop_who_went()
            return len(self._tickets)

    @property
    def busy(self) -> int:
        """How many workers are at work."""
        return sum(line.busy for line in self._lines)

    @property
    def restarts(self) -> int:
        """How many workers were replaced."""
        return sum(line.restarts for line in self._lines)

    @property
    def pids(self) -> list[int]:
        """Numbers of the processes."""
        return [line.pid for line in self._lines if line.pid]

    def submit(self, ticket: Ticket) -> None:
        """Let a question wait for a worker."""
        with self._lock:
            if self._closed:
                raise ClosedError
            if self._give(ticket):
                return
            most = self.most_waiting + self.workers - self.busy
            if len(self._tickets) >= most:
                self._drop_who_went()
            if len(self._tickets) >= most:
                raise FullError(self._mean_s * len(self._tickets) / self.workers)
            self._tickets.append(ticket)

    def _give(self, ticket: Ticket) -> bool:
        """Give a question to a free line, if there is one."""
        if not self._free:
            return False
        line = self._free.pop()
        line.busy = ticket.taken = True
        line.give(ticket)
        return True

    def again(self, tickets: Sequence[Ticket]) -> None:
        """Let questions without an answer be asked once more, before all others, each alone."""
        with self._lock:
            for ticket in reversed(tickets):
                ticket.taken, ticket.alone = False, True
                if self._closed:
                    ticket.tell(Refused(CLOSING, "lost"))
                elif not self._give(ticket):
                    self._tickets.appendleft(ticket)

    def _drop_who_went(self) -> None:
        """They take no place that somebody else could have."""
        self._tickets = deque(ticket for ticket in self._tickets if not ticket.stopped)

    def close(self) -> None:
        """End all processes; what waits is told so."""
        with self._lock:
            self._closed = True
            waiting, self._tickets = self._tickets, deque()
        for ticket in waiting:
            ticket.tell(Refused(CLOSING, "lost"))
        for line in self._lines:
            line.end()

    def next(self, suits: Callable[[Ticket], bool]) -> list[Ticket]:
        """The questions that come next, if the first one suits; none if there is none that does."""
        with self._lock:
            return self._taken(suits)

    def _taken(self, suits: Callable[[Ticket], bool]) -> list[Ticket]:
        """The first one, and those after it that may be asked together with it."""
        self._drop_who_went()
        if not self._tickets or not suits(self._tickets[0]):
            return []
        first = self._tickets[0]
        like = takewhile(lambda own: own.plain and own.model.key == first.model.key, self._tickets)
        several = list(islice(like, self._share())) or [first]
        for ticket in several:
            self._tickets.popleft()
            ticket.taken = True
        return several

    def _share(self) -> int:
        """How many questions a worker is given at once: its share of those that wait.

        The model is asked once about all of them, and what is not in its caches by then takes as
        long as many rows. Yet the first of them has to be soon answered.
        """
        fair = ceil(len(self._tickets) / self.workers)
        return max(1, min(fair, int(TOGETHER_S / self._pace_s)))

    def rest(self, line: Line) -> list[Ticket]:
        """The questions that come next; none: the line is free, and will be given one."""
        with self._lock:
            tickets = self._taken(lambda _: True)
            line.busy = bool(tickets)
            if not tickets:
                self._free.append(line)
            return tickets

    def count(self, seconds: float) -> None:
        """Remember how long a question took."""
        with self._lock:
            self._mean_s += (seconds - self._mean_s) / 8
            self._pace_s += (min(seconds, TOGETHER_S) - self._pace_s) / 8
