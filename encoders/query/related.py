"""Relations between features, bound to one row."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import InputError, Over, look, never
from encoders.query.admissible import Admissible
from encoders.query.conditions import (
    Becomes,
    Changes,
    Stays,
    Test,
    bind_condition,
    listed_conditions,
    named_feature,
    written,
)
from encoders.query.cost import LARGEST_WEIGHT, Cost, table_values
from encoders.query.features import Feature, FeatureSpace, parse_value
from encoders.query.grid import Grid
from encoders.query.relations import (
    AllowedPairs,
    Forbidden,
    Implies,
    JointCost,
    Linear,
    Relation,
    Together,
)

MOST_POINTS = 5_000  # values of a feature that relations list one by one; more take longer
PLAIN_POWERS = (0.0, 1.0, np.inf)  # costs under which numbers in a Linear may be any


@dataclass(frozen=True, eq=False)
class SumRow:
    """``sum of factor * value <= most``, of the decimals that values are written as.

    Attributes
    ----------
    features : indices
    factors : of each, not 0
    most : what the sum is at most
    """

    features: tuple[int, ...]
    factors: tuple[Fraction, ...]
    most: Fraction

    def holds(self, values: FloatArray) -> bool:
        """Whether it does for a row; a missing value fulfils it."""
        own = [float(values[index]) for index in self.features]
        if any(value != value for value in own):
            return True
        total = sum(f * written(v) for f, v in zip(self.factors, own, strict=True))
        return total <= self.most

    def holds_within(self, values: FloatArray, spans: Mapping[int, tuple[float, float]]) -> bool:
        """Return whether it does wherever some features lie in intervals."""
        worst = values.copy()
        for index, factor in zip(self.features, self.factors, strict=True):
            if index in spans:
                worst[index] = max(spans[index]) if factor > 0 else min(spans[index])
        return not np.isinf(worst[list(self.features)]).any() and self.holds(worst)


@dataclass(frozen=True, eq=False)
class PairCosts:
    """Costs on top, of pairs of values.

    Attributes
    ----------
    first, second : indices of features
    cost : by both values; of what is not listed 0
    """

    first: int
    second: int
    cost: dict[tuple[float, float], float]

    def of(self, values: FloatArray) -> float:
        """The cost of a row."""
        return self.cost.get((float(values[self.first]), float(values[self.second])), 0.0)


@dataclass(frozen=True, eq=False)
class Related:
    """All relations of a question, about one row.

    Attributes
    ----------
    never : tests that do not all pass at once
    rows : sums that have a limit
    pairs : joint costs
    any_number : features of the rows that may be any number of an interval
    codes : by feature, codes for a missing value, which sums treat as one
    """

    never: tuple[tuple[Test, ...], ...]
    rows: tuple[SumRow, ...]
    pairs: tuple[PairCosts, ...]
    any_number: frozenset[int] = frozenset()
    codes: Mapping[int, tuple[float, ...]] = field(default_factory=dict)

    def holds(self, values: FloatArray) -> bool:
        """Whether a row keeps all of them."""
        if self.violated(values) is not None:
            return False
        numbers = self._without_codes(values)
        return all(row.holds(numbers) for row in self.rows)

    def _without_codes(self, values: FloatArray) -> FloatArray:
        """Return values with NaN for codes for a missing value."""
        if not self.codes:
            return values
        numbers = values.copy()
        for index, codes in self.codes.items():
            numbers[index] = np.nan if values[index] in codes else values[index]
        return numbers

    def violated(self, values: FloatArray) -> tuple[Test, ...] | None:
        """Return the first tests that all pass at once, None if there are none."""
        for tests in self.never:
            if all(bool(test.passes(values[test.index : test.index + 1])[0]) for test in tests):
                return tests
        return None

    def broken_within(
        self, values: FloatArray, spans: Mapping[int, tuple[float, float]]
    ) -> frozenset[int]:
        """Return the features in ``spans`` of relations that may break there."""
        broken: set[int] = set()
        for tests in self.never:
            own = [spans.get(test.index, (float(values[test.index]),) * 2) for test in tests]
            mine = spans.keys() & {test.index for test in tests}
            if mine and all(t.may_pass(*ends) for t, ends in zip(tests, own, strict=True)):
                broken |= mine
        numbers = self._without_codes(values)
        for row in self.rows:
            mine = spans.keys() & set(row.features)
            if mine and not row.holds_within(numbers, spans):
                broken |= mine
        return frozenset(broken)

    def extra(self, values: FloatArray) -> list[float]:
        """Costs on top of those of each feature."""
        return [pair.of(values) for pair in self.pairs]

    @property
    def features(self) -> frozenset[int]:
        """All features that they are about."""
        tested = {test.index for tests in self.never for test in tests}
        summed = {index for row in self.rows for index in row.features}
        return frozenset(tested | summed | {i for p in self.pairs for i in (p.first, p.second)})


def relate(
    relations: Sequence[Relation],
    space: FeatureSpace,
    before: FloatArray,
    admissible: tuple[Admissible, ...],
    cost: Cost,
    counted: bool = False,
    over: Over = never,
) -> tuple[Related, tuple[Admissible, ...]]:
    """Relations about one row, and what each feature may become, parted where they need it."""
    refused: list[tuple[Test, ...]] = []
    rows: list[SumRow] = []
    pairs: list[PairCosts] = []
    for relation in relations:
        look(over)
        if isinstance(relation, Linear):
            rows += _sum_rows(relation, space)
        elif isinstance(relation, JointCost):
            pairs.append(_pair_costs(relation, space, before))
        else:
            refused += _never(relation, space, before)
    cuts: dict[int, set[float]] = {}
    for tests in refused:
        look(over)
        for test in tests:
            cuts.setdefault(test.index, set()).update(test.cuts())
    listed = {index for row in rows for index in row.features}
    any_number: set[int] = set()
    for index in sorted(listed):
        points = _points(index, space.features[index], before, admissible[index], cost)
        if points is None:
            any_number.add(index)
            if counted and before[index] == before[index]:
                own = Test(index, ((float(before[index]),) * 2,))
                cuts.setdefault(index, set()).update(own.cuts())
        else:
            cuts.setdefault(index, set()).update(points)
    for pair in pairs:
        for at, index in enumerate((pair.first, pair.second)):
            single = {key[at] for key in pair.cost}
            own = Test(index, tuple((value, value) for value in single))
            cuts.setdefault(index, set()).update(own.cuts())
    parted = tuple(
        replace(each, cuts=tuple(sorted(cuts[index].union(each.cuts)))) if cuts.get(index) else each
        for index, each in enumerate(admissible)
    )
    codes = {index: f.codes for index, f in enumerate(space.features) if f.codes}
    related = Related(tuple(refused), tuple(rows), tuple(pairs), frozenset(any_number), codes)
    return related, parted


def _never(relation: Relation, space: FeatureSpace, before: FloatArray) -> list[tuple[Test, ...]]:
    """What must not pass all at once for a relation to hold."""

    def bound(condition: object) -> Test:
        return bind_condition(condition, space, before)

    match relation:
        case Implies():
            return [(bound(relation.if_), bound(relation.then).negated())]
        case Forbidden():
            conditions = listed_conditions(relation.conditions, "Forbidden")
            return [tuple(bound(condition) for condition in conditions)]
        case Together():
            for name in relation.features:
                named_feature(name, space, relation)
            if len(set(relation.features)) < 2:
                raise InputError(f"{relation}: give at least two features.")
            ring = [*relation.features, relation.features[0]]
            return [(bound(Changes(one)), bound(Stays(other))) for one, other in pairwise(ring)]
        case AllowedPairs():
            return _outside_pairs(relation, bound)
    raise InputError(f"{relation!r} is not a relation.")


def _outside_pairs(
    relation: AllowedPairs, bound: Callable[[object], Test]
) -> list[tuple[Test, ...]]:
    partners: dict[object, list[object]] = {}
    for one, other in relation.pairs:
        partners.setdefault(one, []).append(other)
    never: list[tuple[Test, ...]] = [
        (bound(Becomes(relation.first, one)), bound(Becomes(relation.second, *others)).negated())
        for one, others in partners.items()
    ]
    return [*never, (bound(Becomes(relation.first, *partners)).negated(),)]


def _sum_rows(relation: Linear, space: FeatureSpace) -> list[SumRow]:
    """One row, or two for an equation."""
    if relation.sign not in ("<=", ">=", "=="):
        raise InputError(f"{relation}: the sign must be '<=', '>=' or '=='.")
    features, factors = [], []
    for name, factor in relation.terms:
        index, feature = named_feature(name, space, relation)
        if feature.kind == "categorical":
            raise InputError(f"{relation}: {name} has categories, which can't be added up.")
        features.append(index)
        factors.append(_decimal(factor, relation))
    kept = [(i, f) for i, f in zip(features, factors, strict=True) if f != 0]
    if not kept or len(set(features)) < len(features):
        raise InputError(f"{relation}: give each feature once, and a factor that is not 0.")
    own, weights = (tuple(part) for part in zip(*kept, strict=True))
    bound = _decimal(relation.bound, relation)
    rows = []
    if relation.sign in ("<=", "=="):
        rows.append(SumRow(own, weights, bound))
    if relation.sign in (">=", "=="):
        rows.append(SumRow(own, tuple(-weight for weight in weights), -bound))
    return rows


def _decimal(value: object, where: object) -> Fraction:
    number = isinstance(value, int | float | np.integer | np.floating)
    # A whole number may be larger than any float.
    if not number or isinstance(value, bool) or not abs(value) <= sys.float_info.max:  # type: ignore[arg-type]
        raise InputError(f"{where}: {value!r} is no finite number.")
    return Fraction(int(value)) if isinstance(value, int | np.integer) else written(value)  # type: ignore[arg-type]


def _pair_costs(relation: JointCost, space: FeatureSpace, before: FloatArray) -> PairCosts:
    where = f"JointCost({relation.first!r}, {relation.second!r})"
    first, one = named_feature(relation.first, space, where)
    second, other = named_feature(relation.second, space, where)
    if first == second:
        raise InputError(f"{where}: give two different features.")
    costs = {}
    for (a, b), cost in relation.costs:
        price = float(_decimal(cost, where))
        if not 0 <= price <= LARGEST_WEIGHT:
            raise InputError(f"{where}: a cost must be from 0 to {LARGEST_WEIGHT:g}, got {cost!r}.")
        key = parse_value(one, a, where), parse_value(other, b, where)
        if key[0] != key[0] or key[1] != key[1]:
            raise InputError(f"{where}: pairs with a missing value have no joint cost.")
        costs[key] = price
    costs.pop((float(before[first]), float(before[second])), None)  # staying is no change
    return PairCosts(first, second, costs)


def _points(
    index: int, feature: Feature, before: FloatArray, admissible: Admissible, cost: Cost
) -> list[float] | None:
    """All values that a feature of a sum may have; None if that is any number of an interval."""
    own = float(before[index])
    low, high = admissible.lower, admissible.upper
    if low > high:
        found: list[float] = []
    elif admissible.values is not None:
        found = [value for value in admissible.values if value == value]
    elif feature.values:
        found = [value for value in feature.values if low <= value <= high]
    elif cost.table(index):
        found = list(table_values(feature, cost.table(index) or {}))
    elif feature.kind == "ordinal" or feature.step:
        found = _multiples(feature, low, high)
    else:
        if cost.own[index] is not None or cost.power not in PLAIN_POWERS:
            raise InputError(
                f"{feature.name} may be any number, and then Linear goes with the norms 0, 1 and "
                f"'inf' only; give {feature.name} a step or digits, or choose one of these norms."
            )
        return None
    return found if own != own else [*found, own]


def _multiples(feature: Feature, low: float, high: float) -> list[float]:
    grid = Grid(feature.step or 1.0)
    first, last = grid.at_least(np.array(low)), grid.at_most(np.array(high))
    count = np.rint((last - first) / grid.step) + 1
    if count > MOST_POINTS:
        raise InputError(
            f"{feature.name} has {count:.0f} admissible values, more than the {MOST_POINTS} that "
            "Linear can look at one by one; give it a larger step, or a Range."
        )
    every = first + grid.step * np.arange(max(0, int(count)))
    values: list[float] = grid.nearest(every).tolist()
    return [value for value in values if low <= value <= high]
