"""Relations between features, bound to one row."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError, Over, look, never
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

MOST_POINTS = 5_000  # limit on the values of a feature that are listed one by one, for speed
PLAIN_POWERS = (0.0, 1.0, np.inf)  # norms that allow continuous features in a Linear


@dataclass(frozen=True, eq=False)
class SumRow:
    """Linear inequality ``sum of factor * value <= most`` in exact decimal numbers."""

    features: tuple[int, ...]  # indices of features
    factors: tuple[Fraction, ...]  # factor of each feature, not 0
    most: Fraction  # upper limit of the sum

    def holds(self, values: FloatArray) -> bool:
        """Return whether a row fulfils the inequality; rows with a missing value do."""
        numbers = [float(values[index]) for index in self.features]
        if any(value != value for value in numbers):
            return True
        total = sum(f * written(v) for f, v in zip(self.factors, numbers, strict=True))
        return total <= self.most

    def holds_within(self, values: FloatArray, spans: Mapping[int, tuple[float, float]]) -> bool:
        """Return whether it holds for all values of some features within intervals."""
        worst = values.copy()
        for index, factor in zip(self.features, self.factors, strict=True):
            if index in spans:
                worst[index] = max(spans[index]) if factor > 0 else min(spans[index])
        return not np.isinf(worst[list(self.features)]).any() and self.holds(worst)


@dataclass(frozen=True, eq=False)
class PairCosts:
    """Additional costs of pairs of values.

    Attributes
    ----------
    first, second : int, indices of features
    cost : dict of (float, float) to float, cost of each pair; 0 for pairs that are not listed
    """

    first: int
    second: int
    cost: dict[tuple[float, float], float]

    def of(self, values: FloatArray) -> float:
        """Return the additional cost of a row."""
        return self.cost.get((float(values[self.first]), float(values[self.second])), 0.0)


@dataclass(frozen=True, eq=False)
class Related:
    """All relations of a query, bound to one row.

    Attributes
    ----------
    never : tuple of tuples of Test, tests that must not all pass at once.
    rows : tuple of SumRow, linear inequalities.
    pairs : tuple of PairCosts, joint costs.
    any_number : frozenset of int, continuous features of the inequalities.
    codes : mapping of int to tuple of float, codes of each feature that sums treat as missing.
    """

    never: tuple[tuple[Test, ...], ...]
    rows: tuple[SumRow, ...]
    pairs: tuple[PairCosts, ...]
    any_number: frozenset[int] = frozenset()
    codes: Mapping[int, tuple[float, ...]] = field(default_factory=dict)

    def holds(self, values: FloatArray) -> bool:
        """Return whether a row fulfils all relations."""
        if self.violated(values) is not None:
            return False
        numbers = self._without_codes(values)
        return all(row.holds(numbers) for row in self.rows)

    def _without_codes(self, values: FloatArray) -> FloatArray:
        """Return values with NaN in place of codes for a missing value."""
        if not self.codes:
            return values
        numbers = values.copy()
        for index, codes in self.codes.items():
            numbers[index] = np.nan if values[index] in codes else values[index]
        return numbers

    def violated(self, values: FloatArray) -> tuple[Test, ...] | None:
        """Return the first tests that all pass at once, or None."""
        for tests in self.never:
            if all(bool(test.passes(values[test.index : test.index + 1])[0]) for test in tests):
                return tests
        return None

    def broken_within(
        self, values: FloatArray, spans: Mapping[int, tuple[float, float]]
    ) -> frozenset[int]:
        """Return the features in ``spans`` whose relations some value there may violate."""
        features: set[int] = set()
        for tests in self.never:
            intervals = [spans.get(test.index, (float(values[test.index]),) * 2) for test in tests]
            inside = spans.keys() & {test.index for test in tests}
            pairs = zip(tests, intervals, strict=True)
            if inside and all(test.may_pass(*ends) for test, ends in pairs):
                features |= inside
        numbers = self._without_codes(values)
        for row in self.rows:
            inside = spans.keys() & set(row.features)
            if inside and not row.holds_within(numbers, spans):
                features |= inside
        return frozenset(features)

    def extra(self, values: FloatArray) -> list[float]:
        """Return the additional cost of each pair for a row."""
        return [pair.of(values) for pair in self.pairs]

    @property
    def features(self) -> frozenset[int]:
        """Indices of all features in the relations."""
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
    """Return relations bound to one row, and admissible values with the cuts that they need."""
    forbidden: list[tuple[Test, ...]] = []
    rows: list[SumRow] = []
    pairs: list[PairCosts] = []
    for relation in relations:
        look(over)
        if isinstance(relation, Linear):
            rows += _sum_rows(relation, space)
        elif isinstance(relation, JointCost):
            pairs.append(_pair_costs(relation, space, before))
        else:
            forbidden += _never(relation, space, before)
    cuts: dict[int, set[float]] = {}
    for tests in forbidden:
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
                start = Test(index, ((float(before[index]),) * 2,))
                cuts.setdefault(index, set()).update(start.cuts())
        else:
            cuts.setdefault(index, set()).update(points)
    for pair in pairs:
        for at, index in enumerate((pair.first, pair.second)):
            single = {key[at] for key in pair.cost}
            points_test = Test(index, tuple((value, value) for value in single))
            cuts.setdefault(index, set()).update(points_test.cuts())
    parted = tuple(
        replace(each, cuts=tuple(sorted(cuts[index].union(each.cuts)))) if cuts.get(index) else each
        for index, each in enumerate(admissible)
    )
    codes = {index: f.codes for index, f in enumerate(space.features) if f.codes}
    related = Related(tuple(forbidden), tuple(rows), tuple(pairs), frozenset(any_number), codes)
    return related, parted


def _never(relation: Relation, space: FeatureSpace, before: FloatArray) -> list[tuple[Test, ...]]:
    """Return the tests that must not all pass at once for a relation to hold."""

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
                raise InputError(f"{relation} needs two different features. Give at least two.")
            ring = [*relation.features, relation.features[0]]
            return [(bound(Changes(one)), bound(Stays(other))) for one, other in pairwise(ring)]
        case AllowedPairs():
            return _outside_pairs(relation, bound)
    raise InputError(
        f"{relation!r} is not a relation. "
        "Use Implies, Together, Forbidden, AllowedPairs, Linear or JointCost."
    )


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
    """Return one inequality, or two for an equation."""
    if relation.sign not in ("<=", ">=", "=="):
        raise InputError(f"{relation}: sign must be '<=', '>=' or '==', got {relation.sign!r}.")
    features, factors = [], []
    for name, factor in relation.terms:
        index, feature = named_feature(name, space, relation)
        if feature.kind == "categorical":
            raise InputError(
                f"{relation}: {name} is categorical, and categories have no sum. "
                "Use AllowedPairs or Forbidden."
            )
        features.append(index)
        factors.append(_decimal(factor, relation))
    terms = [(i, f) for i, f in zip(features, factors, strict=True) if f != 0]
    if not terms or len(set(features)) < len(features):
        raise InputError(
            f"{relation}: a feature is repeated, or all factors are 0. "
            "Give each feature once, and a factor that is not 0."
        )
    indices, weights = (tuple(part) for part in zip(*terms, strict=True))
    bound = _decimal(relation.bound, relation)
    rows = []
    if relation.sign in ("<=", "=="):
        rows.append(SumRow(indices, weights, bound))
    if relation.sign in (">=", "=="):
        rows.append(SumRow(indices, tuple(-weight for weight in weights), -bound))
    return rows


def _decimal(value: object, where: object) -> Fraction:
    number = isinstance(value, int | float | np.integer | np.floating)
    # An integer may be larger than any float.
    if not number or isinstance(value, bool) or not abs(value) <= sys.float_info.max:  # type: ignore[arg-type]
        shown = "a number beyond float64" if number and value == value else repr(value)
        raise InputError(f"{where}: {shown} is not a finite number.")
    return Fraction(int(value)) if isinstance(value, int | np.integer) else written(value)  # type: ignore[arg-type]


def _pair_costs(relation: JointCost, space: FeatureSpace, before: FloatArray) -> PairCosts:
    where = f"JointCost({relation.first!r}, {relation.second!r})"
    first, one = named_feature(relation.first, space, where)
    second, other = named_feature(relation.second, space, where)
    if first == second:
        raise InputError(f"{where}: both features are {relation.first!r}. Give two different ones.")
    costs = {}
    for (a, b), cost in relation.costs:
        price = float(_decimal(cost, where))
        if not 0 <= price <= LARGEST_WEIGHT:
            raise InputError(f"{where}: a cost must be from 0 to {LARGEST_WEIGHT:g}, got {cost!r}.")
        key = (
            parse_value(one, a, where, before[first]),
            parse_value(other, b, where, before[second]),
        )
        if key[0] != key[0] or key[1] != key[1]:
            raise InputError(
                f"{where}: the pair ({a!r}, {b!r}) has a missing value. "
                "Leave it out: such pairs have no joint cost."
            )
        costs[key] = price
    costs.pop((float(before[first]), float(before[second])), None)  # staying is not a change
    return PairCosts(first, second, costs)


def _points(
    index: int, feature: Feature, before: FloatArray, admissible: Admissible, cost: Cost
) -> list[float] | None:
    """Return all values that a feature of a sum may take; None if it is continuous."""
    start = float(before[index])
    low, high = admissible.lower, admissible.upper
    if low > high:
        points: list[float] = []
    elif admissible.values is not None:
        points = [value for value in admissible.values if value == value]
    elif feature.values:
        points = [value for value in feature.values if low <= value <= high]
    elif cost.table(index):
        points = list(table_values(feature, cost.table(index) or {}))
    elif feature.kind == "ordinal" or feature.step:
        points = _multiples(feature, low, high)
    else:
        if cost.own[index] is not None or cost.power not in PLAIN_POWERS:
            raise InputError(
                f"{feature.name} may be any number, so Linear supports the norms 0, 1 and 'inf' "
                f"only. Give {feature.name} a step or digits, or use one of these norms."
            )
        return None
    return points if start != start else [*points, start]


def _multiples(feature: Feature, low: float, high: float) -> list[float]:
    grid = Grid(feature.step or 1.0)
    first, last = grid.at_least(np.array(low)), grid.at_most(np.array(high))
    count = np.rint((last - first) / grid.step) + 1
    if count > MOST_POINTS:
        raise InputError(
            f"{feature.name} has {count:.10g} admissible values, but Linear supports at most "
            f"{MOST_POINTS}. Give it a larger step, or add a Range."
        )
    every = first + grid.step * np.arange(max(0, int(count)))
    values: list[float] = grid.nearest(every).tolist()
    return [value for value in values if low <= value <= high]
