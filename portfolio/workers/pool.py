"""Pool of workers that answer tasks from one queue; those that die are replaced."""

import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, takewhile
from math import ceil
from typing import Any

from portfolio.workers.process import POLL_S, RemoteProgram
from portfolio.workers.ticket import Loss, PackedWork, Ticket
from portfolio.workers.turn import LateError, Turn

MOST = 64  # most tasks that a worker receives at once
TRIES = 3  # attempts of a task whose worker dies
FIRST_PAUSE_S, LAST_PAUSE_S = 0.1, 10.0  # seconds between attempts to start a program
COMPILE_S = 600.0  # additional seconds if the solver is compiled: a minute on an idle core


class Pool(ABC):
    """Workers and the queue of their tickets; thread safe.

    A subclass says where tickets come from, and what happens if no worker can start.

    Parameters
    ----------
    workers : int
        Number of workers.
    start : callable
        Function that starts the program of a worker.
    together_s : float
        Most seconds of work that a worker receives at once.
    patience_s : float
        Most seconds until a new program listens.
    warm_s : float
        Most seconds until it has loaded the works.

    Attributes
    ----------
    works : tuple of PackedWork, works of new tickets; workers drop all others when idle.
    closed : bool, True once no ticket is accepted.
    """

    wait_s: float | None = None  # seconds between checks for tickets; None if each one notifies
    first_s = 0.0  # additional seconds for the first task of a work in a program

    def __init__(
        self,
        workers: int,
        start: Callable[[], RemoteProgram],
        together_s: float,
        patience_s: float,
        warm_s: float,
    ) -> None:
        self.start_program = start
        self.patience_s, self.warm_s = patience_s, warm_s
        self.works: tuple[PackedWork, ...] = ()
        self.closed = False
        self._together_s = self._pace_s = together_s
        self._tickets: deque[Ticket] = deque()
        self._changed = threading.Condition()
        self._workers = [Worker(self) for _ in range(workers)]

    @property
    def workers(self) -> int:
        """Number of workers."""
        return len(self._workers)

    @property
    def busy(self) -> int:
        """Number of workers that answer tasks."""
        return sum(worker.busy for worker in self._workers)

    def useless(self, worker: "Worker") -> bool:
        """Return whether there is nothing to do for a worker that starts."""
        return self.closed

    def next(self, worker: "Worker", wait: bool = True) -> list[Ticket]:
        """Return the tickets that a worker answers next; none if the worker should end.

        Without ``wait``, the list is also empty if the queue is. Native predictions have a high
        fixed cost, which tickets that are answered together share. A worker receives at most its
        fair share of the queue.
        """
        with self._changed:
            count = max(1, min(MOST, int(self._together_s / self._pace_s)))
            self._look(count)
            worker.busy = bool(self._tickets)
            while wait and not self._tickets and self._may_come():
                self._changed.wait(self.wait_s)
                self._look(count)
            if self.closed or not self._tickets:
                return []
            worker.busy = True
            key, share = self._tickets[0].work.key, ceil(len(self._tickets) / self.workers)
            like = takewhile(lambda other: other.joint and other.work.key == key, self._tickets)
            joint = len(list(islice(like, min(count, share))))
            tickets = [self._tickets.popleft() for _ in range(max(1, joint))]
            for ticket in tickets:
                ticket.assigned = True
            return tickets

    def put_back(self, tickets: Sequence[Ticket], alone: bool) -> None:
        """Return tickets to the head of the queue, perhaps to be answered one by one."""
        with self._changed:
            for ticket in reversed(tickets):
                ticket.assigned, ticket.alone = False, ticket.alone or alone
                if self.closed:
                    ticket.fail("closed", "")
                else:
                    self._tickets.appendleft(ticket)
                    self._changed.notify()

    def retry(
        self, tickets: Sequence[Ticket], loss: Loss, detail: str = "", once: bool = False
    ) -> None:
        """Put tickets of a lost worker back, one by one, to find the one that causes the loss.

        A single ticket is lost after ``TRIES`` workers, or at once if it is tried only ``once``.
        """
        if len(tickets) == 1:
            ticket = tickets[0]
            ticket.deaths += 1
            if once or ticket.deaths >= TRIES or ticket.over or self.closed:
                ticket.fail("closed" if self.closed else loss, detail)
                return
        self.put_back(tickets, alone=True)

    def count(self, seconds: float) -> None:
        """Update the moving average with the seconds of one task."""
        with self._changed:
            self._pace_s += (min(seconds, self._together_s) - self._pace_s) / 2

    def pause(self, seconds: float) -> None:
        """Wait until a time has passed or the pool is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self.closed, seconds)

    def close(self) -> None:
        """End all workers immediately; tickets in the queue are lost."""
        with self._changed:
            self.closed = True
            tickets, self._tickets = self._tickets, deque()
            self._changed.notify_all()
        for ticket in tickets:
            ticket.fail("closed", "")
        for worker in self._workers:
            worker.end()

    def report_attempt(self) -> None:  # noqa: B027
        """Note that a worker has tried to start, whether or not it is ready."""

    @abstractmethod
    def report_failure(self, detail: str, broken: bool) -> None:
        """Note that a worker did not start, or that a work is ``broken`` and cannot be loaded."""

    @abstractmethod
    def _may_come(self) -> bool:
        """Return whether a ticket may come; the lock is held."""

    def _look(self, count: int) -> None:
        """Drop tickets that are over; a subclass may add enough for ``count`` of each worker."""
        if any(ticket.over for ticket in self._tickets):
            self._tickets = deque(ticket for ticket in self._tickets if not ticket.over)


class BrokenError(Exception):
    """A work that cannot be loaded or prepared; the message says why."""


class Worker:
    """A thread with one program of a pool.

    Attributes
    ----------
    ready : bool, True if the program has loaded the works.
    busy : bool, True while it answers tasks.
    compiles : bool, True while the program compiles the solver.
    restarts : int, number of programs that were replaced.
    """

    def __init__(self, pool: "Pool") -> None:
        self._pool = pool
        self._thread = threading.Thread(target=self._run, name="counterfolio-worker", daemon=True)
        self._program: RemoteProgram | None = None
        self._loaded: set[str] = set()  # keys of the works that the program has
        self._warm: set[str] = set()  # keys of those that are prepared for tasks
        self.ready = self.busy = self.compiles = False
        self.restarts = 0

    @property
    def pid(self) -> int:
        """Process id of the program, 0 without one on this machine."""
        return 0 if self._program is None else self._program.pid

    @property
    def runs(self) -> bool:
        """True until the thread has ended."""
        return self._thread.is_alive()

    def prepare(self) -> RemoteProgram:
        """Start a program and return it."""
        self._program = self._pool.start_program()
        self._loaded, self._warm = set(), set()
        return self._program

    def start(self) -> None:
        """Start the thread, which starts the program if necessary."""
        self._thread.start()

    def end(self) -> None:
        """End the program immediately."""
        self.ready = False
        if self._program is not None:
            self._program.kill()

    def join(self, timeout_s: float) -> None:
        """Wait until the thread has ended, which may have been starting a program."""
        if self.runs:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        turn: Turn | None = None
        try:
            while turn is not None or self._get_ready():
                turn = turn or self._turn(self._pool.next(self))
                if turn is None:
                    break
                turn = self._following(turn)
                self.busy = turn is not None
        finally:
            self.busy = False
            self.end()

    def _turn(self, tickets: Sequence[Ticket]) -> Turn | None:
        return Turn(tickets) if tickets else None

    def _following(self, turn: Turn) -> Turn | None:
        """Have all tickets of a turn answered; return the next turn if it was sent already."""
        try:
            return self._answer(turn)
        except LateError:
            self.end()
            # Several tickets are tried again, as each has more time alone.
            self._pool.retry(turn.tickets, "late", once=turn.count == 1)
        except BrokenError as error:
            self.end()
            self._pool.report_failure(str(error), broken=True)
            self._pool.retry(turn.tickets, "died", str(error))
        except (EOFError, OSError):
            self._pool.retry(turn.tickets, "died", self._death())
        except Exception:  # a bug: the thread continues with a new program
            self.end()
            for ticket in turn.tickets:
                ticket.fail("bug", traceback.format_exc())
        return None

    def _death(self) -> str:
        """End a program whose connection is broken, and return the reason of its death."""
        words = "" if self._program is None else self._program.death()
        self.end()
        return words

    def _get_ready(self) -> bool:
        """Try until the program is ready; return False if there is nothing to do for it."""
        pause_s = FIRST_PAUSE_S
        while self.ready or not self._pool.useless(self):
            try:
                self._load_current()
            except BrokenError as error:
                self.end()
                self._pool.report_failure(str(error), broken=True)
            except (EOFError, OSError):
                words = self._death()
                if not self._pool.useless(self):
                    self._pool.report_failure(words, broken=False)
            self._pool.report_attempt()
            if self.ready:
                return True
            self._pool.pause(pause_s)
            pause_s = min(2 * pause_s, LAST_PAUSE_S)
        return False

    def _load_current(self) -> None:
        """Load the current works into the program, starting it if necessary, and drop others."""
        current = self._pool.works
        if self._program is None or not self._program.alive or not self._loaded:
            self._load(current)
        assert self._program is not None
        for gone in self._loaded - {work.key for work in current}:
            self._program.send(("forget", gone))
            self._loaded.discard(gone)
        self.ready = True

    def _load(self, works: Iterable[PackedWork]) -> RemoteProgram:
        """Load works into the program, starting it if necessary; return the program.

        Raise EOFError if that takes too long, or if there is nothing to do for it meanwhile.
        """
        program = self._program
        if program is None or not program.alive:
            if self._pool.closed:
                raise EOFError
            self.restarts += program is not None
            program = self.prepare()
        give_up = partial(self._give_up, time.monotonic() + self._pool.patience_s)
        if not program.await_ready(give_up):
            program.kill()
            raise EOFError
        late_at = time.monotonic() + self._pool.warm_s
        for work in works:
            if work.key not in self._loaded:
                program.send(("load", work.key, work.content))
                late_at = self._await_loaded(program, late_at)
                self._loaded.add(work.key)
        return program

    def _give_up(self, late_at: float) -> bool:
        return time.monotonic() > late_at or self._pool.useless(self)

    def _await_loaded(self, program: RemoteProgram, late_at: float) -> float:
        """Wait until a work is loaded; return the deadline, which a compilation extends."""
        try:
            while True:
                kind, content = program.receive(POLL_S) or ("", None)
                if kind == "loaded":
                    return late_at
                if kind == "broken":
                    raise BrokenError(content)
                if kind == "compiling":
                    self.compiles, late_at = True, late_at + COMPILE_S
                elif self._give_up(late_at):
                    program.kill()
                    raise EOFError
        finally:
            self.compiles = False

    def _answer(self, turn: Turn) -> Turn | None:
        """Have the program answer a turn; return the next turn, which was sent meanwhile, or None.

        Raise LateError if the program is late.
        """
        program = self._program
        if program is None or not turn.sent:
            program = self._load([turn.work])
            turn.send(program)
        began = time.monotonic()
        turn.begin(0.0 if turn.work.key in self._warm else self._pool.first_s)
        following = None
        while turn.open:
            message = program.receive(POLL_S)
            if message is None:
                turn.check(program)
                continue
            kind, content = message
            if kind == "warm":
                self._warm.add(turn.work.key)
                began = time.monotonic()
                turn.begin()
            answers = self._apply(turn, kind, content)
            try:
                if not turn.open:
                    self._pool.count((time.monotonic() - began) / turn.count)
                    following = self._send_ahead(program)
            finally:
                for ticket, answer in answers:
                    ticket.finish(answer)
        return following

    def _apply(self, turn: Turn, kind: str, content: Any) -> list[tuple[Ticket, Any]]:
        """Apply a message of the program about a turn; return the answers in it."""
        if kind == "answers":
            return [(turn.open.pop(key), answer) for key, answer in content]
        if kind == "back":
            keys, alone = content
            self._pool.put_back([turn.open.pop(key) for key in keys], alone)
        elif kind == "report":
            key, report = content
            if key in turn.open:
                turn.open[key].follow(report)
        elif kind == "extend":
            turn.extend(content)
        elif kind == "broken":
            raise BrokenError(content)
        return []

    def _send_ahead(self, program: RemoteProgram) -> Turn | None:
        """Send the next turn, if there is one, before answers wake the threads that wait for them.

        Those threads would keep this one from sending it, and the program would have nothing to do.
        """
        turn = self._turn(self._pool.next(self, wait=False))
        keys = {work.key for work in self._pool.works}
        if turn is not None and turn.work.key in self._loaded and self._loaded <= keys:
            with suppress(Exception):  # it is noticed when the answer is waited for
                turn.send(program)
        return turn
