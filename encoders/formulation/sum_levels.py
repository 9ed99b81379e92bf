"""Sums of features, as rows of levels, and their effect on a choice.

In a row each level counts with the least that a number of its cell can add: no admissible row is
lost. If numbers within the chosen cells have to move so that the sum holds, the cheapest such
numbers are found exactly (``within_cells``). The cells get a price: a further axis has a free level
that these cells forbid and one that costs the difference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, floor, inf, lcm
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.errors import Over, look, never
from encoders.formulation.feature_levels import LevelsOf, box_of
from encoders.problem.problem import LevelRow, Problem
from encoders.query.conditions import written
from encoders.query.cost import LARGEST
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from encoders.query.related import SumRow

NEAR = 3  # float64 to each side of the exact number; further ones are not closer in any digit

MOST_FREE = 6  # numbers that are rounded in all ways together

ROUNDED = 1e-12  # share of a number that float64 may have lost in a few operations

SMALLEST = 1e-290  # of costs that are scaled

LARGEST_WEIGHT = 2**24  # of a level in a row of whole numbers; a larger one loses less

ZERO = Fraction(0)


@dataclass(frozen=True)
class Span:
    """A number that may move.

    Attributes
    ----------
    before : the query's, NaN if it is missing
    low, high : ends of the interval
    unit : cost of moving by 1, or of moving at all (power 0)
    """

    before: float
    low: float
    high: float
    unit: float


Limit = tuple[list[Fraction], Fraction]  # factors of the numbers, and what their sum is at most


class UnrepresentableError(ArithmeticError):
    """No float64 numbers near the exact optimum were found that keep the sums."""


def cheapest_numbers(
    spans: Sequence[Span], limits: Sequence[Limit], power: float, aggregate: str
) -> list[float] | None:
    """Return numbers of least cost; None if there are none.

    A single number is found exactly among all float64. Several numbers are found by Z3 as an exact
    rational optimum, and rounded to float64 that keep the sums as written.
    """
    if len(spans) == 1:
        return _single_number(spans[0], [(factors[0], most) for factors, most in limits])
    import z3  # takes a while

    optimizer = z3.Optimize()
    numbers = [z3.Real(f"x{i}") for i in range(len(spans))]
    costs: list[Any] = []
    for number, span in zip(numbers, spans, strict=True):
        optimizer.add(number >= _exact(span.low), number <= _exact(span.high))
        if span.before == span.before:
            before, unit = _exact(span.before), _exact(span.unit)
            distance = z3.If(number >= before, number - before, before - number)
            moved = z3.If(number == before, z3.RealVal(0), z3.RealVal(1))
            costs.append(unit * (moved if power == 0 else distance))
    for factors, most in limits:
        terms = [_exact(f) * x for f, x in zip(factors, numbers, strict=True) if f]
        optimizer.add((z3.Sum(terms) if terms else z3.RealVal(0)) <= _exact(most))
    if aggregate == "max" and costs:
        largest = z3.Real("largest")
        optimizer.add(*(largest >= cost for cost in costs))
        optimizer.minimize(largest)
    elif costs:
        optimizer.minimize(z3.Sum(costs))
    answer = optimizer.check()
    if answer == z3.unsat:
        return None
    if answer != z3.sat:  # it gave up, which says nothing
        raise UnrepresentableError
    model = optimizer.model()
    exact = [_fraction(model.eval(number, model_completion=True)) for number in numbers]
    return _rounded(exact, spans, limits)


def _single_number(span: Span, limits: Sequence[tuple[Fraction, Fraction]]) -> list[float] | None:
    """Return the float64 nearest to the query's that keeps all limits; None if none does."""
    low, high = span.low, span.high
    for factor, most in limits:
        if factor > 0:
            high = min(high, _last_written(most / factor))
        elif factor < 0:
            low = max(low, -_last_written(-most / factor))
        elif most < 0:
            return None
    near = span.before if span.before == span.before else 0.0
    return [min(max(near, low), high)] if low <= high else None


