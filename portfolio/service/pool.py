"""Warm worker processes that questions wait for; one that dies is replaced, and asked again."""

import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from portfolio.logbook import Logbook
from portfolio.running.process import POLL_S, Process
from portfolio.service.messages import Ask, Bounds, Forget, Load, Refused, Stop, Told

GRACE_S = 5.0  # seconds beyond its limit, or after a stop, that a question may take
TELLING_S = 60.0  # seconds that sentences about what was found may take
TRIES = 3  # times that a question is asked whose worker dies
WARM_S = 120.0  # seconds that a process may take to load a model
MODULE = "portfolio.service.worker_process"


class Loaded(Protocol):
    """A model that workers can be sent."""

    @property
    def key(self) -> str:
        """By which it is asked."""
        ...

    @property
    def content(self) -> bytes:
        """The explainer, pickled."""
        ...


class FullError(Exception):
    """More questions wait than may.

    Parameters
    ----------
    wait_s : seconds after which there may be room
    """

    def __init__(self, wait_s: float) -> None:
        super().__init__(wait_s)
        self.wait_s = wait_s


class ClosedError(Exception):
    """The service is going down."""


@dataclass(eq=False)
class Ticket:
    """A question that waits, or is under way.

    Attributes
    ----------
    model : that is asked
    question, arguments, limit_s : as of :class:`portfolio.service.messages.Ask`
    on_bounds : told what is known by now, from a thread of the pool; None not to be told
    log : where it is logged; None: nowhere
    future : the answer
    """

    model: Loaded
    question: str
    arguments: dict[str, Any]
    limit_s: float
    on_bounds: Callable[[Bounds], None] | None = None
    log: Logbook | None = None
    future: "Future[Told | Refused]" = field(default_factory=Future)
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def stopped(self) -> bool:
        """Whether nobody waits for it any more."""
        return self._stop.is_set()

    def stop(self) -> None:
        """End it, waiting or not."""
        self._stop.set()
        self.future.cancel()

    def tell(self, answer: Told | Refused) -> None:
        """Give the answer to who waits, if anybody does.

        Parameters
        ----------
        answer : to the question
        """
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(answer)


class Pool:
    """Processes and the queue before them.

    Thread safe. All processes end with this one, however it ends.

    Parameters
    ----------
    workers : how many processes
    most_waiting : questions that may wait
    memory_bytes : address space of each process, 0 for no limit
    threads : by which libraries predict in each; many at work at once are in each other's way
    """

    def __init__(
        self, workers: int, most_waiting: int, memory_bytes: int = 0, threads: int = 1
    ) -> None:
        self.threads = threads
        self.workers, self.most_waiting, self.memory_bytes = workers, most_waiting, memory_bytes
        self._queue: queue.Queue[Ticket | None] = queue.Queue()
        self._lock = threading.Lock()
        self._closed = False
        self._mean_s = 1.0  # of questions by now, later ones counting more
        self._current: tuple[Loaded, ...] = ()
        self._lines = [_Line(self) for _ in range(workers)]
        self.restarts = 0

    def start(self, models: Iterable[Loaded]) -> None:
        """Begin processes, which load the models one after another.

        Parameters
        ----------
        models : to be warm before the first question
        """
        self.keep(models)
        for line in self._lines:
            line.start()

    def keep(self, models: Iterable[Loaded]) -> None:
        """From now on these are the models; workers forget others once they are not asked.

        Parameters
        ----------
        models : all that new questions are about
        """
        self._current = tuple(models)

    @property
    def current(self) -> tuple[Loaded, ...]:
        """The models of new questions."""
        return self._current

    @property
    def ready(self) -> bool:
        """Whether a worker is warm."""
        return not self._closed and any(line.warm for line in self._lines)

    @property
    def waiting(self) -> int:
        """How many questions wait."""
        return self._queue.qsize()

    @property
    def busy(self) -> int:
        """How many workers are at work."""
        return sum(line.busy for line in self._lines)

    @property
    def pids(self) -> list[int]:
        """Numbers of the processes."""
        return [line.pid for line in self._lines if line.pid]

    def submit(self, ticket: Ticket) -> None:
        """Let a question wait for a worker.

        Parameters
        ----------
        ticket : its future will hold the answer

        Raises
        ------
        FullError
            Too many wait already.
        ClosedError
            The service is going down.
        """
        with self._lock:
            if self._closed:
                raise ClosedError
            self._drop_who_went()
            free = self.workers - self.busy
            if self.waiting >= self.most_waiting + max(free, 0):
                raise FullError(self._mean_s * self.waiting / self.workers)
            self._queue.put(ticket)

    def _drop_who_went(self) -> None:
        """They take no place that somebody else could have."""
        with self._queue.mutex:
            waiting = self._queue.queue
            kept = [ticket for ticket in waiting if ticket is None or not ticket.stopped]
            waiting.clear()
            waiting.extend(kept)

    def close(self) -> None:
        """End all processes; what waits is told so."""
        with self._lock:
            self._closed = True
        while not self._queue.empty():
            ticket = self._queue.get()
            if ticket is not None:
                ticket.tell(Refused("the service is going down; ask again.", "lost"))
        for _ in self._lines:
            self._queue.put(None)
        for line in self._lines:
            line.end()

    def next(self) -> Ticket | None:
        """The question that a free worker takes; None at the end."""
        return self._queue.get()

    def count(self, seconds: float) -> None:
        """Remember how long a question took.

        Parameters
        ----------
        seconds : of it
        """
        with self._lock:
            self._mean_s += (seconds - self._mean_s) / 8


