"""A thread with a worker process of its own, which is replaced when it dies."""

import itertools
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol

from portfolio.running.process import POLL_S, Process
from portfolio.service.messages import Forget, Load, Refused
from portfolio.service.ticket import Loaded, Ticket
from portfolio.service.turn import Turn

TRIES = 3  # times that a question is asked whose worker dies
FIRST_PAUSE_S, LAST_PAUSE_S = 0.1, 10.0  # seconds between workers that do not get warm
WARM_S = 120.0  # seconds that a process may take to load a model
COMPILE_S = 600.0  # the same, where the solver is compiled before: a minute on an idle core
MODULE = "portfolio.service.worker_process"


class Waiting(Protocol):
    """The questions before all lines."""

    @property
    def current(self) -> tuple[Loaded, ...]:
        """The models of new questions."""
        ...

    def next(self, suits: Callable[[Ticket], bool]) -> list[Ticket]:
        """The questions that come next, if the first one suits; none if there is none that does."""
        ...

    def rest(self, line: "Line") -> list[Ticket]:
        """The questions that come next; none: the line is free, and will be given one."""
        ...

    def again(self, tickets: Sequence[Ticket]) -> None:
        """Let questions be asked once more, before all others, each alone."""
        ...

    def tried(self) -> None:
        """Hear that a line has tried to get warm, so that whatever it compiled is kept."""
        ...

    def count(self, seconds: float) -> None:
        """Remember how long a question took."""
        ...


class Line:
    """Asks its worker one question after another, or a few plain ones at once."""

    def __init__(self, waiting: Waiting, memory_bytes: int, threads: int) -> None:
        self._waiting, self._memory_bytes, self._threads = waiting, memory_bytes, threads
        self._thread = threading.Thread(target=self._work, name="counterfolio-line", daemon=True)
        self._given: queue.SimpleQueue[Turn | None] = queue.SimpleQueue()
        self._process: Process | None = None
        self._held: set[str] = set()
        self._numbers = itertools.count()
        self._ended = False
        self.warm = self.busy = self.compiles = False
        self.restarts = 0

    @property
    def pid(self) -> int:
        """Number of the process, 0 without one."""
        process = self._process
        return 0 if process is None else process.pid

    def prepare(self) -> None:
        """Start the process, before there is a thread that talks to it."""
        self._process = Process(MODULE, self._memory_bytes, self._threads)

    def start(self) -> None:
        """Start the thread, which starts the process if there is none."""
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
        """
        self._given.put(self._turn([ticket]))

    def _turn(self, tickets: Sequence[Ticket]) -> Turn:
        turn = Turn({next(self._numbers): ticket for ticket in tickets})
        if self._process is not None and self._holds(tickets[0]):
            # Whoever waits for the answer finds what is wrong: the process is dead, most likely.
            with suppress(Exception):
                turn.sent = self._process.send_at_once(turn.message())
        return turn

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
                tickets = self._waiting.rest(self)
                turn = self._turn(tickets) if tickets else self._given.get()
                if turn is None:
                    return
            turn = self._answered(turn)

    def _get_warm(self) -> None:
        """Try until a worker is warm: a question had better wait for any line than for this one."""
        pause_s = FIRST_PAUSE_S
        while not (self._warm_up() or self._ended):
            self._waiting.tried()
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LAST_PAUSE_S)
        self._waiting.tried()

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
            self.prepare()
            process = self._process
            assert process is not None
            self._held = set()
        late_at = time.monotonic() + WARM_S
        if not process.await_ready(lambda: self._ended or time.monotonic() > late_at):
            raise EOFError
        for model in models:
            if model.key in self._held:
                continue
            process.send(Load(model.key, model.content))
            self._held.add(self._loaded(process, late_at))
        return process

    def _loaded(self, process: Process, late_at: float) -> str:
        """Wait until a model is loaded; its key."""
        try:
            while True:
                message = process.receive(POLL_S)
                if message is None:
                    if self._ended or time.monotonic() > late_at:
                        raise EOFError
                elif message[0] == "compiling":
                    self.compiles, late_at = True, late_at + COMPILE_S
                else:
                    key: str = message[1]
                    return key
        finally:
            self.compiles = False

    def _answered(self, turn: Turn) -> Turn | None:
        """Have all questions of a turn answered; the next turn, if the worker is at it already."""
        try:
            return self._hear(turn)
        except (EOFError, OSError):
            self._bury()
            self._died(list(turn.open.values()))
        except Exception:  # a bug of ours: this line lives on, with another process
            self._bury()
            for ticket in turn.open.values():
                ticket.tell(Refused(traceback.format_exc(), "bug"))
        return None

    def _hear(self, turn: Turn) -> Turn | None:
        process = self._process
        if process is None or not turn.sent:
            process = self._load([next(iter(turn.open.values())).model])
            process.send(turn.message())
        turn.begin()
        while True:
            message = process.receive(POLL_S)
            if message is None:
                if turn.look_after(process):
                    process.kill()
                    self._late(turn)
                    return None
                continue
            heard = turn.hear(*message)
            self._waiting.again([ticket for ticket, told in heard if told is None])
            after = None
            if not turn.open:
                self._waiting.count(turn.pace_s)
                # The worker is at its next turn before anybody is woken by this one's answers.
                tickets = self._waiting.next(self._holds)
                after = self._turn(tickets) if tickets else None
            for ticket, told in heard:
                if told is not None:
                    ticket.tell(told)
            if not turn.open:
                return after

    def _died(self, tickets: Sequence[Ticket]) -> None:
        """Queue the questions of a dead worker again, one by one, to find the fatal one."""
        if len(tickets) == 1:
            ticket = tickets[0]
            ticket.died += 1
            if ticket.died >= TRIES or ticket.stopped or self._ended:
                words = "the worker died at this question, again and again; ask another."
                ticket.tell(Refused(words, "lost"))
                return
        self._waiting.again(tickets)

    def _late(self, turn: Turn) -> None:
        """The same where the worker was killed because time was up; alone each has more of it."""
        tickets = list(turn.open.values())
        if turn.count == 1:
            words = "the worker was killed: it did not end in time."
            tickets[0].tell(Refused(words, "lost"))
        else:
            self._waiting.again(tickets)
