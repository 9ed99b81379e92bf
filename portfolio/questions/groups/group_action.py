"""Actions that several rows share: their steps, and their effect on a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.query.features import Feature, FeatureSpace
from portfolio.results.change import exactly


@dataclass(frozen=True)
class GroupStep:
    """Step of an action.

    Rows that already meet the step, or have no value, keep their value.

    Attributes
    ----------
    feature : str
        Name of the feature.
    way : {"at least", "at most", "becomes"}
        Kind of step: a number moves to a limit, or a category or binary value changes.
    value : object
        Limit, or label of the new value.

    Examples
    --------
    >>> from portfolio.questions.groups.group_action import GroupStep
    >>> print(GroupStep("income", "at least", 35.5))
    Raise income to at least 35.5
    """

    feature: str
    way: Literal["at least", "at most", "becomes"]
    value: object

    def __str__(self) -> str:
        value = exactly(self.value)
        if self.way == "becomes":
            return f"Change {self.feature} to {value}"
        return (
            f"{'Raise' if self.way == 'at least' else 'Lower'} {self.feature} to {self.way} {value}"
        )


@dataclass(frozen=True)
class Limit:
    """Step of an action in internal numbers.

    Attributes
    ----------
    index : int, index of the feature.
    way : str, as in :class:`GroupStep`, except that binary values move like numbers.
    value : float, limit or index of a category.
    """

    index: int
    way: Literal["at least", "at most", "becomes"]
    value: float

    def step(self, feature: Feature) -> GroupStep:
        """Return the step with the labels that users read."""
        way = "becomes" if feature.kind == "binary" else self.way
        return GroupStep(feature.name, way, feature.show(self.value))


def applied(space: FeatureSpace, row: FloatArray, limits: Sequence[Limit]) -> FloatArray:
    """Return a row after an action, float64 (n_columns,)."""
    after, values = row.copy(), space.values(row)
    for limit in limits:
        feature, before = space.features[limit.index], float(values[limit.index])
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
    """Return the same step with fewer digits, the fewest first; a limit moves by up to ``most``."""
    limits = []
    side = 1.0 if limit.way == "at least" else -1.0
    for digits in range(-12, 16):
        unit = 10.0**-digits
        count = np.rint(limit.value / unit)
        for value in (round(float(c * unit), max(digits, 0)) for c in (count, count + side)):
            if (
                0 <= side * (value - limit.value) <= most
                and feature.lower <= value <= feature.upper
            ):
                limits.append(Limit(limit.index, limit.way, value))
                break
    return limits
