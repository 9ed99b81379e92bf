"""Conditions on one feature of a counterfactual, from which relations are built."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray
from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.features import Feature, FeatureSpace, parse_value
from encoders.query.names import OfFeature, feature_name


@dataclass(frozen=True)
class Changes(OfFeature):
    """Condition that a feature differs from the query.

    Attributes
    ----------
    feature : str
        Name of the feature.

    Examples
    --------
    >>> print(Implies(Changes("job"), Rises("income")))
    Implies(if_=Changes(feature='job'), then=Rises(feature='income', by=0.0))
    """

    feature: str


@dataclass(frozen=True)
class Stays(OfFeature):
    """Condition that a feature keeps the query's value.

    Attributes
    ----------
    feature : str
        Name of the feature.

    Examples
    --------
    >>> rule = Implies(Stays("job"), Stays("income"))
    >>> explainer.explain(row, target="granted", constraints=[rule]).status
    'optimal'
    """

    feature: str


@dataclass(frozen=True)
class Rises(OfFeature):
    """Condition that a numeric, ordinal or binary feature is above the query's value.

    Attributes
    ----------
    feature : str
        Name of the feature.
    by : float, default 0.0
        Smallest increase, in the unit of the feature; 0 for any increase.

    Examples
    --------
    >>> rule = Implies(Changes("job"), Rises("age", by=1))
    >>> explainer.explain(row, target="granted", constraints=[rule]).status
    'optimal'
    """

    feature: str
    by: float = 0.0


@dataclass(frozen=True)
class Falls(OfFeature):
    """Condition that a numeric, ordinal or binary feature is below the query's value.

    Attributes
    ----------
    feature : str
        Name of the feature.
    by : float, default 0.0
        Smallest decrease, in the unit of the feature; 0 for any decrease.

    Examples
    --------
    >>> rule = Forbidden(Falls("rooms"), Falls("income"))
    >>> explainer.explain(row, target="granted", constraints=[rule]).status
    'optimal'
    """

    feature: str
    by: float = 0.0


@dataclass(frozen=True)
class Within(OfFeature):
    """Condition that a numeric, ordinal or binary feature lies in [lower, upper].

    Attributes
    ----------
    feature : str
        Name of the feature.
    lower, upper : float, default -inf and inf
        Smallest and largest value, in the unit of the feature.
    missing : bool, default False
        Whether a missing value fulfils the condition, too.
    codes : tuple of float, default ()
        Codes for a missing value that fulfil the condition, too. Other codes do not.

    Raises
    ------
    InputError
        If ``codes`` is not a list.

    Examples
    --------
    >>> rule = Implies(Within("age", upper=25), Stays("rooms"))
    >>> explainer.explain(row, target="granted", constraints=[rule]).status
    'optimal'
    """

    feature: str
    lower: float = -np.inf
    upper: float = np.inf
    missing: bool = False
    codes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.codes, str) or not isinstance(self.codes, Iterable):
            raise InputError(
                f"Within needs a list of codes, got codes={self.codes!r}. "
                f"Write codes=[{self.codes!r}]."
            )
        object.__setattr__(self, "codes", tuple(self.codes))


@dataclass(frozen=True)
class Becomes:
    """Condition that a feature has one of some values, changed or not.

    Parameters
    ----------
    feature : str
        Name of the feature.
    *values : number or label
        Values that fulfil the condition, at least one.

    Examples
    --------
    >>> rule = Implies(Becomes("housing", "own"), Rises("income", by=5))
    >>> explainer.explain(row, target="granted", constraints=[rule]).status
    'optimal'
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
    """Condition bound to one row: a feature lies in one of several intervals, or in none.

    Attributes
    ----------
    index : int, index of the feature.
    intervals : pairs of float, closed intervals of numbers or of category indices.
    inside : bool, True if the value must lie in an interval, False if it must lie in none.
    missing : bool, whether a missing value passes.
    """

    __test__ = False  # keeps pytest from collecting the class

    index: int
    intervals: tuple[tuple[float, float], ...]
    inside: bool = True
    missing: bool = False

    def passes(self, values: FloatArray) -> BoolArray:
        """Return which values pass, bool of the same shape."""
        covered = np.zeros(values.shape, dtype=np.bool_)
        for low, high in self.intervals:
            covered |= (low <= values) & (values <= high)
        return np.where(np.isnan(values), self.missing, covered == self.inside)

    def may_pass(self, one: float, other: float) -> bool:
        """Return whether any value between two values passes."""
        low, high = min(one, other), max(one, other)
        inside = [cut for cut in self.cuts() if low <= cut <= high]
        after = [value for value in map(_next, inside) if value <= high]
        return bool(self.passes(np.array([low, high, *inside, *after])).any())

    def negated(self) -> "Test":
        """Return the test that passes exactly where this one does not."""
        return replace(self, inside=not self.inside, missing=not self.missing)

    def cuts(self) -> set[float]:
        """Return the last values before a change of the outcome; no cell may cross them."""
        ends = {float(np.nextafter(low, -np.inf)) for low, _ in self.intervals}
        ends |= {high for _, high in self.intervals}
        return {end for end in ends if np.isfinite(end)}


def _next(value: float) -> float:
    return float(np.nextafter(value, np.inf))


