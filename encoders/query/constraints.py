"""Actionability: what may change, in which direction, how far, and how many features at once."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from encoders.errors import InputError
from encoders.query.names import OfFeature, feature_name
from encoders.query.relations import Precedence, Relation


@dataclass(frozen=True)
class Fixed(OfFeature):
    """The feature keeps the query's value.

    Attributes
    ----------
    feature : its name
    """

    feature: str


@dataclass(frozen=True)
class Increase(OfFeature):
    """The feature may grow or stay, never shrink (numeric, ordinal, binary).

    Attributes
    ----------
    feature : its name
    """

    feature: str


@dataclass(frozen=True)
class Decrease(OfFeature):
    """The feature may shrink or stay, never grow (numeric, ordinal, binary).

    Attributes
    ----------
    feature : its name
    """

    feature: str


@dataclass(frozen=True)
class Range(OfFeature):
    """The counterfactual's value lies in [lower, upper], within the feature's own bounds.

    Attributes
    ----------
    feature : its name
    lower, upper : float, in the feature's own unit
    """

    feature: str
    lower: float = -np.inf
    upper: float = np.inf


@dataclass(frozen=True)
class Allowed:
    """The counterfactual's value is one of these (category labels for a categorical feature).

    Staying at the query's value is allowed only if that value is listed.

    Parameters
    ----------
    feature : its name
    values : numbers or labels
    """

    feature: str
    values: tuple[object, ...]

    def __init__(self, feature: str, values: Iterable[object]) -> None:
        if not isinstance(values, Iterable):
            raise InputError(f"Allowed({feature!r}, ...) takes a list of values, got {values!r}.")
        object.__setattr__(self, "feature", feature_name(feature))
        object.__setattr__(self, "values", tuple(values))


@dataclass(frozen=True)
class AllowMissing(OfFeature):
    """The counterfactual may have no value here, or a code for that, though the query has one.

    Attributes
    ----------
    feature : its name; training rows must miss it, too, or it has ``missing_codes``
    cost : of having none, before the feature's weight
    """

    feature: str
    cost: float = 1.0


@dataclass(frozen=True)
class MaxChanges:
    """At most ``count`` features differ from the query (sparsity bound).

    Attributes
    ----------
    count : a whole number of at least 0; a one-hot group counts once
    among : names of the features that are counted; None for all
    """

    count: int
    among: tuple[str, ...] | None = field(default=None, metadata={"fingerprint": "given"})

    def __post_init__(self) -> None:
        if self.among is None:
            return
        if isinstance(self.among, str) or not isinstance(self.among, Iterable):
            raise InputError(f"MaxChanges takes a list of features, got among={self.among!r}.")
        object.__setattr__(self, "among", tuple(map(feature_name, self.among)))


FeatureConstraint = Fixed | Increase | Decrease | Range | Allowed | AllowMissing
Constraint = FeatureConstraint | MaxChanges | Precedence | Relation


def listed(constraints: object) -> tuple[Constraint, ...]:
    """The constraints as a tuple, or an InputError when they come alone or as a text."""
    if isinstance(constraints, str) or not isinstance(constraints, Iterable):
        raise InputError("constraints must be a sequence such as [Fixed('age'), MaxChanges(2)].")
    return tuple(constraints)
