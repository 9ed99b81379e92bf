"""A question on its way to a worker and back."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from portfolio.logbook import Logbook
from portfolio.service.messages import Bounds, Refused, Told
from portfolio.service.questions import EXPLAIN

# Members of a question that is asked alone: they start backends of their own, or more questions.
ALONE = ("record", "second", "strategy", "tie_break")


class Loaded(Protocol):
    """A model that workers can be sent."""

    @property
    def key(self) -> str:
        """By which it is asked."""
        ...

    @property
    def content(self) -> bytes:
        """The explainer, pickled."""
        ...


@dataclass(eq=False)
class Ticket:
    """A question that waits, or is under way.

    Attributes
    ----------
    model : that is asked
    question, arguments, limit_s : as of :class:`portfolio.service.messages.Ask`
    on_bounds : told what is known by now, from a thread of the pool; None not to be told
    log : where it is logged; None: nowhere
    taken : whether a worker has it, and it does not wait
    died : how many workers died at it
    alone : whether it is asked without others, as it was with others in vain
    stopped : whether nobody waits for it any more
    future : the answer
    """

    model: Loaded
    question: str
    arguments: dict[str, Any]
    limit_s: float
    on_bounds: Callable[[Bounds], None] | None = None
    log: Logbook | None = None
    taken: bool = False
    died: int = 0
    alone: bool = False
    stopped: bool = False
    future: "Future[Told | Refused]" = field(default_factory=Future)

    @property
    def plain(self) -> bool:
        """Whether it may be asked together with others, and told together with them."""
        usual = self.question == EXPLAIN and not any(map(self.arguments.get, ALONE))
        return usual and self.on_bounds is None and not self.alone

    def stop(self) -> None:
        """End it, waiting or not."""
        self.stopped = True
        self.future.cancel()

    def tell(self, answer: Told | Refused) -> None:
        """Give the answer to who waits, if anybody does."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(answer)
