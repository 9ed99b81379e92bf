"""What the service and its workers tell each other, through pipes of this machine only."""

from dataclasses import dataclass
from typing import Any, Literal

from portfolio.logbook import Logbook

GROUP, AUDIT = "explain_group", "audit"  # questions about many rows, which are jobs


@dataclass(frozen=True)
class Load:
    """An explainer to keep.

    Attributes
    ----------
    key : by which it is asked from now on
    content : the explainer, pickled
    """

    key: str
    content: bytes


@dataclass(frozen=True)
class Forget:
    """An explainer that nobody will ask any more.

    Attributes
    ----------
    key : of it
    """

    key: str


@dataclass(frozen=True)
class Ask:
    """One question.

    Attributes
    ----------
    number : of this process' questions, told with all that is told of it
    key : of the explainer
    question : name in :data:`portfolio.service.questions.QUESTIONS`
    arguments : as they were given in JSON, limits clipped
    limit_s : seconds for it
    streamed : whether bounds are to be told as they are found
    log : where the cheapest change is logged; None: nowhere
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
    """Plain questions about one explainer, told once the model has confirmed all of them.

    Attributes
    ----------
    asks : one after another
    """

    asks: tuple[Ask, ...]

    @property
    def key(self) -> str:
        """Of the explainer."""
        return self.asks[0].key


@dataclass(frozen=True)
class Hurry:
    """One of several questions takes long: the others are to be told, or given back, without it."""


@dataclass(frozen=True)
class Stop:
    """A question that nobody waits for any more.

    Attributes
    ----------
    number : of it
    """

    number: int


@dataclass(frozen=True)
class Bounds:
    """What is known by now.

    Attributes
    ----------
    seconds : since the question
    upper : what the best answer costs, None without one
    lower : no answer costs less, None if there is none
    """

    seconds: float
    upper: float | None
    lower: float | None


@dataclass(frozen=True)
class Told:
    """An answer.

    Attributes
    ----------
    members : of the document, each as JSON
    status : what is proved
    backend : who answered, "" where that is not told
    decision : what "auto" went by, in words, "" where it did not decide
    complaint : why it could not be logged, "" if it was, or was not to be
    """

    members: dict[str, str]
    status: str
    backend: str
    decision: str = ""
    complaint: str = ""


@dataclass(frozen=True)
class Refused:
    """A question that can't be asked, or that failed.

    Attributes
    ----------
    detail : one sentence, or for a bug a traceback, which is for the log only
    why : "input" of who asked, "lost" with its worker, or a "bug"
    """

    detail: str
    why: Literal["input", "lost", "bug"] = "input"
