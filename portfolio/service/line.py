"""A thread with one worker process, which is replaced when it dies."""

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

TRIES = 3  # attempts at a question whose worker dies
FIRST_PAUSE_S, LAST_PAUSE_S = 0.1, 10.0  # seconds between attempts to warm up a worker
WARM_S = 120.0  # maximum seconds for a process to start and load models
COMPILE_S = 600.0  # additional seconds if the solver is compiled: a minute on an idle core
MODULE = "portfolio.service.worker_process"


class Waiting(Protocol):
    """The queue of questions that all lines share."""

    @property
    def current(self) -> tuple[Loaded, ...]:
        """Models of new questions."""
        ...

    def next(self, suits: Callable[[Ticket], bool]) -> list[Ticket]:
        """Return the next questions if the first one satisfies ``suits``, else an empty list."""
        ...

    def rest(self, line: "Line") -> list[Ticket]:
        """Return the next questions; if there are none, mark the line as free."""
        ...

    def again(self, tickets: Sequence[Ticket]) -> None:
        """Put questions back at the head of the queue, each to be asked alone."""
        ...

    def tried(self) -> None:
        """Record that a line has tried to warm up: its compiled code is cached for others."""
        ...

    def count(self, seconds: float) -> None:
        """Record the time of a question."""
        ...


class Line:
    """A thread that sends questions to its worker, one by one or a few plain ones together."""

    def __init__(self, waiting: Waiting, memory_bytes: int, threads: int) -> None:
        self._waiting, self._memory_bytes, self._threads = waiting, memory_bytes, threads
        self._thread = threading.Thread(target=self._work, name="counterfolio-line", daemon=True)
        self._turns: queue.SimpleQueue[Turn | None] = queue.SimpleQueue()
        self._process: Process | None = None
        self._loaded_keys: set[str] = set()
        self._numbers = itertools.count()
        self._ended = False
        self.warm = self.busy = self.compiles = False
        self.restarts = 0

    @property
    def pid(self) -> int:
        """Process id of the worker, 0 without one."""
        process = self._process
        return 0 if process is None else process.pid

    def prepare(self) -> None:
        """Start the process before the thread."""
        self._process = Process(MODULE, self._memory_bytes, self._threads)

    def start(self) -> None:
        """Start the thread, which starts the process if necessary."""
        self._thread.start()

    def end(self) -> None:
        """End thread and process immediately."""
        self._ended = True
        if self._process is not None:
            self._process.kill()
        self._turns.put(None)

    def give(self, ticket: Ticket) -> None:
        """Answer a question; the line must be free.

        The question is sent to the worker here, which is faster than waking the thread first.
        """
        self._turns.put(self._turn([ticket]))

    def _turn(self, tickets: Sequence[Ticket]) -> Turn:
        turn = Turn({next(self._numbers): ticket for ticket in tickets})
        if self._process is not None and self._holds(tickets[0]):
            # The thread detects errors when it waits for the answer: the process is probably dead.
            with suppress(Exception):
                turn.sent = self._process.send_at_once(turn.message())
        return turn

    def _holds(self, ticket: Ticket) -> bool:
        """Return True if the process has the model of a question, and no outdated models."""
        process, current = self._process, {model.key for model in self._waiting.current}
        alive = self.warm and process is not None and process.alive
        return alive and ticket.model.key in self._loaded_keys and self._loaded_keys <= current

    def _work(self) -> None:
        turn: Turn | None = None
        while not self._ended:
            if turn is None:
                self._get_warm()
                tickets = self._waiting.rest(self)
                turn = self._turn(tickets) if tickets else self._turns.get()
                if turn is None:
                    return
            turn = self._answered(turn)

    def _get_warm(self) -> None:
        """Try until a worker is warm; meanwhile other lines take the questions."""
        pause_s = FIRST_PAUSE_S
        while not (self._warm_up() or self._ended):
            self._waiting.tried()
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LAST_PAUSE_S)
        self._waiting.tried()

    def _warm_up(self) -> bool:
        """Load the current models into the process, drop others; return True if that succeeds."""
        try:
            current = self._waiting.current
            if self._process is None or not self._process.alive or not self._loaded_keys:
                self._load(current)
            for gone in self._loaded_keys - {model.key for model in current}:
                assert self._process is not None
                self._process.send(Forget(gone))
                self._loaded_keys.discard(gone)
            self.warm = True
        except (EOFError, OSError):
            self._discard_process()
        return self.warm

    def _discard_process(self) -> None:
        """End a process whose pipe is broken; it may still look alive for a moment."""
        self.warm = False
        if self._process is not None:
            self._process.kill()

    def _load(self, models: Iterable[Loaded]) -> Process:
        """Load models into the process, starting it if necessary; return the process."""
        process = self._process
        if process is None or not process.alive:
            if self._ended:
                raise EOFError
            self.restarts += process is not None
            self.prepare()
            process = self._process
            assert process is not None
            self._loaded_keys = set()
        late_at = time.monotonic() + WARM_S
        if not process.await_ready(lambda: self._ended or time.monotonic() > late_at):
            raise EOFError
        for model in models:
            if model.key in self._loaded_keys:
                continue
            process.send(Load(model.key, model.content))
            self._loaded_keys.add(self._loaded(process, late_at))
        return process

    def _loaded(self, process: Process, late_at: float) -> str:
        """Wait until a model is loaded and return its key."""
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
        """Answer the questions of a turn; return the next turn if it was already sent."""
        try:
            return self._hear(turn)
        except (EOFError, OSError):
            self._discard_process()
            self._died(list(turn.open.values()))
        except Exception:  # a bug: the thread continues with a new process
            self._discard_process()
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
            self._waiting.again([ticket for ticket, answer in heard if answer is None])
            after = None
            if not turn.open:
                self._waiting.count(turn.pace_s)
                # Send the next turn before the answers of this one wake other threads.
                tickets = self._waiting.next(self._holds)
                after = self._turn(tickets) if tickets else None
            for ticket, answer in heard:
                if answer is not None:
                    ticket.tell(answer)
            if not turn.open:
                return after

    def _died(self, tickets: Sequence[Ticket]) -> None:
        """Queue the questions of a dead worker again, one by one, to find the one that kills it."""
        if len(tickets) == 1:
            ticket = tickets[0]
            ticket.died += 1
            if ticket.died >= TRIES or ticket.stopped or self._ended:
                words = "the worker crashed repeatedly on this request. Change the request."
                ticket.tell(Refused(words, "lost"))
                return
        self._waiting.again(tickets)

    def _late(self, turn: Turn) -> None:
        """Queue the questions of a worker that ran out of time again; alone each has more time."""
        tickets = list(turn.open.values())
        if turn.count == 1:
            words = "the worker was killed: it did not end within its time limit. Retry later."
            tickets[0].tell(Refused(words, "lost"))
        else:
            self._waiting.again(tickets)