def _last_written(bound: Fraction) -> float:
    """Return the largest float64 that is written as a decimal of at most the bound."""
    if abs(bound) > LARGEST:
        return LARGEST if bound > 0 else -float(np.inf)
    number = float(bound)
    while written(number) > bound:
        number = float(np.nextafter(number, -np.inf))
    while number < LARGEST and written(beyond := float(np.nextafter(number, np.inf))) <= bound:
        number = beyond
    return number


def _exact(number: float | Fraction) -> Any:
    import z3

    value = written(number) if isinstance(number, float) else number
    return z3.Q(value.numerator, value.denominator)


def _fraction(value: Any) -> Fraction:
    return Fraction(value.numerator_as_long(), value.denominator_as_long())


def _rounded(
    exact: Sequence[Fraction], spans: Sequence[Span], limits: Sequence[Limit]
) -> list[float]:
    """Return the float64 numbers nearest to the exact ones that keep the sums."""
    choices = []
    for value, span in zip(exact, spans, strict=True):
        near = [float(value)]
        for way in (-np.inf, np.inf):
            beside = near[0]
            for _ in range(NEAR):
                beside = float(np.nextafter(beside, way))
                near.append(beside)
        # A whole number of steps in all numbers at once keeps differences, which matter most.
        inside = [v for v in near if span.low <= v <= span.high]
        choices.append(inside or [min(max(near[0], span.low), span.high)])
    if len(exact) > MOST_FREE:
        choices = [_safe(own, i, limits) for i, own in enumerate(choices)]
    tries = sorted(
        product(*choices),
        key=lambda row: sum(abs(written(x) - e) for x, e in zip(row, exact, strict=True)),
    )
    for row in tries:
        if all(_keeps(row, limit) for limit in limits):
            return list(row)
    raise UnrepresentableError


def _safe(near: list[float], index: int, limits: Sequence[Limit]) -> list[float]:
    """Return one number as a list: the one that lowers every sum most, else the nearest."""
    signs = {factors[index] > 0 for factors, _ in limits if factors[index]}
    if signs == {True}:
        return [min(near)]
    if signs == {False}:
        return [max(near)]
    return near[:1]


def _keeps(row: Sequence[float], limit: Limit) -> bool:
    factors, most = limit
    return sum((f * written(x) for f, x in zip(factors, row, strict=True)), Fraction(0)) <= most


@dataclass(frozen=True, eq=False)
class Settled:
    """Numbers within the cells of a choice that keep the sums.

    Attributes
    ----------
    values : number of each feature that moves within its cell, by index; None if none will do.
    price : joint cost of the moved features, beyond their levels ("sum") or in all ("max").
    features : indices of those that the outcome depends on.
    unmet : whether there are such numbers, but no float64 ones were found.
    """

    values: Mapping[int, float] | None
    price: float
    features: tuple[int, ...]
    unmet: bool = False


