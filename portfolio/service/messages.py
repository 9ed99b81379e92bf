"""Questions in the queue of a service, and what is sent between it and its workers."""

import itertools
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal

from portfolio.engine.logbook import Logbook
from portfolio.workers.ticket import Loss, PackedWork, Ticket
from portfolio.workers.work import Task

EXPLAIN = "explain"
GROUP, AUDIT = "explain_group", "audit"  # questions about many rows, which run as jobs
EXPLORE = "explore"  # the runs of all backends, as training data
# Members that prevent joint answers: they start additional backends or questions.
ALONE = ("record", "second", "strategy", "portfolio", "tie_break")
CLOSING = "the service is shutting down. Retry later."
READING = "the service is starting and loads its models. Retry later."
COMPILING = (
    "no worker is ready yet: the solver is being compiled for this machine, which takes about "
    "half a minute once. Retry later."
)
LOADING = "no worker is ready yet: the models are being loaded. Retry later."
FULL = "the queue of requests is full. Retry later."
BUG = "internal error. See the server log."  # of a job
LOST: dict[Loss, str] = {
    "died": "the worker crashed repeatedly on this request. Change the request.",
    "late": "the worker was killed: it did not end within its time limit. Retry later.",
    "closed": CLOSING,
}
CODES = {  # identifiers of sentences without arguments, for clients in other languages
    CLOSING: "closing",
    READING: "starting",
    COMPILING: "compiling",
    LOADING: "loading",
    FULL: "queue-full",
    BUG: "job-failed",
    LOST["died"]: "worker-died",
    LOST["late"]: "worker-late",
}
_numbers = itertools.count()


@dataclass(frozen=True)
class Ask:
    """A question that is sent to a worker."""

    question: str  # name in :data:`portfolio.service.questions.QUESTIONS`
    arguments: dict[str, Any]  # JSON values, with the limits of the server applied
    limit_s: float  # time limit in seconds
    streamed: bool = False  # True to report bounds as they improve
    log: Logbook | None = None  # training log of cheapest changes


@dataclass(frozen=True)
class Bounds:
    """Bounds on the cost, or for a group on the number of rows served, at one moment."""

    seconds: float  # seconds since the start
    upper: float | None  # cost of the best answer, None if there is none yet
    lower: float | None  # proved lower bound on the cost, None if no answer exists


@dataclass(frozen=True)
class Reply:
    """An answer."""

    members: dict[str, str]  # members of the document, each as JSON text
    status: str  # solution status, such as "optimal"
    backend: str  # name of the backend, "" if the answer has none
    decision: str = ""  # path of "auto" through the decision diagram, "" if it was not used
    complaint: str = ""  # reason why logging failed, "" if it did not
    attempts_at_s: float = 0.0  # start of the first attempt on the clock ``time.time()``


@dataclass(frozen=True)
class Refused:
    """A question that is invalid or failed.

    Attributes
    ----------
    detail : str, error message; for a bug the traceback, which only the log shows.
    why : str, "input" if the request is invalid, "lost" if the worker died, or "bug".
    code, arguments : see :class:`encoders.core.errors.InputError`.
    """

    detail: str
    why: Literal["input", "lost", "bug"] = "input"
    code: str = ""
    arguments: dict[str, str | float] = field(default_factory=dict)


@dataclass(eq=False)
class QuestionTicket(Ticket):
    """A question that is queued or being answered, with the future of its answer.

    Attributes
    ----------
    model : PackedWork, model of the question.
    question, arguments, limit_s : see :class:`Ask`.
    on_bounds : callable or None, function that a thread of the pool calls with new bounds.
    log : Logbook or None, training log.
    future : Future, future of the answer.
    number : str, identifier of the question in messages.
    """

    model: PackedWork
    question: str
    arguments: dict[str, Any]
    limit_s: float
    on_bounds: Callable[[Bounds], None] | None = None
    log: Logbook | None = None
    future: "Future[Reply | Refused]" = field(default_factory=Future)
    number: str = field(default_factory=lambda: str(next(_numbers)))

    @property
    def work(self) -> PackedWork:
        """See :class:`Ticket`."""
        return self.model

    @property
    def joint(self) -> bool:
        """True if it can be answered and verified together with others."""
        usual = self.question == EXPLAIN and not any(map(self.arguments.get, ALONE))
        return usual and self.on_bounds is None and not self.alone

    def due(self) -> Task:
        """See :class:`Ticket`."""
        streamed = self.on_bounds is not None
        ask = Ask(self.question, self.arguments, self.limit_s, streamed, self.log)
        return Task(self.number, ask, self.limit_s)

    def stop(self) -> None:
        """Cancel the question, queued or not."""
        self.stopped = True
        self.future.cancel()

    def finish(self, answer: Reply | Refused) -> None:
        """Set the answer, unless the question was cancelled."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(answer)

    def fail(self, loss: Loss, detail: str) -> None:
        """See :class:`Ticket`."""
        self.finish(Refused(detail, "bug") if loss == "bug" else Refused(LOST[loss], "lost"))

    def follow(self, report: Bounds) -> None:
        """See :class:`Ticket`."""
        if self.on_bounds is not None:
            self.on_bounds(report)
