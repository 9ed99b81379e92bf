"""Relations between features, as rows and boxes of levels.

What must not come together is a forbidden box. A sum becomes a level row in which each level
counts with the least that a number of its cell can add: no admissible row is lost. Where numbers
within the chosen cells have to move so that the sum holds, the cheapest such numbers are found
exactly (``within_cells``), and the cells are priced with them: a further axis, with a free level
that these cells forbid and one that costs what they lack.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, floor, inf, lcm, prod
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.errors import InputError
from encoders.posing.axes import Axis, level_ends
from encoders.posing.layout import Layout
from encoders.posing.within_cells import Span, UnrepresentableError, cheapest_numbers
from encoders.problem.problem import Box, LevelRow, Problem
from encoders.query.conditions import Test, written
from encoders.query.features import Feature, FeatureSpace
from encoders.query.query import Query
from encoders.query.related import PairCosts, Related, SumRow

MOST_BOXES = 50_000  # of one relation; more are slower than anybody waits
ROUNDED = 1e-12  # share of a number that float64 may have lost in a few operations
SMALLEST = 1e-290  # of costs that are scaled
LARGEST_WEIGHT = 2**24  # of a level in a row of whole numbers; a larger one loses less

ZERO = Fraction(0)

Literal = tuple[int, int, int]  # axis, first and last level


@dataclass(frozen=True, eq=False)
class LevelsOf:
    """The levels of one feature that say what its value is.

    Attributes
    ----------
    axis, level : int64 (n_options,), where each option is
    value : float64 (n_options,), of the feature; the index of a category
    low, high : float64 (n_options,), numbers that are treated alike; ``value`` where there are none
    ordered : whether all are levels of one axis; else each has its own
    """

    axis: IntArray
    level: IntArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    ordered: bool

    def chosen(self, levels: IntArray) -> int:
        """Which option a choice takes.

        Parameters
        ----------
        levels : int64 (n_axes,)
        """
        return int(np.flatnonzero(levels[self.axis] == self.level)[0])


@dataclass(frozen=True, eq=False)
class Settled:
    """What becomes of a choice.

    Attributes
    ----------
    values : number of each feature that moves within its cell, by index; None if none will do
    price : what the moved features cost together, beyond their levels ("sum") or in all ("max")
    features : indices of those that the outcome depends on
    unmet : there are numbers that would do, but no float64 ones were found
    """

    values: Mapping[int, float] | None
    price: float
    features: tuple[int, ...]
    unmet: bool = False


def levels_of(
    feature: Feature, layout: Layout, ends: tuple[FloatArray, FloatArray] | None
) -> LevelsOf:
    """The options of a feature, wherever its axes are.

    Parameters
    ----------
    feature : any
    layout : of the query
    ends : smallest and largest number of each option, None where its value is the only one
    """
    if feature.one_hot:
        own = layout.first[list(feature.columns)]
        able = np.array([layout.axes[axis].value[-1] == 1 for axis in own.tolist()])
        axis, value = own[able], np.flatnonzero(able).astype(np.float64)
        return LevelsOf(axis, layout.size[axis] - 1, value, value, value, ordered=False)
    first, end = int(layout.first[feature.column]), int(layout.first[feature.column + 1])
    if feature.column in layout.classes:
        axis = np.arange(first, end)
        level = layout.size[axis] - 1
        value = np.array([layout.axes[a].value[-1] for a in range(first, end)])
        low, high = ends or (value, value)
        return LevelsOf(axis, level, value, low, high, ordered=False)
    options: Axis = layout.axes[first]
    level = np.arange(options.value.size)
    low, high = ends or (options.value, options.value)
    return LevelsOf(np.full(level.size, first), level, options.value, low, high, ordered=True)


@dataclass(frozen=True, eq=False)
class RelatedLevels:
    """Relations of a query and the levels that they are about.

    Attributes
    ----------
    related : the relations
    options : by index of feature
    query : what is asked
    space : the model's features
    n_axes : of the problem without what relations add
    """

    related: Related
    options: Mapping[int, LevelsOf]
    query: Query
    space: FeatureSpace
    n_axes: int

    def posed(self, problem: Problem) -> Problem:
        """The problem with boxes, rows and axes of the relations.

        Parameters
        ----------
        problem : without them
        """
        boxes = [box for tests in self.related.never for box in self._boxes(tests)]
        rows = [self._row(row, problem) for row in self.related.rows]
        problem = replace(
            problem,
            forbidden=(*problem.forbidden, *boxes),
            level_rows=(*problem.level_rows, *(row for row in rows if row is not None)),
        )
        for pair in self.related.pairs:
            problem = self._with_pair(problem, pair)
        return problem

    def complete(self, problem: Problem, levels: IntArray) -> IntArray:
        """A choice of the first axes, with the cheapest admissible level of each that follows.

        Parameters
        ----------
        problem : with all its axes
        levels : int64 (at least n_axes,)
        """
        whole = np.zeros(problem.n_axes, dtype=np.int64)
        whole[: self.n_axes] = levels[: self.n_axes]
        for axis in range(self.n_axes, problem.n_axes):
            own = [box for box in problem.forbidden if int(box.axis[-1]) == axis]
            for box in own:
                inside = whole[box.axis[:-1]]
                if ((box.lo[:-1] <= inside) & (inside <= box.hi[:-1])).all():
                    whole[axis] = max(whole[axis], int(box.hi[-1]) + 1)
        return whole

    def settle(self, levels: IntArray) -> list[Settled]:
        """What the sums make of a choice, one for each set of features that hang together.

        Nothing where the values that levels stand for keep all sums.

        Parameters
        ----------
        levels : int64 (n_axes,) or more
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
        """The problem without these cells, or with what they cost.

        Parameters
        ----------
        problem : as posed, with what has been cut since
        levels : int64, the choice that was settled
        settled : what came of it
        """
        literals = []
        for index in settled.features:
            own = self.options[index]
            at = own.chosen(levels)
            literals.append((int(own.axis[at]), int(own.level[at]), int(own.level[at])))
        if settled.values is None:
            return replace(problem, forbidden=(*problem.forbidden, _box(literals)))
        axis = problem.n_axes
        problem = problem.with_axis(np.array([0.0, settled.price]))
        literals.append((axis, 0, 0))
        return replace(problem, forbidden=(*problem.forbidden, _box(literals)))

    def bounded(self, problem: Problem, posed: Problem, upper: float) -> Problem:
        """The problem with rows that only what costs less than an answer keeps.

        A number moves at most so far as it may cost, which limits what it adds to a sum. And where
        costs add up: with a price on the sum, ``cost + price * (sum - most)`` is at most the cost
        of any row that keeps it, and is bounded level by level. Prices are those at which a feature
        would rather move than not.

        Parameters
        ----------
        problem : as posed, with what has been cut since
        posed : as posed
        upper : cost of an answer
        """
        rows = []
        for row in self.related.rows:
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

    def _prices(self, row: SumRow) -> set[float]:
        found = {
            self._unit(index) / abs(float(factor))
            for index, factor in zip(row.features, row.factors, strict=True)
            if index in self.related.any_number and self.query.cost.power
        }
        return {price for price in found if 0 < price < inf}

    def _priced(self, row: SumRow, posed: Problem, upper: float, price: float) -> LevelRow:
        value = posed.cost.copy()
        room = upper + price * float(row.most)
        for index, factor in zip(row.features, row.factors, strict=True):
            own, slope = self.options[index], price * float(factor)
            at = posed.level_start[own.axis] + own.level
            start = float(self.space.values(self.query.row)[index])
            ends = [own.low, own.high, own.value, np.clip(start, own.low, own.high)]
            least = np.min([self._costs(index, end) + slope * end for end in ends], axis=0)
            value[at] = least - least.min()
            room -= float(least.min())
        # Of sums of some products, all in float64.
        room += ROUNDED * (abs(upper) + abs(price * float(row.most)) + float(np.abs(value).max()))
        scale = LARGEST_WEIGHT / max(float(value.max()), room, SMALLEST)
        return LevelRow(np.floor(value * scale).astype(np.int64), max(-1, ceil(room * scale)))

    @cached_property
    def _components(self) -> list[list[SumRow]]:
        """Rows that share features, together."""
        parts: list[tuple[set[int], list[SumRow]]] = []
        for row in self.related.rows:
            mine = set(row.features)
            touched = [part for part in parts if part[0] & mine]
            parts = [part for part in parts if not part[0] & mine]
            parts.append(
                (mine.union(*(f for f, _ in touched)), [r for _, rs in touched for r in rs] + [row])
            )
        return [rows for _, rows in parts]

    def _settled(self, rows: list[SumRow], features: list[int], at: dict[int, int]) -> Settled:
        """The cheapest numbers in the chosen cells that keep the rows."""
        value = {index: float(self.options[index].value[at[index]]) for index in features}
        rows = [row for row in rows if all(value[i] == value[i] for i in row.features)]
        free = [i for i in features if i in self.related.any_number and value[i] == value[i]]
        before, cost = self.space.values(self.query.row), self.query.cost
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
        before = float(self.space.values(self.query.row)[index])
        price = self.query.admissible[index].missing
        feature = self.space.features[index]
        return self.query.cost.of(index, feature, before, values, price)

    def _boxes(self, tests: tuple[Test, ...]) -> Iterator[Box]:
        """Boxes in which all tests pass."""
        sides = [list(self._passing(test)) for test in tests]
        if prod(map(len, sides)) > MOST_BOXES:
            raise InputError(
                "a relation between features parts their values too finely; give them a step, "
                "fewer values, or narrower bounds."
            )
        for literals in product(*sides):
            joined = _joined([literal for part in literals for literal in part])
            if joined is not None:
                yield _box(joined)

    def _passing(self, test: Test) -> Iterator[list[Literal]]:
        """Alternatives, each of literals that hold together."""
        own = self.options[test.index]
        passes = test.passes(own.value)
        if own.ordered:
            edges = np.flatnonzero(np.diff(np.r_[False, passes, False].astype(np.int64)))
            for lo, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
                yield [(int(own.axis[0]), lo, end - 1)]
        elif passes.all():
            yield []
        elif passes.sum() == 1:
            at = int(np.flatnonzero(passes)[0])
            yield [(int(own.axis[at]), int(own.level[at]), int(own.level[at]))]
        elif passes.any():  # it is none of the others
            others = np.flatnonzero(~passes).tolist()
            yield [(int(own.axis[at]), 0, int(own.level[at]) - 1) for at in others]

    def _row(self, row: SumRow, problem: Problem, upper: float = inf) -> LevelRow | None:
        """What levels add at least, in whole numbers; what is missing fulfils the row.

        Numbers do not move further than ``upper`` pays for.
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
        """Of each option the end that adds least, as far as it may cost."""
        own, unit = self.options[index], self._unit(index)
        start = float(self.space.values(self.query.row)[index])
        ends = own.low if factor > 0 else own.high
        if index in self.related.any_number and self.query.cost.power and unit > 0:
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

    def _with_pair(self, problem: Problem, pair: PairCosts) -> Problem:
        """A further axis, whose levels are the joint costs; pairs forbid all that are too cheap."""
        first, second = self.options[pair.first], self.options[pair.second]
        prices = sorted({0.0, *pair.cost.values()})
        axis, boxes = problem.n_axes, []
        for (one, other), cost in pair.cost.items():
            ends = [np.flatnonzero(o.value == v) for o, v in ((first, one), (second, other))]
            if cost > 0 and all(end.size for end in ends):
                literals = [
                    (int(own.axis[end[0]]), int(own.level[end[0]]), int(own.level[end[0]]))
                    for own, end in zip((first, second), ends, strict=True)
                ]
                boxes.append(_box([*literals, (axis, 0, prices.index(cost) - 1)]))
        wider = problem.with_axis(np.array(prices))
        return replace(wider, forbidden=(*wider.forbidden, *boxes))


def _joined(literals: list[Literal]) -> list[Literal] | None:
    """One literal an axis; None if none can hold."""
    spans: dict[int, tuple[int, int]] = {}
    for axis, lo, hi in literals:
        low, high = spans.get(axis, (lo, hi))
        spans[axis] = max(low, lo), min(high, hi)
    if any(lo > hi for lo, hi in spans.values()):
        return None
    return [(axis, lo, hi) for axis, (lo, hi) in spans.items()]


def _box(literals: list[Literal]) -> Box:
    axis, lo, hi = (np.array(part, dtype=np.int64) for part in zip(*sorted(literals), strict=True))
    return Box(axis, lo, hi)


def _number(value: float) -> Fraction:
    return written(value) if value == value else ZERO


def relate_levels(
    related: Related,
    layout: Layout,
    boundaries: Sequence[FloatArray],
    dtype: np.dtype[Any],
    query: Query,
    space: FeatureSpace,
) -> RelatedLevels:
    """Relations of a query over its levels.

    Parameters
    ----------
    related : the relations
    layout : of the query
    boundaries : per column, as of :class:`encoders.trees.cells.Cells`
    dtype : the model's input type
    query : what is asked
    space : the model's features
    """
    options = {}
    for index in sorted(related.features):
        feature, ends = space.features[index], None
        if index in related.any_number:
            own = levels_of(feature, layout, None)
            boundary, admissible = boundaries[feature.column], query.admissible[index]
            ends = level_ends(own.value, boundary, dtype, admissible, feature)
        options[index] = levels_of(feature, layout, ends)
    return RelatedLevels(related, options, query, space, len(layout.axes))
