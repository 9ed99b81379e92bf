"""Admissible values of each feature: the intersection of constraints, actions and bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError, NothingAdmissibleError
from encoders.query.conditions import named_feature
from encoders.query.constraints import (
    Allowed,
    AllowMissing,
    Constraint,
    Decrease,
    FeatureConstraint,
    Fixed,
    Increase,
    MaxChanges,
    Range,
)
from encoders.query.features import Feature, FeatureSpace, parse_value
from encoders.query.relations import Precedence, Relation

MAX_CHANGES = 2**31 - 1  # changes; no model has as many columns
LARGEST_PRICE = 1e100  # cost of a missing value; sums of larger costs could overflow


@dataclass(frozen=True)
class ChangeLimit:
    """Limit on the number of changed features."""

    count: int  # largest number of changes, at least 0
    features: frozenset[int] | None = None  # indices of the counted features; None for all


@dataclass(frozen=True)
class Admissible:
    """Admissible values of one feature: the intersection of all its constraints.

    Attributes
    ----------
    lower, upper : float, bounds.
    values : tuple of float, allowed values (category indices if categorical); None without a list.
    stay : bool, whether the query's own value is admissible.
    missing : float, cost of a missing value before the weight; None if it may not be missing.
    cuts : tuple of float, ascending last values of cells at which relations and codes split them.
    codes : tuple of float, admissible codes for a missing value.
    code_cost : float, cost of becoming a code before the weight; None for the cost of a category.
    """

    lower: float
    upper: float
    values: tuple[float, ...] | None
    stay: bool
    missing: float | None = None
    cuts: tuple[float, ...] = ()
    codes: tuple[float, ...] = ()
    code_cost: float | None = None


def resolve(
    space: FeatureSpace, query: FloatArray, constraints: Sequence[Constraint]
) -> tuple[tuple[Admissible, ...], tuple[ChangeLimit, ...]]:
    """Return what each feature may become, and the limits on the number of changes."""
    per_feature: dict[str, list[FeatureConstraint]] = {f.name: [] for f in space.features}
    limits: list[ChangeLimit] = []
    for constraint in constraints:
        if isinstance(constraint, MaxChanges):
            limits.append(_change_limit(constraint, space))
        elif isinstance(constraint, Relation):
            continue  # relations of several features: see encoders.query.related
        elif isinstance(constraint, Precedence):
            rules = _onward(constraint, space, query)
            per_feature[constraint.feature] += rules
        elif isinstance(constraint, FeatureConstraint):
            named_feature(constraint.feature, space, constraint)
            per_feature[constraint.feature].append(constraint)
        else:
            raise InputError(
                f"{constraint!r} is not a constraint. Use Fixed, Increase, Decrease, Range, "
                "Allowed, AllowMissing, MaxChanges, or a relation such as Linear or Implies."
            )
    admissible = tuple(
        _intersect(feature, float(value), per_feature[feature.name])
        for feature, value in zip(space.features, query, strict=True)
    )
    return admissible, _tightest(limits)


def _onward(rule: Precedence, space: FeatureSpace, query: FloatArray) -> list[FeatureConstraint]:
    """Return the constraint that allows the categories that may follow the query's."""
    index, feature = named_feature(rule.feature, space, rule)
    if feature.kind != "categorical":
        raise InputError(
            f"{rule}: {rule.feature} is {feature.kind}, not categorical. Use Increase or Decrease."
        )
    order = [parse_value(feature, label, str(rule), query[index]) for label in rule.order]
    if len(set(order)) < len(order):
        raise InputError(f"{rule} lists a category twice. List each category once.")
    if query[index] not in order:
        return []
    earlier = set(order[: order.index(query[index])])
    labels = [label for at, label in enumerate(feature.labels) if at not in earlier]
    missing = [None] if feature.missing else []
    return [Allowed(rule.feature, [*labels, *missing])]


def _change_limit(rule: MaxChanges, space: FeatureSpace) -> ChangeLimit:
    count = rule.count
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise InputError(f"MaxChanges needs a whole number of at least 0, got {count!r}.")
    features = None
    if rule.among is not None:
        features = frozenset(named_feature(name, space, rule)[0] for name in rule.among)
    return ChangeLimit(min(int(count), MAX_CHANGES), features)


def _tightest(limits: list[ChangeLimit]) -> tuple[ChangeLimit, ...]:
    """Return the tightest limit for each set of features."""
    least: dict[frozenset[int] | None, int] = {}
    for limit in limits:
        least[limit.features] = min(limit.count, least.get(limit.features, limit.count))
    return tuple(ChangeLimit(count, features) for features, count in least.items())


def _bounds(feature: Feature, start: float, absent: bool) -> tuple[float, float]:
    """Return the bounds of a feature, within which the query's own value may stay."""
    if feature.kind == "categorical":
        return 0.0, max(len(feature.labels) - 1.0, start)  # it may be one without training rows
    if absent:
        return feature.lower, feature.upper
    return min(feature.lower, start), max(feature.upper, start)


def _check_ways(feature: Feature, rules: list[FeatureConstraint]) -> None:
    """Raise InputError if a feature may neither increase nor decrease."""
    if {Increase, Decrease} <= {type(rule) for rule in rules}:
        raise InputError(
            f"contradictory constraints on {feature.name}: Increase and Decrease. "
            f"Use Fixed({feature.name!r}) to keep its value.",
            "contradiction",
            name=feature.name,
        )