@dataclass(frozen=True, eq=False)
class SumLevels:
    """Sums of a query over its levels."""

    rows: Sequence[SumRow]  # the sums, at least one
    any_number: frozenset[int]  # features of the sums that may be any number of an interval
    options: Mapping[int, LevelsOf]  # levels by index of feature
    query: Query
    space: FeatureSpace  # the model's features

    def posed(self, problem: Problem, over: Over = never) -> Problem:
        """Return the problem with a row for each sum."""
        rows = []
        for row in self.rows:
            look(over)
            rows.append(self._row(row, problem))
        told = tuple(row for row in rows if row is not None)
        return replace(problem, level_rows=(*problem.level_rows, *told))

    def settle(self, levels: IntArray) -> list[Settled]:
        """Return the outcome of each set of connected features in a choice.

        The list is empty if the values of the levels keep all sums.
        """
        values = {index: own.chosen(levels) for index, own in self.options.items()}
        found = []
        for rows in self._components:
            features = sorted({index for row in rows for index in row.features})
            at = {index: values[index] for index in features}
            held = np.zeros(len(self.space.features))
            held[features] = [self.options[i].value[at[i]] for i in features]
            if not all(row.holds(held) for row in rows):
                found.append(self._settled(rows, features, at))
        return found

    def cut(self, problem: Problem, levels: IntArray, settled: Settled) -> Problem:
        """Return the problem in which settled cells are forbidden or cost their joint price."""
        literals = []
        for index in settled.features:
            own = self.options[index]
            at = own.chosen(levels)
            literals.append((int(own.axis[at]), int(own.level[at]), int(own.level[at])))
        if settled.values is None:
            return replace(problem, forbidden=(*problem.forbidden, box_of(literals)))
        axis = problem.n_axes
        problem = problem.with_axis(np.array([0.0, settled.price]))
        literals.append((axis, 0, 0))
        return replace(problem, forbidden=(*problem.forbidden, box_of(literals)))

    def bounded(self, problem: Problem, posed: Problem, upper: float) -> Problem:
        """Return the problem with rows that only choices cheaper than an answer keep.

        The cost limits how far a number moves, and thus its contribution to a sum. If costs add up,
        a price on the sum gives another row, bounded level by level. For rows that keep the sum,
        ``cost + price * (sum - most)`` is at most the cost. At these prices a feature would rather
        move than not.
        """
        rows = []
        for row in self.rows:
            own = self._row(row, posed, upper)
            if own is None:
                continue
            rows.append(own)
            if self.query.cost.aggregate == "sum":
                rows += [self._priced(row, posed, upper, price) for price in self._prices(row)]
        nothing = np.zeros(problem.cost.size - posed.cost.size, dtype=np.int64)
        longer = [LevelRow(np.concatenate([row.weight, nothing]), row.maximum) for row in rows]
        kept = problem.level_rows[: len(posed.level_rows)]
        return replace(problem, level_rows=(*kept, *longer))

    @cached_property
    def _before(self) -> FloatArray:
        """Return the query's values, NaN for those that are missing or a code for it."""
        return self.space.without_codes(self.space.values(self.query.row))

    @cached_property
    def _components(self) -> list[list[SumRow]]:
        """Rows that share features, together."""
        parts: list[tuple[set[int], list[SumRow]]] = []
        for row in self.rows:
            mine = set(row.features)
            touched = [part for part in parts if part[0] & mine]
            parts = [part for part in parts if not part[0] & mine]
            parts.append(
                (mine.union(*(f for f, _ in touched)), [r for _, rs in touched for r in rs] + [row])
            )
        return [rows for _, rows in parts]

    def _settled(self, rows: list[SumRow], features: list[int], at: dict[int, int]) -> Settled:
        """Find the cheapest numbers within the chosen cells that satisfy the rows."""
        value = {index: float(self.options[index].value[at[index]]) for index in features}
        rows = [row for row in rows if all(value[i] == value[i] for i in row.features)]
        free = [i for i in features if i in self.any_number and value[i] == value[i]]
        before, cost = self._before, self.query.cost
        spans = []
        for index in free:
            own, place = self.options[index], at[index]
            ends = float(own.low[place]), float(own.high[place])
            spans.append(Span(float(before[index]), *ends, self._unit(index)))
        limits = []
        for row in rows:
            factor = dict(zip(row.features, row.factors, strict=True))
            used = sum((f * written(value[i]) for i, f in factor.items() if i not in free), ZERO)
            limits.append(([factor.get(i, ZERO) for i in free], row.most - used))
        try:
            found = cheapest_numbers(spans, limits, cost.power, cost.aggregate) if free else None
        except UnrepresentableError:
            return Settled(None, inf, tuple(features), unmet=True)
        if found is None:
            return Settled(None, inf, tuple(features))
        numbers = dict(zip(free, found, strict=True))
        return Settled(numbers, self._price(free, at, found), tuple(features))

    def _row(self, row: SumRow, problem: Problem, upper: float = inf) -> LevelRow | None:
        """Return the least that levels add, in integers; None if missing values fulfil the row.

        Numbers move no further than ``upper`` allows.
        """
        least = [
            factor
            * np.array([_number(end) for end in self._ends(index, factor, upper)], dtype=object)
            for index, factor in zip(row.features, row.factors, strict=True)
        ]
        if any(np.isnan(self.options[index].value).any() for index in row.features):
            return None  # what is missing fulfils it: choices are settled one by one
        room = row.most - sum(parts.min() for parts in least)
        shifted = [parts - parts.min() for parts in least]
        widest = max(parts.max() for parts in shifted)
        scale = Fraction(lcm(room.denominator, *(p.denominator for s in shifted for p in s)))
        if widest * scale > LARGEST_WEIGHT:
            scale = LARGEST_WEIGHT / widest
        weight, most = np.zeros(problem.cost.size, dtype=np.int64), 0
        for index, parts in zip(row.features, shifted, strict=True):
            own = self.options[index]
            whole = [floor(part * scale) for part in parts]
            weight[problem.level_start[own.axis] + own.level] = whole
            most += max(whole)
        return LevelRow(weight, max(-1, min(floor(room * scale), most)))

    def _ends(self, index: int, factor: Fraction, upper: float) -> list[float]:
        """Return the end of each option that adds least, within the cost limit."""
        own, unit = self.options[index], self._unit(index)
        start = float(self._before[index])
        ends = own.low if factor > 0 else own.high
        if index in self.any_number and self.query.cost.power and unit > 0:
            reach = (1 + ROUNDED) * upper / unit + ROUNDED * abs(start)
            if reach < inf:  # a level that is beyond it is ruled out by its cost
                nearer = (
                    np.maximum(ends, start - reach)
                    if factor > 0
                    else np.minimum(ends, start + reach)
                )
                ends = np.clip(nearer, own.low, own.high)
        found: list[float] = ends.tolist()
        return found

    def _prices(self, row: SumRow) -> set[float]:
        found = {
            self._unit(index) / abs(float(factor))
            for index, factor in zip(row.features, row.factors, strict=True)
            if index in self.any_number and self.query.cost.power
        }
        return {price for price in found if 0 < price < inf}

    def _priced(self, row: SumRow, posed: Problem, upper: float, price: float) -> LevelRow:
        value = posed.cost.copy()
        room, size = upper + price * float(row.most), abs(upper) + abs(price * float(row.most))
        for index, factor in zip(row.features, row.factors, strict=True):
            own, slope = self.options[index], price * float(factor)
            at = posed.level_start[own.axis] + own.level
            start = float(self._before[index])
            ends = [own.low, own.high, own.value]
            if start == start:  # else it is missing, and all numbers cost the same
                ends.append(np.clip(start, own.low, own.high))
            least = np.min([self._costs(index, end) + slope * end for end in ends], axis=0)
            value[at] = least - least.min()
            room -= float(least.min())
            size += float(np.max(np.abs(slope) * np.abs([own.low, own.high])))
        # Rounding error of sums of products, all in float64: large ones may cancel in the sum,
        # their errors do not.
        room += ROUNDED * (size + float(np.abs(value).max()))
        scale = LARGEST_WEIGHT / max(float(value.max()), room, SMALLEST)
        return LevelRow(np.floor(value * scale).astype(np.int64), max(-1, ceil(room * scale)))

    def _unit(self, index: int) -> float:
        """Weight of a change, per unit of the feature."""
        cost = self.query.cost
        return cost.weight[index] / (cost.unit[index] if cost.power else 1.0)

    def _price(self, free: list[int], at: dict[int, int], found: list[float]) -> float:
        now = [self._cost(i, value) for i, value in zip(free, found, strict=True)]
        if self.query.cost.aggregate == "max":
            return max(now)
        levels = [self._cost(i, float(self.options[i].value[at[i]])) for i in free]
        return max(0.0, sum(now) - sum(levels))

    def _cost(self, index: int, value: float) -> float:
        return float(self._costs(index, np.array([value]))[0])

    def _costs(self, index: int, values: FloatArray) -> FloatArray:
        before = float(self._before[index])
        admissible = self.query.admissible[index]
        feature = self.space.features[index]
        return self.query.cost.of(index, feature, before, values, admissible)


def _number(value: float) -> Fraction:
    return written(value) if value == value else ZERO