def written(value: float) -> Fraction:
    """Return the exact decimal number that a float64 is printed as: 0.1 is one tenth."""
    return Fraction(repr(float(value)))


def bind_condition(condition: object, space: FeatureSpace, before: FloatArray) -> Test:
    """Return the test that a condition stands for on one row."""
    if not isinstance(condition, Condition):
        raise InputError(f"{condition!r} is not a condition. Use {CONDITIONS}.")
    index, feature = named_feature(condition.feature, space, condition)
    start = float(before[index])
    if isinstance(condition, Rises | Falls | Within) and feature.kind == "categorical":
        raise InputError(
            f"{condition}: {feature.name} is categorical, and categories have no order. "
            "Use Becomes or Changes."
        )
    match condition:
        case Stays() | Changes():
            stays = Test(index, ((start, start),) if start == start else (), missing=start != start)
            return stays if isinstance(condition, Stays) else stays.negated()
        case Rises() | Falls():
            return _moved(condition, index, start, feature)
        case Within():
            low, high = _numbers(condition, condition.lower, condition.upper)
            if not isinstance(condition.missing, bool):
                raise InputError(
                    f"{condition}: missing must be True or False, got {condition.missing!r}."
                )
            numbers = _without_codes((low, high), feature)
            numbers += [_code(condition, code, feature) for code in condition.codes]
            return Test(index, tuple(numbers), missing=condition.missing)
        case Becomes():
            return _becomes(condition, index, feature, start)


def named_feature(name: object, space: FeatureSpace, where: object) -> tuple[int, Feature]:
    """Return the index of a feature and the feature; raise InputError if there is none."""
    for index, feature in enumerate(space.features):
        if feature.name == name:
            return index, feature
    names = [feature.name for feature in space.features]
    raise InputError(
        f"{where}: unknown feature {name!r}.{close_names(name, names)} "
        f"The features are {', '.join(names)}."
    )


def _code(condition: Within, code: object, feature: Feature) -> tuple[float, float]:
    """Return a code for a missing value as an interval; raise InputError if it is not one."""
    first, last = _numbers(condition, code, code)
    if first not in feature.codes:
        codes = ", ".join(f"{each:g}" for each in feature.codes) or "none"
        raise InputError(
            f"{condition}: {code!r} is not a code for a missing value of {feature.name} "
            f"(its codes: {codes}). Remove it, or declare it: "
            f"features={{{feature.name!r}: {{'missing_codes': [{first:g}]}}}}."
        )
    return first, last


def _without_codes(interval: tuple[float, float], feature: Feature) -> list[tuple[float, float]]:
    """Return the parts of an interval between codes for a missing value."""
    parts = [interval]
    for code in feature.codes:
        low, high = parts[-1]
        if low <= code <= high:
            below, above = float(np.nextafter(code, -np.inf)), _next(code)
            parts[-1:] = [(low, below), (above, high)]
    return [(low, high) for low, high in parts if low <= high]


def _moved(condition: Rises | Falls, index: int, start: float, feature: Feature) -> Test:
    """Return the test that a value is above or below the query's by a decimal amount."""
    (by,) = _numbers(condition, condition.by)
    if not 0 <= by < np.inf:
        raise InputError(f"{condition}: by must be a finite number of at least 0, got {by:g}.")
    if start != start or start in feature.codes:
        return Test(index, ())  # a missing value has no order
    way = np.inf if isinstance(condition, Rises) else -np.inf
    sign = 1 if way > 0 else -1
    end = float(np.nextafter(start, way))
    if by > 0:
        needed = written(start) + sign * written(by)
        end = float(np.nextafter(np.nextafter(float(needed), -way), -way))
        while sign * (written(end) - needed) < 0:
            end = float(np.nextafter(end, way))
    interval = (end, np.inf) if way > 0 else (-np.inf, end)
    return Test(index, tuple(_without_codes(interval, feature)))


def _becomes(condition: Becomes, index: int, feature: Feature, start: float) -> Test:
    if not condition.values:
        raise InputError(f"{condition} lists no values. Give at least one.")
    values = [parse_value(feature, value, str(condition), start) for value in condition.values]
    present = tuple(sorted((v, v) for v in set(values) if v == v))
    return Test(index, present, missing=any(v != v for v in values))


def _numbers(condition: object, *values: object) -> tuple[float, ...]:
    numbers = []
    for value in values:
        fits = isinstance(value, int | float | np.integer | np.floating)
        if not fits or isinstance(value, bool) or value != value:
            raise InputError(f"{condition}: {value!r} is not a number.")
        try:
            numbers.append(float(value))  # type: ignore[arg-type]
        except OverflowError as error:
            raise InputError(f"{condition}: a number is larger than any float64.") from error
    if len(numbers) == 2 and numbers[0] > numbers[1]:
        raise InputError(
            f"{condition}: lower ({numbers[0]:g}) is above upper ({numbers[1]:g}). Swap them."
        )
    return tuple(numbers)


def listed_conditions(conditions: object, where: str) -> tuple[object, ...]:
    """Return conditions as a tuple; raise InputError if there are none."""
    several = isinstance(conditions, Iterable) and not isinstance(conditions, str)
    listed = tuple(conditions) if several else (conditions,)  # type: ignore[arg-type]
    if not listed:
        raise InputError(f"{where} has no conditions. Give at least one.")
    return listed
