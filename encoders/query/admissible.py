"""What each feature may become: constraints, default actions and bounds, intersected."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import InputError
from encoders.query.constraints import (
    Allowed,
    Constraint,
    Decrease,
    FeatureConstraint,
    Fixed,
    Increase,
    MaxChanges,
    Range,
)
from encoders.query.features import Feature, FeatureSpace, parse_value

MAX_CHANGES = 2**31 - 1  # changes; no model has as many columns


@dataclass(frozen=True)
class Admissible:
    """What one feature may become, all its constraints intersected.

    Attributes
    ----------
    lower, upper : float
    values : None (no list), or the allowed values; category indices if categorical
    stay : whether the query's own value is admissible
    """

    lower: float
    upper: float
    values: tuple[float, ...] | None
    stay: bool


def resolve(
    space: FeatureSpace, query: FloatArray, constraints: Sequence[Constraint]
) -> tuple[tuple[Admissible, ...], int | None]:
    """Intersect all constraints, the features' default actions and bounds.

    Parameters
    ----------
    space : the features
    query : float64 (n_features,), as from :meth:`FeatureSpace.values`
    constraints : the user's

    Returns
    -------
    one :class:`Admissible` per feature, and the sparsity bound or None

    Raises
    ------
    InputError
        Unknown feature, or constraints that leave a feature no value (named).
    """
    per_feature: dict[str, list[FeatureConstraint]] = {f.name: [] for f in space.features}
    limit: int | None = None
    for constraint in constraints:
        if isinstance(constraint, MaxChanges):
            limit = _check_count(constraint.count, limit)
        elif isinstance(constraint, FeatureConstraint):
            if not isinstance(constraint.feature, str) or constraint.feature not in per_feature:
                raise InputError(
                    f"{constraint}: there is no feature {constraint.feature!r}; "
                    f"features are {', '.join(per_feature)}."
                )
            per_feature[constraint.feature].append(constraint)
        else:
            raise InputError(
                f"{constraint!r} is not a constraint; use Fixed, Increase, Decrease, Range, "
                "Allowed or MaxChanges."
            )
    admissible = tuple(
        _intersect(feature, float(value), per_feature[feature.name])
        for feature, value in zip(space.features, query, strict=True)
    )
    return admissible, limit


def _check_count(count: int, limit: int | None) -> int:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise InputError(f"MaxChanges needs a whole number of at least 0, got {count!r}.")
    count = min(int(count), MAX_CHANGES)
    return count if limit is None else min(count, limit)


def _intersect(feature: Feature, own: float, given: list[FeatureConstraint]) -> Admissible:
    default = {"fixed": Fixed, "increase": Increase, "decrease": Decrease}.get(feature.action)
    rules = given + ([default(feature.name)] if default else [])
    kinds = {type(rule) for rule in rules}
    if {Increase, Decrease} <= kinds:
        raise InputError(
            f"contradictory constraints on {feature.name}: Increase and Decrease; "
            "use Fixed to keep it as it is."
        )
    lower, upper = min(feature.lower, own), max(feature.upper, own)
    values: set[float] | None = None
    if feature.kind == "categorical":
        lower, upper = 0.0, float(len(feature.columns) - 1)
    for rule in rules:
        match rule:
            case Fixed():
                lower, upper = max(lower, own), min(upper, own)
            case Increase() | Decrease() | Range() if feature.kind == "categorical":
                raise InputError(f"{rule}: categories have no order; use Fixed or Allowed.")
            case Increase():
                lower = max(lower, own)
            case Decrease():
                upper = min(upper, own)
            case Range():
                low, high = _limits(rule)
                lower, upper = max(lower, low), min(upper, high)
            case Allowed():
                allowed = _allowed_values(feature, rule)
                values = allowed if values is None else values & allowed
    inside = None if values is None else tuple(sorted(v for v in values if lower <= v <= upper))
    stay = lower <= own <= upper and (inside is None or own in inside)
    result = Admissible(lower, upper, inside, stay)
    if lower > upper or inside == () or not has_value(feature, own, result):
        words = ", ".join(str(rule) for rule in rules) or "its bounds"
        raise InputError(
            f"contradictory constraints on {feature.name}: {words} leave no admissible value "
            f"(now {feature.show(own)}; feature: {feature.describe_values()})."
        )
    return result


def has_value(feature: Feature, own: float, admissible: Admissible) -> bool:
    """Whether any admissible level is left, for features that have levels.

    Parameters
    ----------
    feature : of any kind
    own : the query's value
    admissible : constraints and bounds, intersected
    """
    if admissible.stay or feature.kind in ("numeric", "categorical"):
        return True
    if feature.values:
        candidates = [v for v in feature.values if admissible.lower <= v <= admissible.upper]
    else:
        first, last = np.ceil(admissible.lower), np.floor(admissible.upper)
        candidates = [first] if first <= last else []
        if admissible.values is not None:
            candidates = [v for v in admissible.values if float(v).is_integer()]
    if admissible.values is not None:
        candidates = [v for v in candidates if v in admissible.values]
    return bool(candidates)


def _limits(rule: Range) -> tuple[float, float]:
    try:
        low, high = float(rule.lower), float(rule.upper)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{rule}: lower and upper must be numbers.") from error
    if not low <= high:
        raise InputError(f"{rule}: lower must not exceed upper.")
    return low, high


def _allowed_values(feature: Feature, rule: Allowed) -> set[float]:
    if not rule.values:
        raise InputError(f"{rule}: the list of allowed values is empty.")
    return {parse_value(feature, value, str(rule)) for value in rule.values}
