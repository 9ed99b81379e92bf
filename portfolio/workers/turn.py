"""Tickets that a worker answers together, usually one."""

import time
from collections.abc import Sequence
from math import inf

from portfolio.workers.process import RemoteProgram
from portfolio.workers.ticket import Ticket

GRACE_S = 5.0  # seconds beyond the time limit, or after a stop, before the program is killed


class LateError(Exception):
    """A program that did not answer in time."""


class Turn:
    """The tickets that a worker answers together, usually one.

    Attributes
    ----------
    open : dict, unanswered tickets by the keys of their tasks.
    count : int, initial number of tickets.
    sent : bool, True if it was sent to the program.
    kill_at : float, time at which the program is killed.
    """

    def __init__(self, tickets: Sequence[Ticket]) -> None:
        self.work = tickets[0].work
        due = [(ticket, task) for ticket in tickets if (task := ticket.due()) is not None]
        self._tasks = [task for _, task in due]
        self.open = {task.key: ticket for ticket, task in due}
        self.count, self.sent, self.kill_at = max(1, len(due)), not due, inf
        self._stopped: set[str] = set()
        self._ending = False

    @property
    def tickets(self) -> list[Ticket]:
        """Unanswered tickets."""
        return list(self.open.values())

    def send(self, program: RemoteProgram) -> None:
        """Send the tasks to a program."""
        if self._tasks:
            program.send(("tasks", self.work.key, self._tasks))
        self.sent = True

    def begin(self, more_s: float = 0.0) -> None:
        """Set the time at which the program is killed."""
        longest_s = max((task.limit_s for task in self._tasks), default=0.0)
        self.kill_at = time.monotonic() + longest_s + GRACE_S + more_s

    def extend(self, seconds: float) -> None:
        """Allow time to write an answer that is found, if it is still needed."""
        if not self._ending:
            self.kill_at = max(self.kill_at, time.monotonic() + seconds)

    def check(self, program: RemoteProgram) -> None:
        """Stop cancelled tickets; raise LateError if the time is up.

        The program has little time left once all tickets are cancelled.
        """
        for key, ticket in self.open.items():
            if ticket.stopped and key not in self._stopped:
                program.send(("stop", key))
                self._stopped.add(key)
        if not self._ending and self.open.keys() <= self._stopped:
            self._ending = True
            self.kill_at = min(self.kill_at, time.monotonic() + GRACE_S)
        if time.monotonic() >= self.kill_at:
            raise LateError
