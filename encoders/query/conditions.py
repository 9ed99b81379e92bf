"""What can be said of one feature of an answer; relations between features are made of these."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from encoders.arrays import BoolArray, FloatArray
from encoders.errors import InputError
from encoders.query.features import Feature, FeatureSpace, parse_value
from encoders.query.names import OfFeature, feature_name


@dataclass(frozen=True)
class Changes(OfFeature):
    """The feature differs from the query.

    Attributes
    ----------
    feature : its name
    """

    feature: str


@dataclass(frozen=True)
class Stays(OfFeature):
    """The feature keeps the query's value.

    Attributes
    ----------
    feature : its name
    """

    feature: str


@dataclass(frozen=True)
class Rises(OfFeature):
    """The feature is above the query's value (numeric, ordinal, binary).

    Attributes
    ----------
    feature : its name
    by : at least so much; 0: at all
    """

    feature: str
    by: float = 0.0


@dataclass(frozen=True)
class Falls(OfFeature):
    """The feature is below the query's value (numeric, ordinal, binary).

    Attributes
    ----------
    feature : its name
    by : at least so much; 0: at all
    """

    feature: str
    by: float = 0.0


@dataclass(frozen=True)
class Within(OfFeature):
    """The feature lies in [lower, upper] (numeric, ordinal, binary).

    Attributes
    ----------
    feature : its name
    lower, upper : in the feature's own unit
    missing : bool, whether a missing value passes, too
    codes : tuple of float, codes for a missing value that pass, too; other codes do not
    """

    feature: str
    lower: float = -np.inf
    upper: float = np.inf
    missing: bool = field(default=False, metadata={"fingerprint": "given"})
    codes: tuple[float, ...] = field(default=(), metadata={"fingerprint": "given"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.codes, str) or not isinstance(self.codes, Iterable):
            raise InputError(f"Within takes a list of codes, got codes={self.codes!r}.")
        object.__setattr__(self, "codes", tuple(self.codes))


@dataclass(frozen=True)
class Becomes:
    """The feature has one of these values, changed or not.

    Parameters
    ----------
    feature : its name
    *values : numbers or labels, at least one
    """

    feature: str
    values: tuple[object, ...]

    def __init__(self, feature: str, *values: object) -> None:
        object.__setattr__(self, "feature", feature_name(feature))
        object.__setattr__(self, "values", values)


Condition = Changes | Stays | Rises | Falls | Within | Becomes
CONDITIONS = "Changes, Stays, Rises, Falls, Within or Becomes"


@dataclass(frozen=True)
class Test:
    """A condition on one row: its feature lies in one of some intervals, or in none of them.

    Attributes
    ----------
    index : of the feature
    intervals : of numbers, ends included; of indices of categories
    inside : whether it lies in one, or in none
    missing : whether a missing value passes
    """

    __test__ = False  # not one of pytest's

    index: int
    intervals: tuple[tuple[float, float], ...]
    inside: bool = True
    missing: bool = False

    def passes(self, values: FloatArray) -> BoolArray:
        """Which values pass, bool of their shape."""
        held = np.zeros(values.shape, dtype=np.bool_)
        for low, high in self.intervals:
            held |= (low <= values) & (values <= high)
        return np.where(np.isnan(values), self.missing, held == self.inside)

    def may_pass(self, one: float, other: float) -> bool:
        """Return whether any value between two passes."""
        low, high = min(one, other), max(one, other)
        inside = [cut for cut in self.cuts() if low <= cut <= high]
        after = [value for value in map(_next, inside) if value <= high]
        return bool(self.passes(np.array([low, high, *inside, *after])).any())

    def negated(self) -> "Test":
        """What passes where this does not."""
        return replace(self, inside=not self.inside, missing=not self.missing)

    def cuts(self) -> set[float]:
        """Last values before which, and after which, it may pass: no cell may go across them."""
        ends = {float(np.nextafter(low, -np.inf)) for low, _ in self.intervals}
        ends |= {high for _, high in self.intervals}
        return {end for end in ends if np.isfinite(end)}


def _next(value: float) -> float:
    return float(np.nextafter(value, np.inf))


def written(value: float) -> Fraction:
    """The decimal number that a float64 is written as, exactly: 0.1 is one tenth."""
    return Fraction(repr(float(value)))


def bind_condition(condition: object, space: FeatureSpace, before: FloatArray) -> Test:
    """A condition about one row."""
    if not isinstance(condition, Condition):
        raise InputError(f"{condition!r} is not a condition; use {CONDITIONS}.")
    index, feature = named_feature(condition.feature, space, condition)
    own = float(before[index])
    if isinstance(condition, Rises | Falls | Within) and feature.kind == "categorical":
        raise InputError(f"{condition}: categories have no order; use Becomes or Changes.")
    match condition:
        case Stays() | Changes():
            stays = Test(index, ((own, own),) if own == own else (), missing=own != own)
            return stays if isinstance(condition, Stays) else stays.negated()
        case Rises() | Falls():
            return _moved(condition, index, own, feature)
        case Within():
            low, high = _numbers(condition, condition.lower, condition.upper)
            if not isinstance(condition.missing, bool):
                raise InputError(
                    f"{condition}: missing is {condition.missing!r}; use True or False."
                )
            numbers = _without_codes((low, high), feature)
            for code in condition.codes:
                first, last = _numbers(condition, code, code)
                numbers.append((first, last))
            return Test(index, tuple(numbers), missing=condition.missing)
        case Becomes():
            return _becomes(condition, index, feature)


def named_feature(name: object, space: FeatureSpace, where: object) -> tuple[int, Feature]:
    """A feature and its index."""
    for index, feature in enumerate(space.features):
        if feature.name == name:
            return index, feature
    names = ", ".join(feature.name for feature in space.features)
    raise InputError(f"{where}: there is no feature {name!r}; features are {names}.")


def _without_codes(interval: tuple[float, float], feature: Feature) -> list[tuple[float, float]]:
    """Return the parts of an interval between codes for a missing value."""
    parts = [interval]
    for code in feature.codes:
        low, high = parts[-1]
        if low <= code <= high:
            below, above = float(np.nextafter(code, -np.inf)), _next(code)
            parts[-1:] = [(low, below), (above, high)]
    return [(low, high) for low, high in parts if low <= high]


def _moved(condition: Rises | Falls, index: int, own: float, feature: Feature) -> Test:
    """Above or below the query's value, by so much in decimal numbers."""
    (by,) = _numbers(condition, condition.by)
    if not 0 <= by < np.inf:
        raise InputError(f"{condition}: by must be 0 or a number above it.")
    if own != own or own in feature.codes:
        return Test(index, ())  # what is missing has no order
    way = np.inf if isinstance(condition, Rises) else -np.inf
    sign = 1 if way > 0 else -1
    end = float(np.nextafter(own, way))
    if by > 0:
        needed = written(own) + sign * written(by)
        end = float(np.nextafter(np.nextafter(float(needed), -way), -way))
        while sign * (written(end) - needed) < 0:
            end = float(np.nextafter(end, way))
    interval = (end, np.inf) if way > 0 else (-np.inf, end)
    return Test(index, tuple(_without_codes(interval, feature)))


def _becomes(condition: Becomes, index: int, feature: Feature) -> Test:
    if not condition.values:
        raise InputError(f"{condition}: give at least one value.")
    values = [parse_value(feature, value, str(condition)) for value in condition.values]
    present = tuple(sorted((v, v) for v in set(values) if v == v))
    return Test(index, present, missing=any(v != v for v in values))


def _numbers(condition: object, *values: object) -> tuple[float, ...]:
    numbers = []
    for value in values:
        fits = isinstance(value, int | float | np.integer | np.floating)
        if not fits or isinstance(value, bool) or value != value:
            raise InputError(f"{condition}: {value!r} is no number.")
        numbers.append(float(value))  # type: ignore[arg-type]
    if len(numbers) == 2 and numbers[0] > numbers[1]:
        raise InputError(f"{condition}: lower must not exceed upper.")
    return tuple(numbers)


def listed_conditions(conditions: object, where: str) -> tuple[object, ...]:
    """Conditions as a tuple."""
    several = isinstance(conditions, Iterable) and not isinstance(conditions, str)
    found = tuple(conditions) if several else (conditions,)  # type: ignore[arg-type]
    if not found:
        raise InputError(f"{where}: give at least one condition.")
    return found
