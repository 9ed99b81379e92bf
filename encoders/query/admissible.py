"""What each feature may become: constraints, default actions and bounds, intersected."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import InputError, NothingAdmissibleError
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
LARGEST_PRICE = 1e100  # of having no value; more could overflow


@dataclass(frozen=True)
class ChangeLimit:
    """At most so many of some features change.

    Attributes
    ----------
    count : at least 0
    features : their indices, None for all
    """

    count: int
    features: frozenset[int] | None = None


@dataclass(frozen=True)
class Admissible:
    """What one feature may become, all its constraints intersected.

    Attributes
    ----------
    lower, upper : float
    values : None (no list), or the allowed values; category indices if categorical
    stay : whether the query's own value is admissible
    missing : what it costs to have no value, before the weight; None: it must have one
    cuts : last values before which cells are parted, as relations and codes need it; ascending
    codes : codes for a missing value that are admissible
    code_cost : what it costs to become a code, before the weight; None: what a category costs
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
    """Intersect all constraints, the features' default actions and bounds."""
    per_feature: dict[str, list[FeatureConstraint]] = {f.name: [] for f in space.features}
    limits: list[ChangeLimit] = []
    for constraint in constraints:
        if isinstance(constraint, MaxChanges):
            limits.append(_change_limit(constraint, space))
        elif isinstance(constraint, Relation):
            continue  # of several features: see encoders.query.related
        elif isinstance(constraint, Precedence):
            per_feature[constraint.feature] += _onward(constraint, space, query)
        elif isinstance(constraint, FeatureConstraint):
            if constraint.feature not in per_feature:
                raise InputError(
                    f"{constraint}: there is no feature {constraint.feature!r}; "
                    f"features are {', '.join(per_feature)}."
                )
            per_feature[constraint.feature].append(constraint)
        else:
            raise InputError(
                f"{constraint!r} is not a constraint; use Fixed, Increase, Decrease, Range, "
                "Allowed, AllowMissing, MaxChanges, or a relation such as Linear or Implies."
            )
    admissible = tuple(
        _intersect(feature, float(value), per_feature[feature.name])
        for feature, value in zip(space.features, query, strict=True)
    )
    return admissible, _tightest(limits)


def _onward(rule: Precedence, space: FeatureSpace, query: FloatArray) -> list[FeatureConstraint]:
    """The categories that may follow the query's."""
    index, feature = named_feature(rule.feature, space, rule)
    if feature.kind != "categorical":
        raise InputError(f"{rule}: {rule.feature} has no categories; use Increase or Decrease.")
    order = [parse_value(feature, label, str(rule)) for label in rule.order]
    if len(set(order)) < len(order):
        raise InputError(f"{rule}: a category is listed twice.")
    if query[index] not in order:
        return []
    behind = set(order[: order.index(query[index])])
    labels = [own for at, own in enumerate(feature.labels) if at not in behind]
    missing = [None] if feature.missing else []
    return [Allowed(rule.feature, [*labels, *missing])]


def _change_limit(rule: MaxChanges, space: FeatureSpace) -> ChangeLimit:
    count = rule.count
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise InputError(f"MaxChanges needs a whole number of at least 0, got {count!r}.")
    own = None
    if rule.among is not None:
        own = frozenset(named_feature(name, space, rule)[0] for name in rule.among)
    return ChangeLimit(min(int(count), MAX_CHANGES), own)


def _tightest(limits: list[ChangeLimit]) -> tuple[ChangeLimit, ...]:
    """One limit for each set of features."""
    least: dict[frozenset[int] | None, int] = {}
    for limit in limits:
        least[limit.features] = min(limit.count, least.get(limit.features, limit.count))
    return tuple(ChangeLimit(count, own) for own, count in least.items())


