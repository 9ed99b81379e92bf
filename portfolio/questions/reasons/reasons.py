"""A smallest set of features that alone decide a row: a sufficient reason."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.arrays import IntArray
from encoders.backends.interface import Status, StopReason
from encoders.backends.stopping import why
from encoders.errors import InputError
from encoders.query.features import FeatureSpace
from encoders.query.names import feature_name
from portfolio.as_json import AsJson, as_plain, by_name
from portfolio.change import in_short
from portfolio.model.row import Row
from portfolio.question import Options, check_progress
from portfolio.questions.decision import Decision, decision_of
from portfolio.questions.flips import pose_flips
from portfolio.questions.interruptible import interruptible
from portfolio.questions.reasons.reason_search import Search
from portfolio.solving.ask import Asker
from portfolio.solving.progress import OnProgress
from portfolio.solving.warm_up import warm_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Reasons(AsJson):
    """Features that alone decide a row: as long as they keep its values, so does the decision.

    Attributes
    ----------
    status : "optimal": it is proved that the features suffice, and that none of them can be left
        out, or with ``smallest`` that no fewer suffice. "feasible": they suffice, and the rest is
        not proved
    stop_reason : "proved", "time_limit", "interrupted" or "error"
    label : the class that the model decides for, or the goal that was asked about
    holds : whether the row is of that class, or reaches the goal
    features : their names, in the model's order; none where every row is decided alike
    values : of the row, by name
    smallest : whether the fewest were asked for
    lower_bound : no set of fewer features suffices
    flips : for each of the features a row that is decided otherwise, keeps the values of all the
        others of the reason, and was confirmed by the model itself; shaped like the query
    seconds : from the call to the result
    message : why it is weaker than a proof, "" if it is not
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
    flips: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def size(self) -> int:
        """How many features there are."""
        return len(self.features)

    def plot(self) -> "Figure":
        """The features that decide, with the values that they keep.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from portfolio.plots.marks import Line, draw

        lines = [Line(name, True, f"= {in_short(self.values[name])}") for name in self.features]
        words = Decision(self.label, self.holds, ()).words()
        meaning: dict[bool | None, str] = {True: f"together enough for {words}"}
        meaning[False] = "may be anything"
        return draw([*lines, Line("others" if lines else "all", False)], meaning)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        told = {name: value for name, value in vars(self).items() if name != "flips"}
        told["flips"] = {name: by_name(row) for name, row in self.flips.items()}
        return dict(as_plain(told))

    def __str__(self) -> str:
        lines = [self._headline()]
        lines += [f"- {name} = {in_short(self.values[name])}" for name in self.features]
        return "\n".join(lines)

    def _headline(self) -> str:
        decided = Decision(self.label, self.holds, ()).words()
        why_not = f" {self.message}" if self.message else ""
        if not self.features:
            return f"No feature is needed: every row is decided as {decided} (proved).{why_not}"
        one = self.size == 1
        words = "This feature alone decides" if one else f"These {self.size} features alone decide"
        if self.status == "optimal":
            least = "no fewer suffice" if self.smallest else "none can be left out"
            return f"{words} for {decided} (proved, and {least}).{why_not}"
        known = f"at least {self.lower_bound} {'is' if self.lower_bound == 1 else 'are'} needed"
        return f"{words} for {decided} (proved; {known}, maybe not all of them).{why_not}"


@interruptible
def find_reasons(
    asker: Asker,
    x: Any,
    target: Any,
    smallest: bool,
    order: Sequence[str] | None,
    options: Options,
    on_progress: OnProgress | None = None,
) -> Reasons:
    """A set of features that alone decide a row."""
    warm_up("walks")
    check_progress(on_progress)
    began = time.perf_counter()
    asker.check_classes()
    model = asker.model
    if model.also and model.plausible:
        raise InputError(
            "reasons under several models are about every row, plausible or not; use an explainer "
            "without plausibility."
        )
    row = asker.read(x)
    turn = _order(order, model.space)
    decision = decision_of(model, row, target)
    request = asker.request(options)
    flips = pose_flips(asker, row, decision.others, request, began + request.time_limit_s)
    search = Search(flips, len(model.space.features), began, on_progress)
    search.delete(turn)
    if smallest and search.settled:
        search.shrink(asker)
    search.show()
    search.confirm()
    return _told(search, row, model.space, decision, smallest, began)


def _order(order: Sequence[str] | None, space: FeatureSpace) -> IntArray:
    """Indices of features in the order in which they are dropped."""
    known = [feature.name for feature in space.features]
    if isinstance(order, str) or not isinstance(order, Sequence | None):
        raise InputError(f"order must be a list of features, got {order!r}.")
    first = [feature_name(name) for name in order or ()]
    for name in first:
        if name not in known or first.count(name) > 1:
            raise InputError(
                f"order names {name!r}, which is no feature, or twice; "
                f"features are {', '.join(known)}."
            )
    return np.array([known.index(name) for name in first + [n for n in known if n not in first]])


def _told(
    found: Search, row: Row, space: FeatureSpace, decision: Decision, smallest: bool, began: float
) -> Reasons:
    free = np.zeros_like(found.free) if found.doubt else found.free
    values = space.values(row.values)
    inside = [i for i, kept in enumerate(~free) if kept]
    names = {i: space.features[i].name for i in inside}
    stopped: StopReason = why(found.flips.request)
    return Reasons(
        status="optimal" if found.proved else "feasible",
        stop_reason="proved" if found.proved else "error" if found.doubt else stopped,
        label=decision.label,
        holds=decision.holds,
        features=tuple(names.values()),
        values={names[i]: space.features[i].show(float(values[i])) for i in inside},
        smallest=smallest,
        lower_bound=len(inside) if found.proved and smallest else found.lower,
        seconds=time.perf_counter() - began,
        message=found.doubt,
        flips={
            names[i]: row.holding(found.witness[i].row).given()
            for i in inside
            if i in found.witness
        },
    )
