"""Cheapest counterfactuals for each way in which one feature may change."""

import math
from dataclasses import dataclass, field
from typing import Any

from encoders.backends.interface import Status, StopReason
from encoders.core.close_names import close_names
from encoders.core.errors import InputError, NothingAdmissibleError
from encoders.query.constraints import Allowed, AllowMissing, Constraint, Fixed, Range
from encoders.query.features import Feature
from portfolio.engine.ask import Asker
from portfolio.engine.interruptible import interruptible
from portfolio.engine.progress import OnProgress
from portfolio.engine.question import check_progress
from portfolio.engine.series import Series
from portfolio.questions.records import AlternativesQuestion
from portfolio.results.codec import FLAT, AsJson
from portfolio.results.printing import at_least, short, wrapped
from portfolio.results.result import Result


@dataclass(frozen=True)
class Alternative:
    """Cheapest counterfactual in which the feature changes in one way.

    Attributes
    ----------
    way : str
        "stays", "increases", "decreases", "becomes missing" or "becomes" with a value.
    result : Result
        The counterfactual; "infeasible" if there is none (proved).

    Examples
    --------
    >>> ways = explainer.alternatives_of(row, "housing").ways
    >>> [each.way for each in ways]
    ['stays', "becomes 'own'", "becomes 'rent'"]
    """

    way: str
    result: Result = field(metadata=FLAT)


@dataclass(frozen=True)
class Alternatives(AsJson):
    """Cheapest counterfactual for each way in which one feature may change.

    Attributes
    ----------
    feature : str
        Name of the feature.
    status : {"optimal", "feasible", "infeasible", "unknown"}
        "optimal" if all ways are proved. "feasible" if some are not. "infeasible" if no way has a
        counterfactual (proved). "unknown" if none was found.
    stop_reason : str
        "proved", or the reason why the first unproved way is not proved.
    ways : tuple of Alternative
        Ways that were solved, in the order of the values.
    seconds : float
        Time from the call to the last answer.

    Examples
    --------
    >>> print(explainer.alternatives_of(row, "income"))
    income stays: distance 0.9412 (proved), changing age.
    income increases: distance 0.1038 (proved), changing income.
    income decreases: distance 0.9412 (proved), changing age, income.
    """

    feature: str
    status: Status
    stop_reason: StopReason
    ways: tuple[Alternative, ...]
    seconds: float

    @property
    def cheapest(self) -> Alternative | None:
        """Way with the cheapest counterfactual, None if none has one."""
        reached = [each for each in self.ways if each.result.row is not None]
        return min(reached, key=lambda each: each.result.distance, default=None)

    def __str__(self) -> str:
        lines = [_sentence(self.feature, each) for each in self.ways]
        if not lines:
            return f"Unknown: no way was solved (stop reason: {self.stop_reason})."
        return wrapped(lines)


def _sentence(feature: str, alternative: Alternative) -> str:
    words, result = f"{feature} {alternative.way}", alternative.result
    if result.status == "infeasible":
        return f"{words}: no counterfactual exists (proved)."
    if result.row is None:
        return f"{words}: none found; the distance is at least {at_least(result.lower_bound)}."
    proof = "proved" if result.status == "optimal" else "not proved"
    names = ", ".join(change.feature for change in result.changed) or "nothing"
    return f"{words}: distance {short(result.distance)} ({proof}), changing {names}."


@interruptible
def find_alternatives(
    asker: Asker, x: Any, question: AlternativesQuestion, on_progress: OnProgress | None = None
) -> Alternatives:
    """Solve the question once for each way in which the feature may change."""
    check_progress(on_progress)
    space, settings = asker.model.space, question.settings
    names = [feature.name for feature in space.features]
    if question.feature not in names:
        raise InputError(
            f"alternatives_of: unknown feature {question.feature!r}."
            f"{close_names(question.feature, names)} Use one of {', '.join(map(str, names))}."
        )
    at = names.index(question.feature)
    series = Series(asker, asker.read(x), settings, question.options, on_progress=on_progress)
    feature, value = space.features[at], float(space.values(series.row.values)[at])
    emptied = any(
        isinstance(each, AllowMissing) and each.feature == feature.name
        for each in settings.constraints
    )
    ways: list[Alternative] = []
    complete, conflict = True, None
    for way, constraint in ways_of(feature, value, emptied):
        if series.over:
            complete = False
            break
        try:
            ways.append(Alternative(way, series.ask([constraint])))
        except NothingAdmissibleError as error:  # the feature cannot change in this way
            conflict = error
    if conflict is not None and complete and not ways:
        raise conflict
    status, reason = series.summary([each.result for each in ways], complete)
    return Alternatives(feature.name, status, reason, tuple(ways), series.seconds)


def ways_of(feature: Feature, value: float, emptied: bool) -> list[tuple[str, Constraint]]:
    """Return the ways in which a feature may change from a value, each with its constraint."""
    name, coded = feature.name, math.isnan(value) or value in feature.codes
    ways: list[tuple[str, Constraint]] = [("stays", Fixed(name))]
    if feature.kind == "categorical":
        labels = [label for at, label in enumerate(feature.labels) if at != value]
        ways += [(f"becomes {label!r}", Allowed(name, (label,))) for label in labels]
    elif feature.kind == "binary" and not feature.codes:
        others = [feature.show(each) for each in feature.values if each != value]
        ways += [(f"becomes {label!r}", Allowed(name, (label,))) for label in others]
    elif coded:
        ways.append(("becomes a number", Range(name)))
    else:
        ways.append(("increases", Range(name, math.nextafter(value, math.inf))))
        ways.append(("decreases", Range(name, upper=math.nextafter(value, -math.inf))))
    if emptied:
        ways += [
            (f"becomes {code:g}", Allowed(name, (code,))) for code in feature.codes if code != value
        ]
        if feature.missing and not math.isnan(value):
            ways.append(("becomes missing", Allowed(name, (None,))))
    return ways
