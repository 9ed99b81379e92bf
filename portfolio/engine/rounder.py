"""Answers in fewer digits, as far as the model's own predict agrees."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cached_property
from itertools import islice

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError
from encoders.query.features import FeatureSpace, same
from encoders.query.query import Query
from portfolio.engine.onward import with_onward
from portfolio.engine.verify import RELATIVE_TOLERANCE, Verified, priced
from portfolio.model.oracle import Oracle
from portfolio.model.row import Row
from portfolio.results.change import Change
from portfolio.results.result import Rounded

EXTRA_COST = 0.001  # relative increase of the distance that fewer digits may cost
TOLD_DIGITS = 4  # digits of a change in sentences, for an error below a thousandth of it
MOST_DIGITS = 17  # digits that distinguish any two float64
COARSEST = 4  # roundings of a feature that are combined with those of others
MOST_ROWS, MOST_ASKED = 4096, 16  # combinations that are compared, that are predicted
DECIMAL = Context(prec=80)


@dataclass(frozen=True, eq=False)
class Rounder:
    """Search for numbers with fewer digits, run on demand.

    Numbers are rounded away from the query only, and only those that may be any number.
    """

    query: Query
    space: FeatureSpace  # the model's features
    oracle: Oracle  # the model itself
    found: Verified  # verified answer
    row: Row  # query as the user passed it

    def told(self) -> tuple[Change, ...]:
        """Return the changes with as few digits as sentences show, confirmed by the model."""
        exact = {index: self._exact(index) for index in self._free()}
        if not exact:
            return self.found.changed
        for digits in range(TOLD_DIGITS, MOST_DIGITS):
            rounded = {index: self._rounded(index, digits) for index in exact}
            candidate = self._with_numbers(rounded)
            if candidate is not None and self._holds(candidate):
                return self._onward(candidate)
        return self.found.changed

    def fewest(self) -> Rounded | None:
        """Return an answer of almost equal cost with the fewest digits; None if none has fewer."""
        most, n_rejected = self.found.distance * (1 + EXTRA_COST), 0
        for numbers in self._combined(most):
            candidate = self._with_numbers({number.index: number.value for number in numbers})
            if candidate is None or candidate.distance > most:
                continue
            if self._holds(candidate):
                extra_cost = (
                    candidate.distance / self.found.distance - 1 if self.found.distance else 0.0
                )
                row = self.row.holding(candidate.row)
                return Rounded(
                    candidate.distance, max(0.0, extra_cost), row, self._onward(candidate)
                )
            n_rejected += 1
            if n_rejected == MOST_ASKED:
                break
        return None

    def _combined(self, most: float) -> Iterator[tuple["_Number", ...]]:
        """Yield combinations of numbers in ascending order of digits, then of cost.

        Costs are summed by feature, so that thousands of rows need not be priced one by one. The
        rows that are yielded are priced later, as relations of features may add costs.
        """
        free = self._free()
        lists = [self._coarsest(index, most) for index in free]
        now = sum(number[-1].digits for number in lists)
        row = np.arange(min(MOST_ROWS, math.prod(map(len, lists))))
        add = np.add if self.query.cost.aggregate == "sum" else np.maximum
        others = (cost for index, cost in self._found_costs.items() if index not in free)
        costs = np.full(row.size, add.reduce([0.0, *others]))
        digits, places = np.zeros(row.size, dtype=np.int64), []
        for numbers in reversed(lists):
            row, place = np.divmod(row, len(numbers))
            places.append(place)
            digits += np.array([number.digits for number in numbers])[place]
            costs = add(costs, np.array([number.cost for number in numbers])[place])
        fewer = np.flatnonzero((digits < now) & (costs <= most * (1 + RELATIVE_TOLERANCE)))
        for at in fewer[np.lexsort((costs[fewer], digits[fewer]))]:
            choice = zip(lists, reversed(places), strict=True)
            yield tuple(numbers[place[at]] for numbers, place in choice)

    def _free(self) -> list[int]:
        """Return the features that have changed to a number that may be replaced by others."""
        before, after = self.space.values(self.query.row), self.space.values(self.found.row)
        has_number = ~np.isnan(self.space.without_codes(after))
        return [
            int(index)
            for index in np.flatnonzero(~same(before, after) & has_number)
            if self.query.any_number(int(index), self.space.features[index])
        ]

    def _exact(self, index: int) -> float:
        return float(self.found.row[self.space.features[index].column])

    def _coarsest(self, index: int, most: float) -> list["_Number"]:
        """Return some affordable roundings of a feature, and the exact number."""
        exact = self._exact(index)
        unrounded = _Number(index, exact, _digits(exact), self._found_costs.get(index, 0.0))
        return [*islice(self._affordable(index, exact, most), COARSEST), unrounded]

    def _affordable(self, index: int, exact: float, most: float) -> Iterator["_Number"]:
        values = {exact}
        for digits in range(1, MOST_DIGITS):
            value = self._rounded(index, digits)
            if value not in values:
                values.add(value)
                number = self._number(index, value)
                if number is not None and self._distance(number) <= most:
                    yield number

    def _number(self, index: int, value: float) -> "_Number | None":
        """Return a feature's number with its cost, None if the question does not admit it."""
        feature, admissible = self.space.features[index], self.query.admissible[index]
        if not admissible.lower <= value <= admissible.upper or value in feature.codes:
            return None
        before = float(self.query.row[feature.column])
        moved = np.array([value])
        try:
            cost = self.query.cost.of(index, feature, before, moved, admissible)
        except InputError:  # the user's costs reject this number
            return None
        return _Number(index, value, _digits(value), float(cost[0]))

    def _distance(self, number: "_Number") -> float:
        """Return the distance of the answer with another number of one feature."""
        if self.query.related is not None:
            candidate = self._with_numbers({number.index: number.value})
            return math.inf if candidate is None else candidate.distance
        costs = self._found_costs | {number.index: number.cost}
        if self.query.cost.aggregate == "sum":
            return math.fsum(costs.values())
        return max(costs.values(), default=0.0)

    @cached_property
    def _found_costs(self) -> dict[int, float]:
        """Cost of each changed feature, by its position."""
        places = {feature.name: at for at, feature in enumerate(self.space.features)}
        return {places[change.feature]: change.cost for change in self.found.changed}

    def _rounded(self, index: int, digits: int) -> float:
        """Return the answer's number rounded away from the query, to some digits of the change."""
        feature = self.space.features[index]
        before = feature.without_code(float(self.query.row[feature.column]))
        after = self._exact(index)
        moved = after if math.isnan(before) else after - before
        if moved == 0 or not math.isfinite(moved):
            return after
        unit = Decimal(1).scaleb(math.floor(math.log10(abs(moved))) + 1 - digits)
        way = ROUND_CEILING if moved > 0 else ROUND_FLOOR
        return float(Decimal(after).quantize(unit, way, context=DECIMAL)) + 0.0

    def _with_numbers(self, values: dict[int, float]) -> Verified | None:
        """Return the answer with other numbers; None if the question does not admit them."""
        row: FloatArray = self.found.row.copy()
        for index, value in values.items():
            row[self.space.features[index].column] = value
        try:
            return priced(row, self.query, self.space)
        except InputError:  # the user's costs reject this number
            return None

    def _onward(self, candidate: Verified) -> tuple[Change, ...]:
        query, space, ensemble = self.query, self.space, self.oracle.ensemble
        return with_onward(candidate.changed, candidate.row, query, space, ensemble, rounded=True)

    def _holds(self, candidate: Verified) -> bool:
        return self.oracle.accepts_with(candidate.row, self.query.goal, self.query.margin)


@dataclass(frozen=True)
class _Number:
    """Number that a feature may be rounded to."""

    index: int
    value: float
    digits: int
    cost: float


def _digits(value: float) -> int:
    """Return the number of significant digits of a number."""
    return len(Decimal(repr(value)).normalize().as_tuple().digits)
