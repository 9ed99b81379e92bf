"""Distance between two counterfactuals: the cost of changing one into the other."""

from dataclasses import dataclass

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray
from encoders.core.errors import InputError
from encoders.query.admissible import Admissible
from encoders.query.features import Feature, FeatureSpace
from encoders.query.query import Query
from encoders.query.relations import JointCost
from portfolio.engine.question import OWN, Question

POWERS = (0.0, 1.0, np.inf)  # costs that are distances


@dataclass(frozen=True, eq=False)
class Ruler:
    """Distance between any two rows in the norm, scale and weights of a query."""

    scale: FloatArray  # float64 (n_features,), cost of a change of 1, or of any change
    apart: BoolArray  # bool (n_features,), whether all changes cost the same
    lacking: BoolArray  # bool (n_features,), whether a row may have a missing value
    absent: FloatArray  # float64 (n_features,), cost between a value and a missing one
    codes: tuple[tuple[float, ...], ...]  # missing-value codes, treated as missing
    largest: bool  # whether the distance is the largest part instead of the sum

    def between(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Return distances, float64 (n_ones, n_others)."""
        total = np.zeros((len(one), len(other)))
        for index in np.flatnonzero(self.scale > 0).tolist():
            part = self.part(index, one[:, index, None], other[None, :, index])
            total = np.maximum(total, part) if self.largest else total + part
        return total

    def part(self, index: int, one: FloatArray, other: FloatArray) -> FloatArray:
        """Return the contribution of one feature to distances, broadcast over both arrays."""
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
        """Return values of a feature with NaN for missing-value codes."""
        codes = self.codes[index]
        return np.where(np.isin(values, codes), np.nan, values) if codes else values

    def only(self, features: BoolArray) -> "Ruler":
        """Return the same for some of the features."""
        return Ruler(
            self.scale[features],
            self.apart[features],
            self.lacking[features],
            self.absent[features],
            tuple(codes for codes, used in zip(self.codes, features, strict=True) if used),
            self.largest,
        )

    def least(self, values: FloatArray) -> float:
        """Return the smallest distance between two of some rows; inf for fewer than two."""
        pairs = np.triu_indices(len(values), 1)
        return float(self.between(values, values)[pairs].min(initial=np.inf))

    def keeps_triangles(self, values: FloatArray) -> bool:
        """Return whether the triangle inequality holds; only missing values may break it."""
        for index in np.flatnonzero(self.lacking).tolist():
            every = self._without_codes(index, values[:, index])
            numbers = np.unique(every[~np.isnan(every)])
            if 0 < numbers.size < every.size:
                widest = self.part(index, numbers[:1], numbers[-1:])
                if widest[0] > 2 * self.absent[index]:
                    return False
        return True

    def widest(self, values: FloatArray) -> float:
        """Return an upper bound on the distance between rows of these values."""
        total = 0.0
        for index in range(values.shape[1]):
            unique = np.unique(self._without_codes(index, values[:, index]))
            ends = unique[[0, max(unique.size - 2, 0), -1]]  # a missing value comes last
            part = float(self.part(index, ends[:, None], ends[None, :]).max())
            total = max(total, part) if self.largest else total + part
        return total


def ruler_of(question: Question, query: Query, space: FeatureSpace) -> Ruler:
    """Return the distance of a query."""
    cost = query.cost
    if question.measure == OWN or cost.power not in POWERS:
        raise InputError(
            f"diverse() needs a norm that is a distance between answers, got {question.measure}. "
            "Use norm=0, 1 or 'inf'."
        )
    if any(isinstance(each, JointCost) for each in question.constraints):
        raise InputError(
            "diverse() does not support JointCost, which defines no distance between two answers. "
            "Leave it out."
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
    """Return the cost of a missing value; None if a value is required."""
    if admissible.missing is not None or not admissible.codes:
        return admissible.missing
    return 1.0 if admissible.code_cost is None else admissible.code_cost


def _counted(feature: Feature) -> bool:
    return feature.kind in ("categorical", "binary")
