"""A thread with a worker process of its own, which is replaced when it dies."""

import itertools
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from portfolio.running.process import POLL_S, Process
from portfolio.service.messages import Ask, Forget, Load, Refused, Stop, Told
from portfolio.service.ticket import Loaded, Ticket

GRACE_S = 5.0  # seconds beyond its limit, or after a stop, that a question may take
TELLING_S = 60.0  # seconds that sentences about what was found may take
TRIES = 3  # times that a question is asked whose worker dies
FIRST_PAUSE_S, LAST_PAUSE_S = 0.1, 10.0  # seconds between workers that do not get warm
WARM_S = 120.0  # seconds that a process may take to load a model
MODULE = "portfolio.service.worker_process"


@dataclass(frozen=True, eq=False)
class Turn:
    """A question that a line has taken.

    Attributes
    ----------
    ticket : the question
    number : of it in this line
    sent : whether the worker has it already
    """

    ticket: Ticket
    number: int
    sent: bool


class Waiting(Protocol):
    """The questions before all lines."""

    @property
    def current(self) -> tuple[Loaded, ...]:
        """The models of new questions."""
        ...

    def next(self, suits: Callable[[Ticket], bool]) -> Ticket | None:
        """The question that comes next, if it suits; None if there is none that does.

        Parameters
        ----------
        suits : whether it is taken
        """
        ...

    def rest(self, line: "Line") -> Ticket | None:
        """The question that comes next; None: the line is free, and will be given one.

        Parameters
        ----------
        line : that has nothing to do
        """
        ...

    def again(self, ticket: Ticket) -> None:
        """Let a question be asked once more, before all others.

        Parameters
        ----------
        ticket : the question
        """
        ...

    def count(self, seconds: float) -> None:
        """Remember how long a question took.

        Parameters
        ----------
        seconds : of it
        """
        ...


class Line:
    """Asks its worker one question at a time.

    Parameters
    ----------
    waiting : where it takes questions from
    memory_bytes : address space of the process, 0 for no limit
    threads : by which libraries predict in it
    """

    def __init__(self, waiting: Waiting, memory_bytes: int, threads: int) -> None:
        self._waiting, self._memory_bytes, self._threads = waiting, memory_bytes, threads
        self._thread = threading.Thread(target=self._work, name="counterfolio-line", daemon=True)
        self._given: queue.SimpleQueue[Turn | None] = queue.SimpleQueue()
        self._process: Process | None = None
        self._held: set[str] = set()
        self._numbers = itertools.count()
        self._ended = False
        self.warm = self.busy = False
        self.restarts = 0

    @property
    def pid(self) -> int:
        """Number of the process, 0 without one."""
        process = self._process
        return 0 if process is None else process.pid

    def start(self) -> None:
        """Begin the thread, which begins the process."""
        self._thread.start()

    def end(self) -> None:
        """End both at once."""
        self._ended = True
        if self._process is not None:
            self._process.kill()
        self._given.put(None)

    def give(self, ticket: Ticket) -> None:
        """Ask a question, while the line is free.

        The worker hears it at once, and not when this line's thread has been woken.

        Parameters
        ----------
        ticket : the question
        """
        self._given.put(self._turn(ticket))

    def _turn(self, ticket: Ticket) -> Turn:
        number, sent = next(self._numbers), False
        if self._process is not None and self._holds(ticket):
            with suppress(OSError):  # whoever waits for the answer finds the process dead
                sent = self._process.send_at_once(_asked(ticket, number))
        return Turn(ticket, number, sent)

    def _holds(self, ticket: Ticket) -> bool:
        """Whether the process has the model of a question, and none that it has to forget."""
        process, current = self._process, {model.key for model in self._waiting.current}
        alive = self.warm and process is not None and process.alive
        return alive and ticket.model.key in self._held and self._held <= current

    def _work(self) -> None:
        turn: Turn | None = None
        while not self._ended:
            if turn is None:
                self._get_warm()
                ticket = self._waiting.rest(self)
                turn = self._given.get() if ticket is None else self._turn(ticket)
                if turn is None:
                    return
            began = time.monotonic()
            told = self._answer(turn)
            self._waiting.count(time.monotonic() - began)
            if told is None:
                self._waiting.again(turn.ticket)
                turn = None
                continue
            # The worker is at its next question before anybody is woken by this one's answer.
            ticket, done = self._waiting.next(self._holds), turn.ticket
            turn = None if ticket is None else self._turn(ticket)
            done.tell(told)

    def _get_warm(self) -> None:
        """Try until a worker is warm: a question had better wait for any line than for this one."""
        pause_s = FIRST_PAUSE_S
        while not (self._warm_up() or self._ended):
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LAST_PAUSE_S)

    def _warm_up(self) -> bool:
        """Have a process that holds the current models, and no others; whether there is one."""
        try:
            current = self._waiting.current
            if self._process is None or not self._process.alive or not self._held:
                self._load(current)
            for gone in self._held - {model.key for model in current}:
                assert self._process is not None
                self._process.send(Forget(gone))
                self._held.discard(gone)
            self.warm = True
        except (EOFError, OSError):
            self._bury()
        return self.warm

    def _bury(self) -> None:
        """End a process whose pipe is broken: it may look alive for a moment yet."""
        self.warm = False
        if self._process is not None:
            self._process.kill()

    def _load(self, models: Iterable[Loaded]) -> Process:
        """The process, with these models in it."""
        process = self._process
        if process is None or not process.alive:
            if self._ended:
                raise EOFError
            self.restarts += process is not None
            process = self._process = Process(MODULE, self._memory_bytes, self._threads)
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

    def _answer(self, turn: Turn) -> Told | Refused | None:
        """The answer; None: the worker died, and another one is to be asked."""
        try:
            return self._ask(turn)
        except (EOFError, OSError):
            self._bury()
            turn.ticket.died += 1
            if turn.ticket.died < TRIES and not turn.ticket.stopped and not self._ended:
                return None
            words = "the worker died at this question, again and again; ask another."
            return Refused(words, "lost")
        except Exception:  # a bug of ours: this line lives on, with another process
            self._bury()
            return Refused(traceback.format_exc(), "bug")

    def _ask(self, turn: Turn) -> Told | Refused:
        ticket, process = turn.ticket, self._process
        if process is None or not turn.sent:
            process = self._load([ticket.model])
            process.send(_asked(ticket, turn.number))
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
                if ticket.on_bounds is not None and of == turn.number:
                    ticket.on_bounds(content)
                continue
            if ticket.stopped and not told_to_stop:
                process.send(Stop(turn.number))
                told_to_stop, kill_at = True, min(kill_at, time.monotonic() + GRACE_S)
            if time.monotonic() >= kill_at:
                process.kill()
                return Refused("the worker was killed: it did not end in time.", "lost")


def _asked(ticket: Ticket, number: int) -> Ask:
    streamed = ticket.on_bounds is not None
    about = (ticket.question, ticket.arguments, ticket.limit_s, streamed, ticket.log)
    return Ask(number, ticket.model.key, *about)
