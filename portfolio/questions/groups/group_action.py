"""An action that several rows share: what it says, and what it makes of a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from encoders.arrays import FloatArray
from encoders.query.features import Feature, FeatureSpace
from portfolio.change import exactly


@dataclass(frozen=True)
class GroupStep:
    """One thing that an action asks for. Rows that fulfil it already, or have no value, stay.

    Attributes
    ----------
    feature : its name
    way : "at least" and "at most" move a number to the limit, "becomes" changes a category or a
        binary value
    value : the limit, or the value as people read it
    """

    feature: str
    way: Literal["at least", "at most", "becomes"]
    value: object

    def __str__(self) -> str:
        said = exactly(self.value)
        if self.way == "becomes":
            return f"Change {self.feature} to {said}"
        return (
            f"{'Raise' if self.way == 'at least' else 'Lower'} {self.feature} to {self.way} {said}"
        )


@dataclass(frozen=True)
class Limit:
    """A step in numbers as they are used inside.

    Attributes
    ----------
    index : of the feature
    way : as of :class:`GroupStep`, but that binary values are moved as numbers are
    value : a limit, or the index of a category
    """

    index: int
    way: Literal["at least", "at most", "becomes"]
    value: float

    def told(self, feature: Feature) -> GroupStep:
        """The step as people read it."""
        way = "becomes" if feature.kind == "binary" else self.way
        return GroupStep(feature.name, way, feature.show(self.value))


def applied(space: FeatureSpace, row: FloatArray, limits: Sequence[Limit]) -> FloatArray:
    """A row after an action, float64 (n_columns,)."""
    after, own = row.copy(), space.values(row)
    for limit in limits:
        feature, before = space.features[limit.index], float(own[limit.index])
        if np.isnan(feature.without_code(before)):
            continue
        if feature.one_hot:
            after[list(feature.columns)] = np.arange(len(feature.columns)) == limit.value
        elif limit.way == "becomes":
            after[feature.column] = limit.value
        else:
            further = max if limit.way == "at least" else min
            after[feature.column] = further(before, limit.value)
    return after


def shorter(limit: Limit, feature: Feature, most: float) -> list[Limit]:
    """The same step with fewer digits, the fewest first; a number moves by at most ``most``."""
    found = []
    side = 1.0 if limit.way == "at least" else -1.0
    for digits in range(-12, 16):
        unit = 10.0**-digits
        count = np.rint(limit.value / unit)
        for value in (round(float(c * unit), max(digits, 0)) for c in (count, count + side)):
            if (
                0 <= side * (value - limit.value) <= most
                and feature.lower <= value <= feature.upper
            ):
                found.append(Limit(limit.index, limit.way, value))
                break
    return found
