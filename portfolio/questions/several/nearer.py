"""Constraints on one feature for values nearer to the query than a given value."""

import math
from dataclasses import dataclass
from fractions import Fraction

from encoders.query.constraints import Allowed, FeatureConstraint, Range
from encoders.query.features import Feature


@dataclass(frozen=True)
class Nearer:
    """Order in which the values of one feature are preferred.

    Numbers are ordered by distance, the lower one first of two; categories in the model's order;
    missing comes last. If the query has no number, the median of the training data is used instead.

    Attributes
    ----------
    feature : Feature.
    before : float, value of the query, NaN if missing; index of a category.
    """

    feature: Feature
    before: float

    @property
    def near(self) -> float:
        """The number from which distances are measured."""
        number = self.feature.without_code(self.before)
        return self.feature.typical if number != number else number

    def than(self, value: float) -> FeatureConstraint | None:
        """Return the constraint to values preferred to this one; None if there are none."""
        name, labels = self.feature.name, self.feature.labels
        if self.feature.kind == "categorical":
            first = len(labels) if value != value else int(value)
            earlier = [labels[at] for at in range(first) if at != self.before]
            return Allowed(name, earlier) if earlier else None
        if self.feature.without_code(value) != value:
            return Range(name)
        mirrored = 2 * Fraction(self.near) - Fraction(value)
        if value > self.near:
            low, high = _at_least(mirrored), math.nextafter(value, -math.inf)
        else:
            low, high = math.nextafter(value, math.inf), -_at_least(-mirrored)
            high = math.nextafter(high, -math.inf) if Fraction(high) == mirrored else high
        return Range(name, low, high) if low <= high else None

    def only(self, value: float) -> FeatureConstraint:
        """Return the constraint to exactly this value."""
        if value != value:
            return Allowed(self.feature.name, (None,))
        if self.feature.kind == "categorical":
            return Allowed(self.feature.name, (self.feature.labels[int(value)],))
        return Range(self.feature.name, value, value)


def _at_least(number: Fraction) -> float:
    """Return the smallest float64 that is not below an exact number."""
    try:
        near = float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)
