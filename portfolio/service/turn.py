"""A turn: the questions that a worker answers together, usually one."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from portfolio.running.process import Process
from portfolio.service.messages import Ask, Hurry, Refused, Reply, Several, Stop
from portfolio.service.ticket import Ticket

GRACE_S = 5.0  # seconds beyond the time limit, or after a stop, before the worker is killed
TELLING_S = 60.0  # maximum seconds to write the sentences of an answer
HURRY_S = 0.4  # maximum seconds that an answer waits for others of its turn


@dataclass(eq=False)
class Turn:
    """Questions that a line took from the queue.

    Attributes
    ----------
    open : dict, unanswered questions by their numbers in this line
    count : int, initial number of questions
    sent : bool, True if they were sent to the worker
    """

    open: dict[int, Ticket]
    count: int = field(init=False)
    sent: bool = False
    _began: float = 0.0
    _kill_at: float = 0.0
    _hurry_at: float = 0.0
    _stopped: set[int] = field(default_factory=set)
    _ending: bool = False

    def __post_init__(self) -> None:
        self.count = len(self.open)

    @property
    def pace_s(self) -> float:
        """Mean seconds per question since the start."""
        return (time.monotonic() - self._began) / self.count

    def message(self) -> Ask | Several:
        """Return the message to the worker."""
        asks = tuple(_asked(ticket, number) for number, ticket in self.open.items())
        return asks[0] if len(asks) == 1 else Several(asks)

    def begin(self) -> None:
        """Start the clocks: the worker starts now."""
        self._began = time.monotonic()
        # If they take long, one question continues and the others are put back.
        longest_s = max(ticket.limit_s for ticket in self.open.values())
        self._kill_at = self._began + longest_s + GRACE_S
        self._hurry_at = self._began + HURRY_S

    def hear(self, kind: str, content: Any) -> Sequence[tuple[Ticket, Reply | Refused | None]]:
        """Return (question, answer) pairs that a message closes; None means to ask again alone."""
        if kind == "told":
            return [(self.open.pop(number), answer) for number, answer in content]
        if kind == "back":
            return [(self.open.pop(number), None) for number in content]
        number, bounds = content
        if kind == "found":  # the worker has an answer: allow time to write it
            if not self._ending:
                self._kill_at = max(self._kill_at, time.monotonic() + TELLING_S)
        elif number in self.open and (tell := self.open[number].on_bounds) is not None:
            tell(bounds)
        return []

    def look_after(self, process: Process) -> bool:
        """Send stops of questions without a client; return True if the worker must be killed."""
        now = time.monotonic()
        for number, ticket in self.open.items():
            if ticket.stopped and number not in self._stopped:
                process.send(Stop(number))
                self._stopped.add(number)
        if not self._ending and self.open.keys() <= self._stopped:
            self._ending, self._kill_at = True, min(self._kill_at, now + GRACE_S)
        if len(self.open) > 1 and now >= self._hurry_at:
            process.send(Hurry())
            self._hurry_at = now + HURRY_S
        return now >= self._kill_at


def _asked(ticket: Ticket, number: int) -> Ask:
    streamed = ticket.on_bounds is not None
    about = (ticket.question, ticket.arguments, ticket.limit_s, streamed, ticket.log)
    return Ask(number, ticket.model.key, *about)
