"""A pool of warm worker processes with a queue; processes that die are replaced."""

import itertools
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, takewhile
from math import ceil
from typing import Any

from portfolio.service.messages import Ask, Loaded, Refused, Reply, Ticket
from portfolio.workers.process import POLL_S, Process

MODULE = "portfolio.service.worker_process"
TOGETHER_S = 0.2  # maximum seconds of questions that a worker gets together
TRIES = 3  # attempts at a question whose worker dies
FIRST_PAUSE_S, LAST_PAUSE_S = 0.1, 10.0  # seconds between attempts to warm up a worker
WARM_S = 120.0  # maximum seconds for a process to start and load models
COMPILE_S = 600.0  # additional seconds if the solver is compiled: a minute on an idle core
GRACE_S = 5.0  # seconds beyond the time limit, or after a stop, before the worker is killed
TELLING_S = 60.0  # maximum seconds to write the sentences of an answer
CLOSING = "the service is shutting down. Retry later."
COMPILING = (
    "no worker is ready yet: the solver is being compiled for this machine, which takes about "
    "half a minute once. Retry later."
)
LOADING = "no worker is ready yet: the models are being loaded. Retry later."
CRASHED = "the worker crashed repeatedly on this request. Change the request."
LATE = "the worker was killed: it did not end within its time limit. Retry later."


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
        self.workers, self.most_waiting = workers, most_waiting
        self.memory_bytes, self.threads = memory_bytes, threads
        self.begun = self.closed = False
        self._current: tuple[Loaded, ...] = ()
        self._tickets: deque[Ticket] = deque()
        self._changed = threading.Condition()
        self._mean_s = 1.0  # moving average of the seconds of a question
        self._pace_s = TOGETHER_S  # the same, with each value capped at TOGETHER_S
        self._workers = [Worker(self) for _ in range(workers)]
        self._later = self._workers[1:]  # workers that are not started

    def prepare(self) -> None:
        """Start the first process, so that it imports and compiles before models are loaded."""
        self._workers[0].prepare()

    def start(self, models: Iterable[Loaded]) -> None:
        """Start the processes, which load the models.

        The first one warms up alone, as the others reuse the code that it compiles.
        """
        self.keep(models)
        self._workers[0].start()

    def start_others(self) -> None:
        """Start the other workers once one has tried to warm up."""
        with self._changed:
            later, self._later = self._later, []
            self.begun = self.begun or self.ready
        for worker in later:
            worker.start()

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
        return not self.closed and self.warm > 0

    @property
    def warm(self) -> int:
        """Number of warm workers."""
        return sum(worker.warm for worker in self._workers)

    @property
    def why(self) -> str:
        """Reason why no worker is warm, as an error message."""
        if self.closed:
            return CLOSING
        return COMPILING if any(worker.compiles for worker in self._workers) else LOADING

    @property
    def waiting(self) -> int:
        """Number of queued questions."""
        with self._changed:
            self._drop_stopped()
            return len(self._tickets)

    @property
    def busy(self) -> int:
        """Number of workers that answer a question."""
        return sum(worker.busy for worker in self._workers)

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
            most = self.most_waiting + self.workers - self.busy
            if len(self._tickets) >= most:
                self._drop_stopped()
            if len(self._tickets) >= most:
                raise FullError(self._mean_s * len(self._tickets) / self.workers)
            self._tickets.append(ticket)
            self._changed.notify()

    def next(self, worker: "Worker", wait: bool = True) -> list[Ticket]:
        """Return the questions that a worker answers together next; none once closed.

        If there are none, wait for them, or return an empty list.
        """
        with self._changed:
            self._drop_stopped()
            worker.busy = bool(self._tickets)
            while wait and not self._tickets and not self.closed:
                self._changed.wait()
                self._drop_stopped()
            if self.closed or not self._tickets:
                return []
            worker.busy = True
            key = self._tickets[0].model.key
            like = takewhile(lambda other: other.plain and other.model.key == key, self._tickets)
            count = len(list(islice(like, self._share()))) or 1
            tickets = [self._tickets.popleft() for _ in range(count)]
            for ticket in tickets:
                ticket.assigned = True
            return tickets

    def again(self, tickets: Sequence[Ticket]) -> None:
        """Put unanswered questions back at the head of the queue, each to be asked alone."""
        with self._changed:
            for ticket in reversed(tickets):
                ticket.assigned, ticket.alone = False, True
                if self.closed:
                    ticket.tell(Refused(CLOSING, "lost"))
                else:
                    self._tickets.appendleft(ticket)
                    self._changed.notify()

    def count(self, seconds: float) -> None:
        """Update the moving averages with the seconds of a question."""
        with self._changed:
            self._mean_s += (seconds - self._mean_s) / 8
            self._pace_s += (min(seconds, TOGETHER_S) - self._pace_s) / 8

    def close(self) -> None:
        """End all processes; queued questions fail with an error."""
        with self._changed:
            self.closed = True
            tickets, self._tickets = self._tickets, deque()
            self._changed.notify_all()
        for ticket in tickets:
            ticket.tell(Refused(CLOSING, "lost"))
        for worker in self._workers:
            worker.end()

    def _drop_stopped(self) -> None:
        """Remove questions of disconnected clients from the queue."""
        if any(ticket.stopped for ticket in self._tickets):
            self._tickets = deque(ticket for ticket in self._tickets if not ticket.stopped)

    def _share(self) -> int:
        """Return the number of questions for one worker: its fair share of the queue.

        A native prediction has a high fixed cost, which questions share. The limit keeps the wait
        of the first question short.
        """
        fair = ceil(len(self._tickets) / self.workers)
        return max(1, min(fair, int(TOGETHER_S / self._pace_s)))


