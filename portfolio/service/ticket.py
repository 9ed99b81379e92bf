"""A question in the queue or at a worker, with the future of its answer."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from portfolio.logbook import Logbook
from portfolio.service.messages import Bounds, Refused, Reply
from portfolio.service.questions import EXPLAIN

# Members that prevent joint answers: they start additional backends or questions.
ALONE = ("record", "second", "strategy", "tie_break")


class Loaded(Protocol):
    """A model that can be sent to workers."""

    @property
    def key(self) -> str:
        """Identifier of the model."""
        ...

    @property
    def content(self) -> bytes:
        """Pickled explainer."""
        ...


@dataclass(eq=False)
class Ticket:
    """A question that is queued or being answered.

    Attributes
    ----------
    model : Loaded, model of the question.
    question, arguments, limit_s : see :class:`portfolio.service.messages.Ask`.
    on_bounds : callable or None, function that a thread of the pool calls with new bounds.
    log : Logbook or None, training log.
    assigned : bool, True if a worker has it.
    died : int, number of workers that died while they answered it.
    alone : bool, True to answer it without others, after a joint attempt failed.
    stopped : bool, True if the client is gone.
    future : Future, future of the answer.
    """

    model: Loaded
    question: str
    arguments: dict[str, Any]
    limit_s: float
    on_bounds: Callable[[Bounds], None] | None = None
    log: Logbook | None = None
    assigned: bool = False
    died: int = 0
    alone: bool = False
    stopped: bool = False
    future: "Future[Reply | Refused]" = field(default_factory=Future)

    @property
    def plain(self) -> bool:
        """True if it can be answered and verified together with others."""
        usual = self.question == EXPLAIN and not any(map(self.arguments.get, ALONE))
        return usual and self.on_bounds is None and not self.alone

    def stop(self) -> None:
        """Cancel the question, queued or not."""
        self.stopped = True
        self.future.cancel()

    def tell(self, answer: Reply | Refused) -> None:
        """Set the answer, unless the question was cancelled."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(answer)
