"""Tickets: tasks in the queue of a pool, or in a worker, with the recipients of their answers."""

from abc import ABC, abstractmethod
from typing import Any, Literal, Protocol

from portfolio.workers.work import Task

Loss = Literal["died", "late", "closed", "bug"]  # reasons why a task has no answer


class PackedWork(Protocol):
    """Work that can be sent to workers."""

    @property
    def key(self) -> str:
        """Identifier of the work."""
        ...

    @property
    def content(self) -> Any:
        """Pickled :class:`portfolio.workers.work.Work`, or a reference to it on a cluster."""
        ...


class Ticket(ABC):
    """Task in the queue of a pool, or in a worker, and the recipient of its answer.

    Attributes
    ----------
    alone : bool, True to answer it without others, after a joint attempt failed.
    assigned : bool, True if a worker has it.
    stopped : bool, True if the answer is not needed any more.
    deaths : int, number of workers that died while they answered it alone.
    """

    alone = assigned = stopped = False
    deaths = 0

    @property
    @abstractmethod
    def work(self) -> PackedWork:
        """Work that the task belongs to."""

    @abstractmethod
    def due(self) -> Task | None:
        """Return the task with the time that remains; None if its deadline has passed."""

    @abstractmethod
    def finish(self, answer: Any) -> None:
        """Accept the answer of a worker."""

    @abstractmethod
    def fail(self, loss: Loss, detail: str) -> None:
        """Accept the reason why the task has no answer."""

    def follow(self, report: Any) -> None:  # noqa: B027
        """Accept a report of a worker that answers it."""

    @property
    def over(self) -> bool:
        """True if no worker should begin with it."""
        return self.stopped

    @property
    def joint(self) -> bool:
        """True if it may be answered and verified together with others of the same work."""
        return not self.alone
