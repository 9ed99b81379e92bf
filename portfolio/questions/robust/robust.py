"""Answers that still hold if the model is trained anew, or if they are missed by a little."""

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from encoders.backends.interface import Status, StopReason
from encoders.errors import InputError
from portfolio.as_json import AsJson, as_plain
from portfolio.model.native import predict_one
from portfolio.model.row import Row
from portfolio.question import Options, Question, check_progress
from portfolio.questions.interruptible import interruptible
from portfolio.questions.robust.nearby import Around, safe_search
from portfolio.questions.robust.retraining import Retraining, stricter
from portfolio.result import Result
from portfolio.solving.ask import Asker
from portfolio.solving.progress import OnProgress
from portfolio.solving.warm_up import warm_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNSAFE = "The nearest answer found has a row around it that is decided otherwise."


@dataclass(frozen=True)
class Robust(AsJson):
    """The nearest answer that is robust against something.

    Attributes
    ----------
    result : the answer; its proof is about all robust answers
    against : what it is robust against
    share : with :class:`Retraining`, the share of votes (or the probability) that was needed
    rounds : with :class:`Around`, how often the question was solved
    seconds : from the call to the result
    """

    result: Result
    against: Retraining | Around
    share: float | None
    rounds: int
    seconds: float

    @property
    def status(self) -> Status:
        """As of the result. "infeasible": no answer is robust (proved)."""
        return self.result.status

    @property
    def stop_reason(self) -> StopReason:
        """As of the result."""
        return self.result.stop_reason

    @property
    def distance(self) -> float:
        """Of the robust answer, inf without one."""
        return self.result.distance

    @property
    def counterfactual(self) -> Any:
        """The robust answer, shaped like the query; None if none was found."""
        return self.result.counterfactual

    def plot(self) -> "Figure":
        """What each change of the robust answer costs, as :meth:`Result.plot`.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError
            There is no robust answer.
        """
        return self.result.plot()

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        told = self.result.to_dict() | {
            "against": {type(self.against).__name__: vars(self.against)},
            "share": self.share,
            "rounds": self.rounds,
        }
        return dict(as_plain(told))

    def __str__(self) -> str:
        return f"{self.result}\n{self._kept()}" if self.result.row is not None else str(self.result)

    def _kept(self) -> str:
        if isinstance(self.against, Retraining):
            return (
                f"A forest trained anew decides alike with confidence {self.against.confidence:g}: "
                f"at least {self.share:.4g} of the votes."
            )
        told = ", ".join(f"{name} by {radius:g}" for name, radius in self.against.radius)
        return f"Every row that misses it by at most this is decided alike (proved): {told}."


@interruptible
def find_robust(
    asker: Asker,
    x: Any,
    against: Retraining | Around,
    question: Question,
    options: Options,
    on_progress: OnProgress | None = None,
) -> Robust:
    """The nearest answer that is robust."""
    warm_up("walks")
    began = time.perf_counter()
    check_progress(on_progress)
    asker.check_classes()
    row, model = asker.read(x), asker.model
    regression = model.ensemble.regression
    current = None if regression else predict_one(model.ensemble, model.native, row.values)
    if isinstance(against, Retraining):
        if current is None:
            raise InputError("Retraining is for classes; this model is a regressor.")
        asked = stricter(model, question, against, current)
        result = asker.ask(asked, options, row, asker.strategy(asked, options), on_progress)
        share = against.share(int(model.ensemble.root.size))
        return Robust(result, against, share, 1, time.perf_counter() - began)
    if not isinstance(against, Around):
        raise InputError(f"against must be Retraining or Around, got {against!r}.")
    return _safe(asker, row, against, question, options, began, current, on_progress)


def _safe(
    asker: Asker,
    row: Row,
    against: Around,
    question: Question,
    options: Options,
    began: float,
    current: int | None,
    on_progress: OnProgress | None,
) -> Robust:
    def step(seconds: float, rounds: int, lower: float) -> None:
        if on_progress is not None:
            on_progress(seconds, math.inf, lower)

    search = safe_search(asker, row, question, against, options, began, current, step)
    result, safe = search.answer()
    if result.row is not None and not safe:
        result = _without(result, search.doubt, asker.why)
    elif search.doubt:
        result = replace(result, status="unknown", lower_bound=0.0, message=search.doubt)
    else:  # a number a little further has other rows around it
        exact = tuple(replace(change, onward=False) for change in result.changed)
        result = replace(result, changed=exact, rounder=None)
    return Robust(result, against, None, search.rounds, time.perf_counter() - began)


def _without(result: Result, doubt: str, ended: StopReason) -> Result:
    """What is left of an answer that is not known to be safe: its bound."""
    if result.stop_reason != "proved":
        ended = result.stop_reason
    return replace(
        result,
        status="unknown",
        stop_reason="error" if doubt else ended,
        distance=math.inf,
        lower_bound=0.0 if doubt else result.lower_bound,
        verified=False,
        message=doubt or UNSAFE,
        changed=(),
        row=None,
        scoring=None,
        rounder=None,
        regional=None,
    )