class _Line:
    """A thread with a process of its own, or its successor."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._thread = threading.Thread(target=self._work, name="counterfolio-line", daemon=True)
        self._process: Process | None = None
        self._held: set[str] = set()
        self._numbers = itertools.count()
        self._ended = False
        self.warm = self.busy = False

    @property
    def pid(self) -> int:
        process = self._process
        return 0 if process is None else process.pid

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended = True
        if self._process is not None:
            self._process.kill()

    def _work(self) -> None:
        self._warm_up()
        while (ticket := self._pool.next()) is not None:
            if ticket.stopped:
                continue
            self.busy, began = True, time.monotonic()
            try:
                ticket.tell(self._answer(ticket))
            finally:
                self.busy = False
            self._pool.count(time.monotonic() - began)
            self._warm_up()

    def _warm_up(self) -> None:
        """Have a process that holds the current models, and no others."""
        try:
            current = self._pool.current
            if self._process is None or not self._process.alive or not self._held:
                self._load(current)
            for gone in self._held - {model.key for model in current}:
                assert self._process is not None
                self._process.send(Forget(gone))
                self._held.discard(gone)
            self.warm = True
        except (EOFError, OSError):
            self._bury()
            self.warm = False

    def _bury(self) -> None:
        """End a process whose pipe is broken: it may look alive for a moment yet."""
        if self._process is not None:
            self._process.kill()

    def _load(self, models: Iterable[Loaded]) -> Process:
        """The process, with these models in it."""
        process = self._process
        if process is None or not process.alive:
            if self._ended:
                raise EOFError
            self._pool.restarts += process is not None
            process = self._process = Process(MODULE, self._pool.memory_bytes, self._pool.threads)
            self._held = set()
        late_at = time.monotonic() + WARM_S
        if not process.await_ready(lambda: self._ended or time.monotonic() > late_at):
            raise EOFError
        for model in models:
            if model.key in self._held:
                continue
            process.send(Load(model.key, model.content))
            while (message := process.receive(POLL_S)) is None:
                if self._ended or time.monotonic() > late_at:
                    raise EOFError
            self._held.add(message[1])
        return process

    def _answer(self, ticket: Ticket) -> Told | Refused:
        for _ in range(TRIES):
            try:
                return self._ask(self._load([ticket.model]), ticket)
            except (EOFError, OSError):
                self._bury()
                if ticket.stopped or self._ended:
                    break
        return Refused("the worker died at this question, again and again; ask another.", "lost")

    def _ask(self, process: Process, ticket: Ticket) -> Told | Refused:
        number, key = next(self._numbers), ticket.model.key
        streamed = ticket.on_bounds is not None
        asked = (ticket.question, ticket.arguments, ticket.limit_s, streamed, ticket.log)
        process.send(Ask(number, key, *asked))
        kill_at, told_to_stop = time.monotonic() + ticket.limit_s + GRACE_S, False
        while True:
            message = process.receive(POLL_S)
            if message is not None:
                kind, (of, content) = message
                if kind == "told":
                    answer: Told | Refused = content
                    return answer
                if kind == "found":  # it would be a pity to lose that
                    if not told_to_stop:
                        kill_at = max(kill_at, time.monotonic() + TELLING_S)
                    continue
                if ticket.on_bounds is not None and of == number:
                    ticket.on_bounds(content)
                continue
            if ticket.stopped and not told_to_stop:
                process.send(Stop(number))
                told_to_stop, kill_at = True, min(kill_at, time.monotonic() + GRACE_S)
            if time.monotonic() >= kill_at:
                process.kill()
                return Refused("the worker was killed: it did not end in time.", "lost")
