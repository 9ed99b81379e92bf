"""What is nearer to the query than a value of one feature, as constraints."""

import math
from dataclasses import dataclass
from fractions import Fraction

from encoders.query.constraints import Allowed, FeatureConstraint, Range
from encoders.query.features import Feature


@dataclass(frozen=True)
class Nearer:
    """The values of one feature in the order in which they are preferred.

    Numbers by their distance, the lower one first of two; categories in the order of the model's;
    having none comes last. Where the query has no number, the training data's median stands in.

    Attributes
    ----------
    feature : any
    before : the query's value, NaN if it is missing; a category's index
    """

    feature: Feature
    before: float

    @property
    def near(self) -> float:
        """What distances are taken from."""
        number = self.feature.without_code(self.before)
        return self.feature.typical if number != number else number

    def than(self, value: float) -> FeatureConstraint | None:
        """Only what comes before a value; None where nothing does."""
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
        """Just this value."""
        if value != value:
            return Allowed(self.feature.name, (None,))
        if self.feature.kind == "categorical":
            return Allowed(self.feature.name, (self.feature.labels[int(value)],))
        return Range(self.feature.name, value, value)


def _at_least(number: Fraction) -> float:
    """The smallest float64 that is not below an exact number."""
    try:
        near = float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)