def _intersect(feature: Feature, start: float, constraints: list[FeatureConstraint]) -> Admissible:  # noqa: C901  # one case per type
    rules = constraints + _default_rules(feature)
    _check_ways(feature, rules)
    absent = start != start or start in feature.codes
    lower, upper = _bounds(feature, start, absent)
    values: set[float] | None = None
    for rule in rules:
        match rule:
            case Increase() | Decrease() | Range() if feature.kind == "categorical":
                raise InputError(
                    f"{rule}: {feature.name} is categorical, and categories have no order. "
                    "Use Fixed or Allowed."
                )
            case Fixed() | Increase() | Decrease() if absent:
                lower, upper = np.inf, -np.inf  # a missing value has no order: it stays
            case Fixed():
                lower, upper = max(lower, start), min(upper, start)
            case Increase():
                lower = max(lower, start)
            case Decrease():
                upper = min(upper, start)
            case Range():
                low, high = _limits(rule)
                lower, upper = max(lower, low), min(upper, high)
            case Allowed():
                allowed = _allowed_values(feature, rule, start)
                values = allowed if values is None else values & allowed
            case AllowMissing():
                pass  # it has a price, see below
            case _:
                assert_never(rule)
    inside = None
    if values is not None:
        numbers = values.difference(feature.codes)
        inside = tuple(sorted(value for value in numbers if lower <= value <= upper))
    price = None
    if absent or any(isinstance(rule, AllowMissing) for rule in rules):
        price = _missing_price(feature, start, rules, values)
    if absent:
        stay = start != start and price is not None
    else:
        stay = lower <= start <= upper and (inside is None or start in inside)
    result = Admissible(lower, upper, inside, stay, price)
    if feature.codes:
        result = _with_codes(result, feature, start, rules, values)
    is_empty = lower > upper or inside == () or not has_value(feature, start, result)
    if is_empty and not result.stay and price is None and not result.codes:
        words = ", ".join(str(rule) for rule in rules) or "its bounds"
        raise NothingAdmissibleError(
            f"contradictory constraints on {feature.name}: {words} leave no admissible value "
            f"(query: {feature.show(start)}; feature: {feature.describe_values()}). "
            "Remove or relax one of them.",
            "contradiction",
            name=feature.name,
        )
    return result


def _with_codes(
    admissible: Admissible,
    feature: Feature,
    start: float,
    rules: list[FeatureConstraint],
    values: set[float] | None,
) -> Admissible:
    """Add admissible codes for a missing value: the query's own, and those that a rule allows."""
    prices = [_price(rule) for rule in rules if isinstance(rule, AllowMissing)]
    asks_for_number = any(isinstance(rule, Range) for rule in rules)
    stays = any(isinstance(rule, Fixed | Increase | Decrease) for rule in rules)
    allowed = () if stays or (values is None and not prices) else feature.codes
    codes = tuple(
        code
        for code in feature.codes
        if (code == start or code in allowed)
        and (values is None or code in values)
        and not asks_for_number
    )
    ends = {end for code in feature.codes for end in (float(np.nextafter(code, -np.inf)), code)}
    return replace(
        admissible,
        stay=admissible.stay or start in codes,
        cuts=tuple(sorted(ends)),
        codes=codes,
        code_cost=min(prices, default=None),
    )


def _default_rules(feature: Feature) -> list[FeatureConstraint]:
    match feature.action:
        case "fixed":
            return [Fixed(feature.name)]
        case "increase":
            return [Increase(feature.name)]
        case "decrease":
            return [Decrease(feature.name)]
    return []


def _missing_price(
    feature: Feature, start: float, rules: list[FeatureConstraint], values: set[float] | None
) -> float | None:
    """Return the cost of a missing value; None if the feature must have a value."""
    permissions = [rule for rule in rules if isinstance(rule, AllowMissing)]
    if permissions and feature.codes and not feature.missing:
        return None  # a code stands for a missing value instead
    if permissions and not feature.missing:
        raise InputError(
            f"{permissions[0]}: {feature.name} is missing in no training row. If it may be "
            f"missing, pass features={{{feature.name!r}: {{'missing': True}}}}."
        )
    if any(isinstance(rule, Range) for rule in rules):
        return None
    if values is not None and not any(map(np.isnan, values)):
        return None
    if np.isnan(start):
        return 0.0
    if not permissions or any(isinstance(rule, Fixed | Increase | Decrease) for rule in rules):
        return None
    return min(_price(rule) for rule in permissions)


def _price(rule: AllowMissing) -> float:
    number = isinstance(rule.cost, int | float | np.number) and not isinstance(rule.cost, bool)
    if not (number and 0 <= rule.cost <= LARGEST_PRICE):
        raise InputError(
            f"{rule}: cost must be a number from 0 to {LARGEST_PRICE:g}, got {rule.cost!r}."
        )
    return float(rule.cost)


def has_value(feature: Feature, own: float, admissible: Admissible) -> bool:
    """Return whether a feature with a list of values or whole numbers has an admissible one."""
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
        raise InputError(
            f"{rule}: lower and upper must be numbers, got {rule.lower!r} and {rule.upper!r}."
        ) from error
    if not low <= high:
        raise InputError(
            f"{rule}: lower ({low:g}) is above upper ({high:g}). Swap them.",
            "reversed-range",
            name=rule.feature,
            low=low,
            high=high,
        )
    return low, high


def _allowed_values(feature: Feature, rule: Allowed, start: float) -> set[float]:
    if not rule.values:
        raise InputError(
            f"{rule}: the list of allowed values is empty. Give at least one value.",
            "nothing-allowed",
            name=rule.feature,
        )
    return {parse_value(feature, value, str(rule), start) for value in rule.values}