class Worker:
    """A thread with one worker process, which answers one question or a few plain ones at a time.

    Attributes
    ----------
    warm : bool, True if the process has loaded the models.
    busy : bool, True while it answers questions.
    compiles : bool, True while the process compiles the solver.
    restarts : int, number of processes that were replaced.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._thread = threading.Thread(target=self._work, name="counterfolio-worker", daemon=True)
        self._process: Process | None = None
        self._keys: set[str] = set()  # of models that the process has
        self._numbers = itertools.count()
        self.warm = self.busy = self.compiles = False
        self.restarts = 0

    @property
    def pid(self) -> int:
        """Process id of the worker, 0 without one."""
        return 0 if self._process is None else self._process.pid

    def prepare(self) -> None:
        """Start the process before the thread."""
        self._process = Process(MODULE, self._pool.memory_bytes, self._pool.threads)

    def start(self) -> None:
        """Start the thread, which starts the process if necessary."""
        self._thread.start()

    def end(self) -> None:
        """End the process immediately."""
        if self._process is not None:
            self._process.kill()

    def _work(self) -> None:
        turn: Turn | None = None
        while turn is not None or not self._pool.closed:
            if turn is None:
                self._get_warm()
                turn = self._turn(self._pool.next(self))
            else:
                turn = self._following(turn)

    def _turn(self, tickets: Sequence[Ticket]) -> "Turn | None":
        return Turn({next(self._numbers): ticket for ticket in tickets}) if tickets else None

    def _following(self, turn: "Turn") -> "Turn | None":
        """Have all questions of a turn answered; return the next turn if it was sent already."""
        try:
            return self._answer(turn)
        except (EOFError, OSError):
            self._discard_process()
            self._ask_again(list(turn.open.values()), CRASHED, TRIES)
        except TimeoutError:
            self._discard_process()
            # Several questions are asked again, as each has more time alone.
            self._ask_again(list(turn.open.values()), LATE, 1 if turn.count == 1 else TRIES)
        except Exception:  # a bug: the thread continues with a new process
            self._discard_process()
            for ticket in turn.open.values():
                ticket.tell(Refused(traceback.format_exc(), "bug"))
        return None

    def _get_warm(self) -> None:
        """Try until a worker is warm; meanwhile other workers take the questions."""
        pause_s = FIRST_PAUSE_S
        while not (self._warm_up() or self._pool.closed):
            self._pool.start_others()
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LAST_PAUSE_S)
        self._pool.start_others()

    def _warm_up(self) -> bool:
        """Load the current models into the process, drop others; return True if that succeeds."""
        try:
            current = self._pool.current
            if self._process is None or not self._process.alive or not self._keys:
                self._load(current)
            for gone in self._keys - {model.key for model in current}:
                assert self._process is not None
                self._process.send(("forget", gone))
                self._keys.discard(gone)
            self.warm = True
        except (EOFError, OSError):
            self._discard_process()
        return self.warm

    def _discard_process(self) -> None:
        """End a process whose pipe is broken; it may still look alive for a moment."""
        self.warm = False
        self.end()

    def _load(self, models: Iterable[Loaded]) -> Process:
        """Load models into the process, starting it if necessary; return the process."""
        process = self._process
        if process is None or not process.alive:
            if self._pool.closed:
                raise EOFError
            self.restarts += process is not None
            self.prepare()
            process = self._process
            assert process is not None
            self._keys = set()
        late_at = time.monotonic() + WARM_S
        if not process.await_ready(lambda: self._pool.closed or time.monotonic() > late_at):
            raise EOFError
        for model in models:
            if model.key not in self._keys:
                process.send(("load", (model.key, model.content)))
                self._keys.add(self._loaded(process, late_at))
        return process

    def _loaded(self, process: Process, late_at: float) -> str:
        """Wait until a model is loaded and return its key."""
        try:
            while True:
                message = process.receive(POLL_S)
                if message is None:
                    if self._pool.closed or time.monotonic() > late_at:
                        raise EOFError
                elif message[0] == "compiling":
                    self.compiles, late_at = True, late_at + COMPILE_S
                else:
                    key: str = message[1]
                    return key
        finally:
            self.compiles = False

    def _answer(self, turn: "Turn") -> "Turn | None":
        """Have the process answer a turn; return the next turn, which was sent meanwhile, or None.

        Raise TimeoutError if the process is late.
        """
        process = self._load([next(iter(turn.open.values())).model])
        if not turn.sent:
            process.send(turn.message())
        began = time.monotonic()
        turn.kill_at = began + max(ticket.limit_s for ticket in turn.open.values()) + GRACE_S
        following = None
        while turn.open:
            message = process.receive(POLL_S)
            if message is None:
                turn.send_stops(process)
                if time.monotonic() >= turn.kill_at:
                    raise TimeoutError
                continue
            answers, again = turn.hear(*message)
            self._pool.again(again)
            if not turn.open:
                self._pool.count((time.monotonic() - began) / turn.count)
                following = self._send_ahead(process)
            for ticket, answer in answers:
                ticket.tell(answer)
        return following

    def _send_ahead(self, process: Process) -> "Turn | None":
        """Send the next turn, if there is one, before answers wake the threads that wait for them.

        Those threads would keep this one from sending it, and the process would have nothing to do.
        """
        turn = self._turn(self._pool.next(self, wait=False))
        keys = {model.key for model in self._pool.current}
        if turn is not None and turn.key in self._keys and self._keys <= keys:
            with suppress(Exception):  # it is noticed when the answer is waited for
                process.send(turn.message())
                turn.sent = True
        return turn

    def _ask_again(self, tickets: Sequence[Ticket], words: str, tries: int) -> None:
        """Queue questions again, one by one, to find the one that fails; refuse it in the end."""
        if len(tickets) == 1:
            ticket = tickets[0]
            ticket.died += 1
            if ticket.died >= tries or ticket.stopped or self._pool.closed:
                ticket.tell(Refused(CLOSING if self._pool.closed else words, "lost"))
                return
        self._pool.again(tickets)


@dataclass(eq=False)
class Turn:
    """The questions that a worker answers together, usually one.

    Attributes
    ----------
    open : dict, unanswered questions by their numbers in this worker.
    count : int, initial number of questions.
    sent : bool, True if it was sent to the process.
    kill_at : float, time at which the worker is killed.
    """

    open: dict[int, Ticket]
    count: int = field(init=False)
    sent: bool = False
    kill_at: float = 0.0
    _stopped: set[int] = field(default_factory=set)
    _ending: bool = False

    def __post_init__(self) -> None:
        self.count = len(self.open)

    @property
    def key(self) -> str:
        """Identifier of the model of its questions."""
        return next(iter(self.open.values())).model.key

    def message(self) -> tuple[str, tuple[Ask, ...]]:
        """Return the message to the process."""
        return "answer", tuple(ticket.ask(number) for number, ticket in self.open.items())

    def hear(
        self, kind: str, content: Any
    ) -> tuple[list[tuple[Ticket, Reply | Refused]], list[Ticket]]:
        """Apply a message of the process; return (answers, questions to ask again alone)."""
        if kind == "told":
            return [(self.open.pop(number), answer) for number, answer in content], []
        if kind == "back":
            return [], [self.open.pop(number) for number in content]
        if kind == "found":  # the worker has an answer: allow time to write it
            if not self._ending:
                self.kill_at = max(self.kill_at, time.monotonic() + TELLING_S)
        else:
            number, bounds = content
            if number in self.open and (tell := self.open[number].on_bounds) is not None:
                tell(bounds)
        return [], []

    def send_stops(self, process: Process) -> None:
        """Stop questions whose clients are gone; give the worker little time if all are."""
        for number, ticket in self.open.items():
            if ticket.stopped and number not in self._stopped:
                process.send(("stop", number))
                self._stopped.add(number)
        if not self._ending and self.open.keys() <= self._stopped:
            self._ending = True
            self.kill_at = min(self.kill_at, time.monotonic() + GRACE_S)
