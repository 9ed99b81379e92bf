"""Questions that a worker has been given at once, one in most cases, until each has its answer."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from portfolio.running.process import Process
from portfolio.service.messages import Ask, Hurry, Refused, Several, Stop, Told
from portfolio.service.ticket import Ticket

GRACE_S = 5.0  # seconds beyond its limit, or after a stop, that a question may take
TELLING_S = 60.0  # seconds that sentences about what was found may take
HURRY_S = 0.4  # seconds that answers wait for others at most


@dataclass(eq=False)
class Turn:
    """Questions that a line has taken.

    Attributes
    ----------
    open : those without an answer, by their numbers in this line
    count : how many there were
    sent : whether the worker has them already
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
        """Seconds that it took for a question by now."""
        return (time.monotonic() - self._began) / self.count

    def message(self) -> Ask | Several:
        """What the worker is sent."""
        asks = tuple(_asked(ticket, number) for number, ticket in self.open.items())
        return asks[0] if len(asks) == 1 else Several(asks)

    def begin(self) -> None:
        """The worker is at it from now on."""
        self._began = time.monotonic()
        # If they take long, the others are given back and one is left.
        longest_s = max(ticket.limit_s for ticket in self.open.values())
        self._kill_at = self._began + longest_s + GRACE_S
        self._hurry_at = self._began + HURRY_S

    def hear(self, kind: str, content: Any) -> Sequence[tuple[Ticket, Told | Refused | None]]:
        """What a worker's message says of questions, which are open no more; None: given back."""
        if kind == "told":
            return [(self.open.pop(number), told) for number, told in content]
        if kind == "back":
            return [(self.open.pop(number), None) for number in content]
        number, known = content
        if kind == "found":  # it would be a pity to lose that
            if not self._ending:
                self._kill_at = max(self._kill_at, time.monotonic() + TELLING_S)
        elif number in self.open and (tell := self.open[number].on_bounds) is not None:
            tell(known)
        return []

    def look_after(self, process: Process) -> bool:
        """Pass on that nobody waits any more; whether time is up."""
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