def _intersect(feature: Feature, own: float, given: list[FeatureConstraint]) -> Admissible:
    rules = given + _default_rules(feature)
    kinds = {type(rule) for rule in rules}
    if {Increase, Decrease} <= kinds:
        raise InputError(
            f"contradictory constraints on {feature.name}: Increase and Decrease; "
            "use Fixed to keep it as it is."
        )
    absent = own != own or own in feature.codes
    lower, upper = feature.lower, feature.upper
    if not absent:
        lower, upper = min(lower, own), max(upper, own)
    values: set[float] | None = None
    if feature.kind == "categorical":
        lower, upper = 0.0, float(len(feature.labels) - 1)
        if own > upper:  # a category that training rows do not have; it may stay
            upper = own
    for rule in rules:
        match rule:
            case Increase() | Decrease() | Range() if feature.kind == "categorical":
                raise InputError(f"{rule}: categories have no order; use Fixed or Allowed.")
            case Fixed() | Increase() | Decrease() if absent:
                lower, upper = np.inf, -np.inf  # what is missing has no order: it stays
            case Fixed():
                lower, upper = max(lower, own), min(upper, own)
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
    inside = None
    if values is not None:
        numbers = values.difference(feature.codes)
        inside = tuple(sorted(value for value in numbers if lower <= value <= upper))
    price = None
    if absent or any(isinstance(rule, AllowMissing) for rule in rules):
        price = _missing_price(feature, own, rules, values)
    if absent:
        stay = own != own and price is not None
    else:
        stay = lower <= own <= upper and (inside is None or own in inside)
    result = Admissible(lower, upper, inside, stay, price)
    if feature.codes:
        result = _with_codes(result, feature, own, rules, values)
    none_left = lower > upper or inside == () or not has_value(feature, own, result)
    if none_left and not result.stay and price is None and not result.codes:
        words = ", ".join(str(rule) for rule in rules) or "its bounds"
        raise NothingAdmissibleError(
            f"contradictory constraints on {feature.name}: {words} leave no admissible value "
            f"(now {feature.show(own)}; feature: {feature.describe_values()})."
        )
    return result


def _with_codes(
    admissible: Admissible,
    feature: Feature,
    own: float,
    rules: list[FeatureConstraint],
    values: set[float] | None,
) -> Admissible:
    """Admit codes for a missing value: the query's own, and those that a rule allows."""
    prices = [_price(rule) for rule in rules if isinstance(rule, AllowMissing)]
    asks_for_number = any(isinstance(rule, Range) for rule in rules)
    stays = any(isinstance(rule, Fixed | Increase | Decrease) for rule in rules)
    allowed = () if stays or (values is None and not prices) else feature.codes
    codes = tuple(
        code
        for code in feature.codes
        if (code == own or code in allowed)
        and (values is None or code in values)
        and not asks_for_number
    )
    ends = {end for code in feature.codes for end in (float(np.nextafter(code, -np.inf)), code)}
    return replace(
        admissible,
        stay=admissible.stay or own in codes,
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
    feature: Feature, own: float, rules: list[FeatureConstraint], values: set[float] | None
) -> float | None:
    """What it costs to have no value; None where a rule asks for one, or nothing allows it."""
    given = [rule for rule in rules if isinstance(rule, AllowMissing)]
    if given and feature.codes and not feature.missing:
        return None  # a code says that there is no value
    if given and not feature.missing:
        raise InputError(
            f"{given[0]}: no training row misses {feature.name}; if it may be missing, say so: "
            f"features={{{feature.name!r}: {{'missing': True}}}}."
        )
    if any(isinstance(rule, Range) for rule in rules):
        return None
    if values is not None and not any(map(np.isnan, values)):
        return None
    if np.isnan(own):
        return 0.0
    if not given or any(isinstance(rule, Fixed | Increase | Decrease) for rule in rules):
        return None
    return min(_price(rule) for rule in given)


def _price(rule: AllowMissing) -> float:
    number = isinstance(rule.cost, int | float | np.number) and not isinstance(rule.cost, bool)
    if not (number and 0 <= rule.cost <= LARGEST_PRICE):
        raise InputError(f"{rule}: the cost must be a number from 0 to {LARGEST_PRICE:g}.")
    return float(rule.cost)


def has_value(feature: Feature, own: float, admissible: Admissible) -> bool:
    """Whether any admissible level is left, for features that have levels."""
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
