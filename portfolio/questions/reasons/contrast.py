"""Which of the differences between two rows are enough to explain that they are decided apart."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.backends.interface import Status, StopReason
from encoders.errors import InputError
from encoders.query.constraints import Allowed, AllowMissing, Constraint, Fixed
from encoders.query.features import Feature, FeatureSpace, same
from portfolio.as_json import AsJson, as_plain
from portfolio.change import in_short
from portfolio.model.native import predict_one
from portfolio.model.row import Row
from portfolio.question import Options, Question, check_progress
from portfolio.questions.interruptible import interruptible
from portfolio.result import Result
from portfolio.solving.ask import Asker
from portfolio.solving.progress import OnProgress

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Contrast(AsJson):
    """The fewest values of a second row that turn the first one's decision into the second's.

    Attributes
    ----------
    status : "optimal": no fewer are enough (proved); "feasible" and "unknown" as in :class:`Result`
    stop_reason : as in :class:`Result`
    before, after : labels that the model gives the first and the second row
    features : whose values are taken from the second row, in the model's order
    differences : names of all features in which the two rows differ
    lower_bound : so many are needed at least
    result : the first row with these values, confirmed by the model
    """

    status: Status
    stop_reason: StopReason
    before: Any
    after: Any
    features: tuple[str, ...]
    differences: tuple[str, ...]
    lower_bound: int
    result: Result

    @property
    def row(self) -> Any:
        """The first row with the second's values of :attr:`features`; None if none was found."""
        return self.result.counterfactual

    def plot(self) -> "Figure":
        """Which of the differences are enough for the second decision.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError
            No answer was found.
        """
        from portfolio.plots.marks import Line, draw

        taken = {
            c.feature: f"{in_short(c.before)} → {in_short(c.after)}" for c in self.result.changed
        }
        if not taken:
            raise InputError("no answer was found that could be drawn.")
        lines = [Line(name, name in taken, taken.get(name, "")) for name in self.differences]
        return draw(lines, {True: f"enough for {self.after!r}", False: "need not differ"})

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return dict(as_plain(vars(self) | {"result": self.result.to_dict()}))

    def __str__(self) -> str:
        size, all_ = len(self.features), len(self.differences)
        if not self.features:
            return f"Unknown: no answer before the {self.stop_reason}."
        known = f"at least {self.lower_bound} needed"
        sure = "proved: no fewer are" if self.status == "optimal" else known
        head = (
            f"{size} of {all_} difference{'s' if all_ > 1 else ''} "
            f"{'is' if size == 1 else 'are'} enough for {self.after!r} instead of "
            f"{self.before!r} ({sure})."
        )
        lines = [
            f"- {c.feature}: {in_short(c.after)} instead of {in_short(c.before)}"
            for c in self.result.changed
        ]
        return "\n".join([head, *lines])


@interruptible
def find_contrast(
    asker: Asker, x: Any, y: Any, options: Options, on_progress: OnProgress | None = None
) -> Contrast:
    """The fewest differences between two rows that are enough for the second one's decision."""
    check_progress(on_progress)
    model = asker.model
    if model.ensemble.regression:
        raise InputError("a regressor decides nothing; contrast is for classifiers.")
    if model.plausible:
        raise InputError(
            "contrast asks about mixtures of two rows, plausible or not; use an explainer without "
            "plausibility."
        )
    asker.check_classes()
    first, second = asker.read(x), asker.read(y)
    classes = model.native.classes
    before, after = (
        classes[predict_one(model.ensemble, model.native, row.values)] for row in (first, second)
    )
    if before == after:
        raise InputError(
            f"both rows are predicted as {before!r}; give rows that are decided apart."
        )
    _check_known(model.space, first, second)
    space, rules = _between(model.space, first, second)
    mixed = replace(asker, model=replace(model, space=space))
    question = Question(after, 0, "none", None, rules)
    way = mixed.strategy(question, options)
    result = mixed.ask(question, options, first, way, on_progress)
    changed = {change.feature for change in result.changed}
    names = [feature.name for feature in space.features]
    apart = ~same(model.space.values(first.values), model.space.values(second.values))
    return Contrast(
        result.status,
        result.stop_reason,
        before,
        after,
        tuple(name for name in names if name in changed),
        tuple(name for name, differs in zip(names, apart, strict=True) if differs),
        ceil(round(min(result.lower_bound, len(names)), 6)),
        result,
    )


def _check_known(space: FeatureSpace, x: Row, y: Row) -> None:
    """Refuse a category of the second row that answers can't have."""
    ours, theirs = space.values(x.values), space.values(y.values)
    for feature, a, b in zip(space.features, ours, theirs, strict=True):
        if feature.kind == "categorical" and b >= len(feature.labels) and a != b:
            raise InputError(
                f"the second row's {feature.name} has a category that no training row has, which "
                f"no answer may have; use one of these: {feature.describe_values()}."
            )


def _between(space: FeatureSpace, x: Row, y: Row) -> tuple[FeatureSpace, tuple[Constraint, ...]]:
    """The features with two values each, that of either row."""
    ours, theirs = space.values(x.values).tolist(), space.values(y.values).tolist()
    pairs = list(zip(space.features, ours, theirs, strict=True))
    features = tuple(_of_two(feature, a, b) for feature, a, b in pairs)
    rules = [rule for feature, a, b in pairs for rule in _rules(feature, a, b)]
    return FeatureSpace(features, space.columns), tuple(rules)


def _of_two(feature: Feature, a: float, b: float) -> Feature:
    if feature.kind == "categorical":
        return replace(feature, missing_cost=1.0)
    codes = tuple(code for code in feature.codes if code in (a, b))
    values = tuple(sorted({v for v in (a, b) if not np.isnan(feature.without_code(v))}))
    if not values or feature.labels:
        return replace(feature, missing_cost=1.0, codes=codes)
    return replace(
        feature,
        codes=codes,
        kind="ordinal",
        values=values,
        lower=values[0],
        upper=values[-1],
        step=0.0,
        missing_cost=1.0,
    )


def _rules(feature: Feature, a: float, b: float) -> Iterator[Constraint]:
    if a == b or (np.isnan(a) and np.isnan(b)):
        yield Fixed(feature.name)
        return
    if np.isnan(b) or b in feature.codes:
        yield AllowMissing(feature.name)
    if feature.kind == "categorical" or feature.labels:
        yield Allowed(feature.name, [feature.show(v) for v in (a, b)])
