"""Sufficient reasons (abductive explanations): features that alone determine a prediction."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.backends.interface import Status, StopReason
from encoders.backends.stopping import why
from encoders.core.errors import InputError
from encoders.query.features import FeatureSpace
from portfolio.engine.ask import Asker
from portfolio.engine.interruptible import interruptible
from portfolio.engine.progress import OnProgress
from portfolio.engine.question import check_progress
from portfolio.engine.warm_up import warm_up
from portfolio.model.row import Row
from portfolio.questions.decision import Decision, decision_of
from portfolio.questions.every_row import every_row
from portfolio.questions.feature_order import feature_order
from portfolio.questions.flips import pose_flips
from portfolio.questions.reasons.reason_search import Search
from portfolio.questions.records import ReasonsQuestion
from portfolio.results.change import in_short
from portfolio.results.codec import AsJson, by_name, member
from portfolio.results.printing import wrapped
from portfolio.results.rows import Values

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Reasons(AsJson):
    """Features whose values alone determine the prediction of a row.

    Attributes
    ----------
    status : {"optimal", "feasible"}
        "optimal" if it is proved that the features are sufficient and that none can be left out
        (with ``smallest``: that no smaller set is sufficient). "feasible" if only the former is
        proved.
    stop_reason : str
        "proved", "time_limit", "interrupted" or "error".
    label : label or goal
        Predicted class, or the goal in question.
    holds : bool
        Whether the row is of this class, or reaches the goal.
    features : tuple of str
        Names of the features in the model's order; empty if all rows have the same prediction.
    values : mapping of str to object
        Values of the row, by the name of the feature.
    smallest : bool
        Whether a set with the fewest features was requested.
    lower_bound : int
        Proved minimum for the number of features.
    seconds : float
        Time from the call to the result.
    message : str
        Reason why the result is weaker than a proof, or "".
    flips : mapping of str to row
        For features of the set: a row with a different prediction that has the values of all the
        other features of the set. It is verified by the model and shaped like the query.

    Examples
    --------
    >>> reasons = explainer.reasons(row, smallest=True)
    >>> reasons.features
    ('age', 'income', 'housing')
    >>> reasons.values["income"]
    19.207
    """

    status: Status
    stop_reason: StopReason
    label: Any
    holds: bool
    features: tuple[str, ...]
    values: Mapping[str, Any]
    smallest: bool
    lower_bound: int
    seconds: float
    message: str = ""
    flips: Mapping[str, Any] = field(
        default_factory=dict,
        repr=False,
        compare=False,
        metadata=member(
            write=lambda flips: {name: by_name(row) for name, row in flips.items()},
            hint=Mapping[str, Values],
        ),
    )

    @property
    def size(self) -> int:
        """Number of features."""
        return len(self.features)

    def plot(self) -> "Figure":
        """Draw the sufficient features with their values.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; save it with ``figure.savefig(path)``.

        Examples
        --------
        >>> figure = explainer.reasons(row).plot()
        >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
        ['age', 'income', 'housing', 'others']
        """
        from portfolio.results.plots.marks import Line, draw

        lines = [Line(name, True, f"= {in_short(self.values[name])}") for name in self.features]
        words = Decision(self.label, self.holds, ()).words()
        meaning: dict[bool | None, str] = {True: f"together sufficient for {words}"}
        meaning[False] = "any value"
        return draw([*lines, Line("others" if lines else "all", False)], meaning)

    def __str__(self) -> str:
        lines = [self._headline()]
        lines += [f"- {name} = {in_short(self.values[name])}" for name in self.features]
        return wrapped(lines)

    def _headline(self) -> str:
        label = Decision(self.label, self.holds, ()).words()
        message = f" {self.message}" if self.message else ""
        if not self.features:
            return f"No feature is needed: all rows have the prediction {label} (proved).{message}"
        count = "1 feature is" if self.size == 1 else f"{self.size} features are"
        words = f"{count} sufficient for {label}"
        if self.status == "optimal":
            least = "no smaller set is" if self.smallest else "none can be left out"
            if self.size == 1 and not self.smallest:
                least = "it cannot be left out"
            return f"{words} (proved; {least}).{message}"
        needed = f"at least {self.lower_bound} {'is' if self.lower_bound == 1 else 'are'} needed"
        return f"{words} (proved; {needed}, perhaps not all).{message}"


@interruptible
def find_reasons(
    asker: Asker, x: Any, question: ReasonsQuestion, on_progress: OnProgress | None = None
) -> Reasons:
    """Find a set of features that alone determine the prediction of a row."""
    options = question.options
    asker = every_row(asker, also=True)
    warm_up("walks")
    check_progress(on_progress)
    began = time.perf_counter()
    asker.check_classes()
    model = asker.model
    if model.also and model.plausible:
        raise InputError(
            "reasons() cannot combine further models (also=) with plausibility. Use an Explainer "
            "without plausibility."
        )
    row = asker.read(x)
    turn = np.array(feature_order(question.order, model.space), dtype=np.int64)
    decision = decision_of(model, row, question.target)
    request = asker.request(options)
    flips = pose_flips(asker, row, decision.others, request, began + request.time_limit_s)
    search = Search(flips, len(model.space.features), began, on_progress)
    search.delete(turn)
    if question.smallest and search.settled:
        search.shrink(asker)
    search.show()
    search.confirm()
    return _answer(search, row, model.space, decision, question.smallest, began)


def _answer(
    search: Search, row: Row, space: FeatureSpace, decision: Decision, smallest: bool, began: float
) -> Reasons:
    free = np.zeros_like(search.free) if search.doubt else search.free
    values = space.values(row.values)
    inside = [i for i, kept in enumerate(~free) if kept]
    names = {i: space.features[i].name for i in inside}
    stopped: StopReason = why(search.flips.request)
    return Reasons(
        status="optimal" if search.proved else "feasible",
        stop_reason="proved" if search.proved else "error" if search.doubt else stopped,
        label=decision.label,
        holds=decision.holds,
        features=tuple(names.values()),
        values={names[i]: space.features[i].show(float(values[i])) for i in inside},
        smallest=smallest,
        lower_bound=len(inside) if search.proved and smallest else search.lower,
        seconds=time.perf_counter() - began,
        message=search.doubt,
        flips={
            names[i]: row.holding(search.witness[i].row).given()
            for i in inside
            if i in search.witness
        },
    )
