"""Counterfactuals that hold if the model is retrained or the row is slightly missed."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from encoders.backends.interface import Status, StopReason
from encoders.core.errors import InputError
from portfolio.engine.ask import Asker
from portfolio.engine.interruptible import interruptible
from portfolio.engine.progress import OnProgress
from portfolio.engine.question import check_progress
from portfolio.engine.warm_up import warm_up
from portfolio.model.row import Row
from portfolio.questions.records import RobustQuestion
from portfolio.questions.robust.nearby import Around, safe_search
from portfolio.questions.robust.retraining import Retraining, stricter
from portfolio.results.codec import FLAT, HIDDEN, AsJson, member
from portfolio.results.printing import wrapped
from portfolio.results.result import Result, without_answer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNSAFE = "The nearest answer found has a row around it that misses the target."


def _against_of(member: Mapping[str, Any]) -> Retraining | Around:
    """Return the variation in the JSON of an answer."""
    ((name, settings),) = member.items()
    return Around(dict(settings["radius"])) if name == "Around" else Retraining(**settings)


@dataclass(frozen=True)
class Robust(AsJson):
    """Nearest counterfactual that withstands a variation of the model or the row.

    Attributes
    ----------
    result : Result
        The counterfactual; its proof covers all robust counterfactuals.
    against : Retraining or Around
        Variation that it withstands.
    share : float or None
        Required share of votes (or probability) with :class:`Retraining`, otherwise None.
    rounds : int
        Number of solves.
    seconds : float
        Time from the call to the result.

    Examples
    --------
    >>> from counterfolio import Retraining
    >>> robust = explainer.explain_robust(row, Retraining(confidence=0.9))
    >>> robust.status, round(robust.share, 2)
    ('optimal', 0.76)
    """

    result: Result = field(metadata=FLAT)
    against: Retraining | Around = field(
        metadata=member(
            write=lambda against: {type(against).__name__: against},
            read=_against_of,
            hint=Mapping[str, Any],
        )
    )
    share: float | None
    rounds: int
    seconds: float = field(default=0.0, metadata=HIDDEN)

    @property
    def status(self) -> Status:
        """Status of the result; "infeasible" if no counterfactual is robust (proved)."""
        return self.result.status

    @property
    def stop_reason(self) -> StopReason:
        """Reason why the search ended, as in :class:`Result`."""
        return self.result.stop_reason

    @property
    def distance(self) -> float:
        """Cost of the robust counterfactual, inf without one."""
        return self.result.distance

    @property
    def counterfactual(self) -> Any:
        """The robust counterfactual, shaped like the query; None if none was found."""
        return self.result.counterfactual

    def plot(self) -> "Figure":
        """Draw the cost of each change, as in :meth:`Result.plot`.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; save it with ``figure.savefig(path)``.

        Raises
        ------
        InputError
            If no robust counterfactual was found.

        Examples
        --------
        >>> from counterfolio import Around
        >>> figure = explainer.explain_robust(row, Around({"income": 0.5})).plot()
        >>> figure.axes[0].get_xlabel()
        'cost'
        """
        return self.result.plot()

    def __str__(self) -> str:
        answer = str(self.result)
        return answer if self.result.row is None else f"{answer}\n{wrapped([self._robustness()])}"

    def _robustness(self) -> str:
        if isinstance(self.against, Retraining):
            return (
                f"A retrained forest agrees with confidence {self.against.confidence:g} "
                f"(share of votes at least {self.share:.4g})."
            )
        radii = ", ".join(f"{name} ± {radius:g}" for name, radius in self.against.radius)
        return f"All rows within {radii} of it reach the target too (proved)."


@interruptible
def find_robust(
    asker: Asker, x: Any, question: RobustQuestion, on_progress: OnProgress | None = None
) -> Robust:
    """Find the nearest robust counterfactual."""
    against = question.against
    settings, options = question.settings, question.options
    warm_up("walks")
    began = time.perf_counter()
    check_progress(on_progress)
    asker.check_classes()
    row, model = asker.read(x), asker.model
    if isinstance(against, Retraining):
        if model.ensemble.regression:
            name = type(model.native.model).__name__
            raise InputError(
                f"Retraining supports classifiers only, got {name}. Use Around for regressors."
            )
        strict = stricter(model, settings, against, row)
        result = asker.ask(strict, options, row, asker.strategy(strict, options), on_progress)
        share = against.share(int(model.ensemble.root.size))
        return Robust(result, against, share, 1, time.perf_counter() - began)
    if not isinstance(against, Around):
        raise InputError(f"against must be Retraining(...) or Around(...), got {against!r}.")
    return _safe(asker, row, question, against, began, on_progress)


def _safe(
    asker: Asker,
    row: Row,
    question: RobustQuestion,
    around: Around,
    began: float,
    on_progress: OnProgress | None,
) -> Robust:
    def step(seconds: float, rounds: int, lower: float) -> None:
        if on_progress is not None:
            on_progress(seconds, math.inf, lower)

    search = safe_search(asker, row, question.settings, around, question.options, began, step)
    result, safe = search.answer()
    if result.row is not None and not safe:
        result = _unsafe(result, search.doubt, asker.why)
    elif search.doubt:
        result = replace(result, status="unknown", lower_bound=0.0, message=search.doubt)
    else:  # "at least" would be wrong: the neighbourhood of a larger number has other rows
        exact = tuple(replace(change, onward=False) for change in result.changed)
        result = replace(result, changed=exact, rounder=None)
    return Robust(result, around, None, search.rounds, time.perf_counter() - began)


def _unsafe(result: Result, doubt: str, ended: StopReason) -> Result:
    """Return the result without an answer that is not proved robust; only its bound remains."""
    if result.stop_reason != "proved":
        ended = result.stop_reason
    return without_answer(
        result,
        0.0 if doubt else result.lower_bound,
        status="unknown",
        stop_reason="error" if doubt else ended,
        message=doubt or UNSAFE,
    )
