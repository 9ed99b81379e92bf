"""How far one demand has to be loosened so that there is an answer, and what that answer costs."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import partial
from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.query.constraints import Constraint, MaxChanges, Range
from encoders.query.features import Feature
from encoders.query.grid import Grid
from encoders.query.relations import Relation
from encoders.trees.input_type import last_read_as
from portfolio.change import exactly
from portfolio.questions.why_not.conflict import Trials
from portfolio.questions.why_not.members import Limits, Member
from portfolio.result import Result

Loosened = Callable[[float], Constraint | Limits]
DIGITS = 4  # of what a limit is moved by, in sentences
DECIMAL = Context(prec=400)


@dataclass(frozen=True)
class Relaxation:
    """One demand loosened, all others as they were.

    Attributes
    ----------
    member : the demand
    limit : what is loosened, "upper" or "lower" limit or "count"; "all" if the demand is dropped
    before, after : the limit as it was, and the least loosened one with which there is an answer;
        None where the demand is dropped
    least : whether it is proved that nothing between the two will do
    result : the nearest answer with the loosened demand; its status says what is proved
    dropped : the nearest answer without the demand
    """

    member: Member
    limit: str
    before: float | None
    after: float | None
    least: bool
    result: Result
    dropped: Result

    @property
    def distance(self) -> float:
        """Of the nearest answer with the loosened demand."""
        return self.result.distance

    def __str__(self) -> str:
        proved = " (proved)" if self.result.status == "optimal" else ""
        words = f"{self.words}, distance {self.distance:.6g}{proved}"
        if self.limit != "all" and self.dropped.distance < self.distance:
            words += f"; without any limit {self.dropped.distance:.6g}"
        reached = ", ".join(f"{c.feature} {c.reached}" for c in self.result.told)
        return f"{words}: {reached}."

    @property
    def words(self) -> str:
        """What is loosened, and how far."""
        if self.before is None or self.after is None:
            return f"without '{self.member.words}'"
        before = exactly(float(self.before))
        after = exactly(_onward(self.before, self.after))
        least = "" if self.least else ", maybe less,"
        if self.limit == "count":
            return f"{after} changes{least} instead of {before}"
        way = "up to" if self.limit == "upper" else "down to"
        return f"{self.member.feature} {way} {after}{least} instead of {before}"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        return {
            "member": self.member.words,
            "limit": self.limit,
            "before": self.before,
            "after": self.after,
            "least": self.least,
            "status": self.result.status,
            "distance": self.distance,
            "lower_bound": self.result.lower_bound,
            "result": self.result.to_dict(),
            "dropped": self.dropped.to_dict(),
        }


def _onward(before: float, after: float) -> float:
    """A little further, in as few digits as keep a thousandth of the difference."""
    moved = after - before
    if moved == 0 or not math.isfinite(moved):
        return float(after)
    unit = Decimal(1).scaleb(math.floor(math.log10(abs(moved))) + 1 - DIGITS)
    way = ROUND_CEILING if moved > 0 else ROUND_FLOOR
    return float(Decimal(after).quantize(unit, way, context=DECIMAL)) + 0.0


def relax(trials: Trials, at: int) -> Relaxation | None:
    """How far a demand has to be loosened; None if that alone does not help, or is not known to.

    Parameters
    ----------
    trials : ask
    at : place of the member
    """
    dropped = trials.nearest(frozenset({at}))
    if dropped is None or dropped.row is None:
        return None
    member = trials.demands.members[at]
    ladder = _ladder(trials, at, dropped)
    if ladder is None or not ladder.rungs:
        return Relaxation(member, "all", None, None, True, dropped, dropped)
    after, least = _least(trials, at, ladder)
    result = trials.nearest(frozenset(), (at, ladder.loosened(after)))
    if result is None or result.row is None:  # no time: the answer without it keeps this, too
        after, least, result = ladder.rungs[-1], False, dropped
    related = any(isinstance(c, Relation) for c in trials.demands.question.constraints)
    least &= not related or ladder.limit == "count"
    return Relaxation(member, ladder.limit, ladder.before, after, least, result, dropped)


@dataclass(frozen=True, eq=False)
class _Ladder:
    """Values to which a limit may be loosened, each next one further; the last will do.

    Attributes
    ----------
    limit : "upper", "lower" or "count"
    before : as it was
    rungs : no two neighbours have an admissible cell between them
    loosened : the demand with another limit
    reached : the least limit that an answer keeps
    """

    limit: str
    before: float
    rungs: Sequence[float]
    loosened: Loosened
    reached: Callable[[Result], float]


def _ladder(trials: Trials, at: int, dropped: Result) -> _Ladder | None:
    member = trials.demands.members[at]
    rule = member.constraint
    if isinstance(rule, MaxChanges):
        counts = [float(n) for n in range(rule.count + 1, _counted(rule, dropped) + 1)]
        return _Ladder(
            "count",
            rule.count,
            counts,
            lambda n: MaxChanges(int(n), rule.among),
            partial(_counted, rule),
        )
    space = trials.demands.asker.model.space
    feature = space.named(member.feature)
    if feature is None or not (isinstance(rule, Range) or member.kind == "bounds"):
        return None
    index = space.features.index(feature)
    own = float(space.values(trials.demands.row.values)[index])
    if isinstance(rule, Range):
        lower, upper = float(rule.lower), float(rule.upper)
    else:  # a query beyond its bounds widens them
        lower, upper = np.fmin(feature.lower, own), np.fmax(feature.upper, own)

    def value(result: Result) -> float:
        assert result.row is not None
        return float(result.row.values[feature.column])

    def limited(low: float, high: float) -> Constraint | Limits:
        return Range(feature.name, low, high) if isinstance(rule, Range) else (low, high)

    far = value(dropped)
    if far > upper:
        rungs = [v for v in _rungs(trials, feature, 1) if upper < v < far]
        return _Ladder("upper", upper, [*rungs, far], lambda v: limited(lower, v), value)
    if far < lower:
        rungs = [v for v in _rungs(trials, feature, -1) if far < v < lower]
        return _Ladder("lower", lower, [*rungs, far], lambda v: limited(v, upper), value)
    return None


def _counted(rule: MaxChanges, result: Result) -> int:
    """How many changes of an answer a limit is about."""
    names = [change.feature for change in result.changed]
    return sum(rule.among is None or name in rule.among for name in names)


def _rungs(trials: Trials, feature: Feature, way: int) -> list[float]:
    """The first value of every cell, or the last, in the order in which they are reached."""
    if feature.values:
        return sorted(feature.values, reverse=way < 0)
    found: list[FloatArray] = []
    for view in dict.fromkeys(trials.demands.asker.model.views):
        last = last_read_as(view.cells.boundary[feature.column], view.ensemble.dtype)
        found.append(np.nextafter(last, np.inf) if way > 0 else last)
    values = np.unique(np.concatenate(found))
    if feature.step:
        grid = Grid(feature.step)
        values = grid.at_least(values) if way > 0 else grid.at_most(values)
    elif feature.kind == "ordinal":
        values = np.ceil(values) if way > 0 else np.floor(values)
    return list(_distinct(values[::way].tolist()))


def _distinct(values: Sequence[float]) -> Iterator[float]:
    before = math.nan
    for value in values:
        if value != before and math.isfinite(value):
            yield value
        before = value


def _least(trials: Trials, at: int, ladder: _Ladder) -> tuple[float, bool]:
    """The first rung that will do, by halving; and whether all before are proved not to."""
    low, high, proved = -1, len(ladder.rungs) - 1, True
    while low + 1 < high:
        middle = (low + high) // 2
        found = trials.any(frozenset(), (at, ladder.loosened(ladder.rungs[middle])))
        if found is not None and found.row is not None:
            high = _reached(ladder, ladder.reached(found), middle)
        elif found is not None and found.status == "infeasible":
            low = middle
        else:
            proved = False
            break
    return ladder.rungs[high], proved


def _reached(ladder: _Ladder, value: float, middle: int) -> int:
    """The first rung that an answer keeps; it may keep an earlier one than was asked about."""
    sign = -1.0 if ladder.limit == "lower" else 1.0
    for at, rung in enumerate(ladder.rungs[: middle + 1]):
        if sign * rung >= sign * value:
            return at
    return middle
