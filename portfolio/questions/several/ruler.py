"""How far two answers are apart: what it would cost to go from one to the other."""

from dataclasses import dataclass

import numpy as np

from encoders.arrays import BoolArray, FloatArray
from encoders.errors import InputError
from encoders.query.admissible import Admissible
from encoders.query.features import Feature, FeatureSpace
from encoders.query.query import Query
from encoders.query.relations import JointCost
from portfolio.question import OWN, Question

POWERS = (0.0, 1.0, np.inf)  # costs that are distances


@dataclass(frozen=True, eq=False)
class Ruler:
    """The question's norm, scale and weights, between any two rows.

    Attributes
    ----------
    scale : float64 (n_features,), what a change of 1, or any change, costs
    apart : bool (n_features,), whether any change costs the same
    lacking : bool (n_features,), whether a row may have no value
    absent : float64 (n_features,), between a value and none
    codes : per feature, codes for a missing value, which are as far apart as it is
    largest : whether the largest part counts, and not the sum
    """

    scale: FloatArray
    apart: BoolArray
    lacking: BoolArray
    absent: FloatArray
    codes: tuple[tuple[float, ...], ...]
    largest: bool

    def between(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Distances, float64 (n_ones, n_others)."""
        total = np.zeros((len(one), len(other)))
        for index in np.flatnonzero(self.scale > 0).tolist():
            part = self.part(index, one[:, index, None], other[None, :, index])
            total = np.maximum(total, part) if self.largest else total + part
        return total

    def part(self, index: int, one: FloatArray, other: FloatArray) -> FloatArray:
        """What one feature adds to distances, of the shape of both."""
        one, other = self._without_codes(index, one), self._without_codes(index, other)
        gap: FloatArray = np.abs(one - other)
        if self.apart[index]:
            gap = (one != other).astype(np.float64)
        gap *= self.scale[index]
        if not self.lacking[index]:
            return gap
        none = np.isnan(one), np.isnan(other)
        return np.where(none[0] | none[1], self.absent[index] * (none[0] ^ none[1]), gap)

    def _without_codes(self, index: int, values: FloatArray) -> FloatArray:
        """Return values of a feature with NaN for codes for a missing value."""
        codes = self.codes[index]
        return np.where(np.isin(values, codes), np.nan, values) if codes else values

    def only(self, features: BoolArray) -> "Ruler":
        """The same for some of the features."""
        return Ruler(
            self.scale[features],
            self.apart[features],
            self.lacking[features],
            self.absent[features],
            tuple(own for own, kept in zip(self.codes, features, strict=True) if kept),
            self.largest,
        )

    def least(self, values: FloatArray) -> float:
        """The least distance between two of some rows; inf for fewer than two."""
        pairs = np.triu_indices(len(values), 1)
        return float(self.between(values, values)[pairs].min(initial=np.inf))

    def keeps_triangles(self, values: FloatArray) -> bool:
        """Whether no way over a third row is shorter; only having no value may be one."""
        for index in np.flatnonzero(self.lacking & ~self.apart).tolist():
            every = self._without_codes(index, values[:, index])
            own = every[~np.isnan(every)]
            if (
                0 < own.size < every.size
                and np.ptp(own) * self.scale[index] > 2 * self.absent[index]
            ):
                return False
        return True

    def widest(self, values: FloatArray) -> float:
        """No two rows of these values are farther apart."""
        total = 0.0
        for index in range(values.shape[1]):
            own = np.unique(self._without_codes(index, values[:, index]))
            ends = own[[0, max(own.size - 2, 0), -1]]  # a missing value comes last
            part = float(self.part(index, ends[:, None], ends[None, :]).max())
            total = max(total, part) if self.largest else total + part
        return total


def ruler_of(question: Question, query: Query, space: FeatureSpace) -> Ruler:
    """The distance of a question."""
    cost = query.cost
    if question.measure == OWN or cost.power not in POWERS:
        raise InputError(
            "answers are as far apart as one costs from the other, which needs the norm 0, 1 or "
            "'inf'; choose one of these."
        )
    if any(isinstance(each, JointCost) for each in question.constraints):
        raise InputError(
            "joint costs say nothing of how far two answers are apart; ask without JointCost."
        )
    weight, unit = np.array(cost.weight), np.array(cost.unit)
    counted = np.array([_counted(feature) or cost.power == 0 for feature in space.features])
    start = np.isnan(space.without_codes(space.values(query.row)))
    filled = np.array([feature.missing_cost for feature in space.features])
    prices = [_price_of_none(admissible) for admissible in query.admissible]
    emptied = np.array([0.0 if price is None else price for price in prices])
    return Ruler(
        scale=np.where(counted, weight, weight / unit),
        apart=counted,
        lacking=start | np.array([price is not None for price in prices]),
        absent=weight * np.where(start, filled, emptied),
        codes=tuple(feature.codes for feature in space.features),
        largest=cost.aggregate == "max",
    )


def _price_of_none(admissible: Admissible) -> float | None:
    """Return what it costs to have no value; None if there must be one."""
    if admissible.missing is not None or not admissible.codes:
        return admissible.missing
    return 1.0 if admissible.code_cost is None else admissible.code_cost


def _counted(feature: Feature) -> bool:
    return feature.kind in ("categorical", "binary")
