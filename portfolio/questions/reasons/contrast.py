"""Contrastive explanations: the fewest differences between two rows that change the prediction."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.backends.interface import Status, StopReason
from encoders.core.errors import InputError
from encoders.query.constraints import Allowed, AllowMissing, Constraint, Fixed
from encoders.query.features import Feature, FeatureSpace, same
from portfolio.engine.ask import Asker
from portfolio.engine.interruptible import interruptible
from portfolio.engine.progress import OnProgress
from portfolio.engine.question import Question, check_progress
from portfolio.model.native import predict_one
from portfolio.model.row import Row
from portfolio.questions.every_row import every_row
from portfolio.questions.records import ContrastQuestion
from portfolio.results.change import in_short
from portfolio.results.codec import AsJson
from portfolio.results.printing import counted, wrapped
from portfolio.results.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Contrast(AsJson):
    """Fewest values of a second row that give the first row the prediction of the second.

    Attributes
    ----------
    status : {"optimal", "feasible", "unknown"}
        "optimal" if no fewer values are enough (proved); otherwise as in :class:`Result`.
    stop_reason : str
        Reason why the search ended, as in :class:`Result`.
    before, after : label
        Classes predicted for the first and the second row.
    features : tuple of str
        Names of the features whose values are copied, in the model's order.
    differences : tuple of str
        Names of all features in which the rows differ.
    lower_bound : int
        Proved minimum for the number of copied values.
    result : Result
        First row with these values, verified by the model.

    Examples
    --------
    >>> granted = X_train[model.predict(X_train) == "granted"].iloc[0]
    >>> contrast = explainer.contrast(row, granted)
    >>> contrast.features, contrast.after
    (('housing',), 'granted')
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
        """The first row with the copied values of :attr:`features`; None if none was found."""
        return self.result.counterfactual

    def plot(self) -> "Figure":
        """Draw all differences and mark those that are enough for the second prediction.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; save it with ``figure.savefig(path)``.

        Raises
        ------
        InputError
            If no answer was found.

        Examples
        --------
        >>> granted = X_train[model.predict(X_train) == "granted"].iloc[0]
        >>> figure = explainer.contrast(row, granted).plot()
        >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
        ['age', 'income', 'rooms', 'housing']
        """
        from portfolio.results.plots.marks import Line, draw

        copied = {
            c.feature: f"{in_short(c.before)} → {in_short(c.after)}" for c in self.result.changed
        }
        if not copied:
            raise InputError("cannot draw the contrast: no answer was found. Check status first.")
        lines = [Line(name, name in copied, copied.get(name, "")) for name in self.differences]
        return draw(lines, {True: f"enough for {self.after!r}", False: "not needed"})

    def __str__(self) -> str:
        size, all_ = len(self.features), len(self.differences)
        if not self.features:
            return f"Unknown: no answer found (stop reason: {self.stop_reason})."
        needed = f"at least {self.lower_bound} needed"
        sure = "proved: no fewer do" if self.status == "optimal" else needed
        head = (
            f"{size} of {counted(all_, 'difference')} turn{'s' if size == 1 else ''} "
            f"{self.before!r} into {self.after!r} ({sure})."
        )
        lines = [
            f"- {c.feature}: {in_short(c.after)} instead of {in_short(c.before)}"
            for c in self.result.changed
        ]
        return wrapped([head, *lines])


@interruptible
def find_contrast(
    asker: Asker, x: Any, question: ContrastQuestion, on_progress: OnProgress | None = None
) -> Contrast:
    """Find the fewest differences that are enough for the second row's prediction."""
    options = question.options
    asker = every_row(asker)
    check_progress(on_progress)
    model = asker.model
    if model.ensemble.regression:
        name = type(model.native.model).__name__
        raise InputError(
            f"contrast() supports classifiers only, got {name}. Use explain() or front() to "
            "compare predictions of a regressor."
        )
    if model.plausible:
        raise InputError(
            "contrast() mixes the values of two rows and ignores plausibility. Use an Explainer "
            "without plausibility."
        )
    asker.check_classes()
    first, second = asker.read(x), asker.read(question.y)
    classes = model.native.classes
    before, after = (
        classes[predict_one(model.ensemble, model.native, row.values)] for row in (first, second)
    )
    if before == after:
        raise InputError(
            f"both rows are predicted as {before!r}. Give two rows with different predictions."
        )
    _check_known(model.space, first, second)
    space, rules = _between(model.space, first, second)
    mixed = replace(asker, model=replace(model, space=space))
    settings = Question(after, 0, "none", None, rules)
    way = mixed.strategy(settings, options)
    result = mixed.ask(settings, options, first, way, on_progress)
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
    """Raise InputError if the second row has a category that counterfactuals cannot have."""
    ours, theirs = space.values(x.values), space.values(y.values)
    for feature, a, b in zip(space.features, ours, theirs, strict=True):
        if feature.kind == "categorical" and b >= len(feature.labels) and a != b:
            raise InputError(
                f"{feature.name} of the second row is a category that the training data does not "
                "contain, so no counterfactual can have it. Use one of "
                f"{feature.describe_values()}."
            )


def _between(space: FeatureSpace, x: Row, y: Row) -> tuple[FeatureSpace, tuple[Constraint, ...]]:
    """Return the space in which each feature has two values, and constraints that ensure it."""
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
