"""Actionability constraints: what may change, in which direction, how far, and how often."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from encoders.core.errors import InputError
from encoders.query.names import OfFeature, feature_name
from encoders.query.relations import RowConstraint


@dataclass(frozen=True)
class Fixed(OfFeature):
    """Constraint that a feature keeps the query's value.

    Attributes
    ----------
    feature : str
        Name of the feature.

    Examples
    --------
    >>> explainer.explain(row, target="granted", constraints=[Fixed("age")]).status
    'optimal'
    """

    feature: str


@dataclass(frozen=True)
class Increase(OfFeature):
    """Constraint that a numeric, ordinal or binary feature does not decrease.

    Attributes
    ----------
    feature : str
        Name of the feature.

    Examples
    --------
    >>> explainer.explain(row, target="granted", constraints=[Increase("age")]).status
    'optimal'
    """

    feature: str


@dataclass(frozen=True)
class Decrease(OfFeature):
    """Constraint that a numeric, ordinal or binary feature does not increase.

    Attributes
    ----------
    feature : str
        Name of the feature.

    Examples
    --------
    >>> explainer.explain(row, target="granted", constraints=[Decrease("rooms")]).status
    'optimal'
    """

    feature: str


@dataclass(frozen=True)
class Range(OfFeature):
    """Constraint that the counterfactual's value lies in [lower, upper].

    The bounds of the feature still apply.

    Attributes
    ----------
    feature : str
        Name of the feature.
    lower, upper : float, default -inf and inf
        Smallest and largest value, in the unit of the feature.

    Examples
    --------
    >>> constraint = Range("income", lower=10, upper=40)
    >>> explainer.explain(row, target="granted", constraints=[constraint]).status
    'optimal'
    """

    feature: str
    lower: float = -np.inf
    upper: float = np.inf


@dataclass(frozen=True)
class Allowed:
    """Constraint that the counterfactual's value is one of a list.

    The feature may keep the query's value only if that value is listed.

    Parameters
    ----------
    feature : str
        Name of the feature.
    values : iterable of numbers or labels
        Allowed values; category labels for a categorical feature.

    Raises
    ------
    InputError
        If ``values`` is not a list.

    Examples
    --------
    >>> constraint = Allowed("housing", ["own", "rent"])
    >>> explainer.explain(row, target="granted", constraints=[constraint]).status
    'optimal'
    """

    feature: str
    values: tuple[object, ...]

    def __init__(self, feature: str, values: Iterable[object]) -> None:
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(
                f"Allowed({feature!r}, ...) needs a list of values, got {values!r}. "
                f"Write Allowed({feature!r}, [{values!r}])."
            )
        object.__setattr__(self, "feature", feature_name(feature))
        object.__setattr__(self, "values", tuple(values))


@dataclass(frozen=True)
class AllowMissing(OfFeature):
    """Permission to make a value missing (or a code for a missing value) that the query has.

    Attributes
    ----------
    feature : str
        Name of the feature. It must be missing in some training row or have ``missing_codes``.
    cost : float, default 1.0
        Cost of a missing value, before the weight of the feature.

    Examples
    --------
    >>> AllowMissing("income", cost=2.0)
    AllowMissing(feature='income', cost=2.0)
    """

    feature: str
    cost: float = 1.0


@dataclass(frozen=True)
class MaxChanges:
    """Constraint that at most ``count`` features differ from the query.

    Attributes
    ----------
    count : int
        Largest number of changed features, at least 0. A one-hot group counts once.
    among : tuple of str or None, default None
        Names of the features to count; None counts all features.

    Raises
    ------
    InputError
        If ``among`` is not a list of names.

    Examples
    --------
    >>> result = explainer.explain(row, target="granted", constraints=[MaxChanges(1)])
    >>> len(result.changed)
    1
    """

    count: int
    among: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.among is None:
            return
        if isinstance(self.among, str) or not isinstance(self.among, Iterable):
            raise InputError(
                f"MaxChanges needs a list of feature names, got among={self.among!r}. "
                f"Write among=[{self.among!r}]."
            )
        object.__setattr__(self, "among", tuple(map(feature_name, self.among)))
        if not self.among:
            raise InputError(
                "MaxChanges counts no feature, because among= is empty. Name at least one "
                "feature, or leave among out to count all."
            )


FeatureConstraint = Fixed | Increase | Decrease | Range | Allowed | AllowMissing
Constraint = FeatureConstraint | MaxChanges | RowConstraint


def listed(constraints: object) -> tuple[Constraint, ...]:
    """Return constraints as a tuple; raise InputError if they are a text or not a sequence."""
    if isinstance(constraints, str) or not isinstance(constraints, Iterable):
        raise InputError(
            f"constraints must be a sequence, got {constraints!r}. "
            "Write, for example, [Fixed('age'), MaxChanges(2)]."
        )
    return tuple(constraints)
