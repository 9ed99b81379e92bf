"""Messages between the service and its workers, sent through local pipes."""

from dataclasses import dataclass
from typing import Any, Literal

from portfolio.logbook import Logbook

GROUP, AUDIT = "explain_group", "audit"  # questions about many rows, which run as jobs


@dataclass(frozen=True)
class Load:
    """A request to load an explainer.

    Attributes
    ----------
    key : str, identifier of the explainer
    content : bytes, pickled explainer
    """

    key: str
    content: bytes


@dataclass(frozen=True)
class Forget:
    """A request to drop an explainer.

    Attributes
    ----------
    key : str, identifier of the explainer
    """

    key: str


@dataclass(frozen=True)
class Ask:
    """A question.

    Attributes
    ----------
    number : int, number of the question in this process, which its messages repeat.
    key : str, identifier of the explainer.
    question : str, name in :data:`portfolio.service.questions.QUESTIONS`.
    arguments : dict, JSON values, with the limits of the server applied.
    limit_s : float, time limit in seconds.
    streamed : bool, True to report bounds as they improve.
    log : Logbook or None, training log of cheapest changes.
    """

    number: int
    key: str
    question: str
    arguments: dict[str, Any]
    limit_s: float
    streamed: bool = False
    log: Logbook | None = None


@dataclass(frozen=True)
class Several:
    """Plain questions about one explainer, whose answers are verified together.

    Attributes
    ----------
    asks : tuple of Ask, questions in order
    """

    asks: tuple[Ask, ...]

    @property
    def key(self) -> str:
        """Identifier of the explainer."""
        return self.asks[0].key


@dataclass(frozen=True)
class Hurry:
    """A request to send the finished answers of several questions, as one of them takes long."""


@dataclass(frozen=True)
class Stop:
    """A request to stop a question, as its client is gone.

    Attributes
    ----------
    number : int, number of the question
    """

    number: int


@dataclass(frozen=True)
class Bounds:
    """Bounds on the cost, or for a group on the number of rows served, at one moment.

    Attributes
    ----------
    seconds : float, seconds since the start.
    upper : float or None, cost of the best answer, None if there is none yet.
    lower : float or None, proved lower bound on the cost, None if no answer exists.
    """

    seconds: float
    upper: float | None
    lower: float | None


@dataclass(frozen=True)
class Reply:
    """An answer.

    Attributes
    ----------
    members : dict, members of the document, each as JSON text.
    status : str, solution status, such as "optimal".
    backend : str, name of the backend, "" if the answer has none.
    decision : str, path of "auto" through the decision diagram, "" if it was not used.
    complaint : str, reason why logging failed, "" if it did not.
    """

    members: dict[str, str]
    status: str
    backend: str
    decision: str = ""
    complaint: str = ""


@dataclass(frozen=True)
class Refused:
    """A question that is invalid or failed.

    Attributes
    ----------
    detail : str, error message; for a bug the traceback, which only the log shows.
    why : str, "input" if the request is invalid, "lost" if the worker died, or "bug".
    """

    detail: str
    why: Literal["input", "lost", "bug"] = "input"
