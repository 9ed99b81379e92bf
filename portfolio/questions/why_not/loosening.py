"""Smallest relaxation of one demand that allows a counterfactual, and its cost."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import partial

import numpy as np

from encoders.backends.interface import Status
from encoders.formulation.axes import distinct_ends
from encoders.query.constraints import Constraint, MaxChanges, Range
from encoders.query.goal import ClassGoal
from portfolio.model.goals import value_goal, wanted_of
from portfolio.questions.why_not.conflict import Trials
from portfolio.questions.why_not.members import Limits, Member
from portfolio.results.change import exactly, in_short
from portfolio.results.codec import AsJson, member
from portfolio.results.printing import short
from portfolio.results.result import Result

Loosened = Callable[[float], Constraint | Limits]
DIGITS = 4  # significant digits, in sentences, of the distance by which a limit is moved
MOST_HALVINGS = 80  # of an interval of float64
DECIMAL = Context(prec=400)


@dataclass(frozen=True)
class Relaxation(AsJson):
    """Relaxation of one demand while all others stay as they are.

    Attributes
    ----------
    member : Member
        Relaxed demand.
    limit : {"upper", "lower", "count", "all"}
        Limit that is relaxed; "all" if the demand is dropped.
    before, after : float or None
        Original limit, and the closest limit that allows a counterfactual; None for "all".
    least : bool
        Whether it is proved that no closer limit is enough.
    result : Result
        Nearest counterfactual with the relaxed demand; its status says what is proved.
    dropped : Result
        Nearest counterfactual without the demand.

    Examples
    --------
    >>> from counterfolio import Fixed, Range
    >>> rules = [Range("income", 0, 20), Fixed("age"), Fixed("housing")]
    >>> explainer.why_not(row, constraints=rules).cheapest.words
    'income up to 26.212 instead of 20'
    """

    COMPUTED = ("status", "distance", "lower_bound")

    member: Member = field(
        metadata=member(
            write=lambda part: part.words, read=lambda words: Member("constraint", words), hint=str
        )
    )
    limit: str
    before: float | None
    after: float | None
    least: bool
    result: Result
    dropped: Result

    @property
    def distance(self) -> float:
        """Distance of the nearest counterfactual with the relaxed demand."""
        return self.result.distance

    @property
    def status(self) -> Status:
        """Status of :attr:`result`."""
        return self.result.status

    @property
    def lower_bound(self) -> float:
        """Proved lower bound of :attr:`result`."""
        return self.result.lower_bound

    def __str__(self) -> str:
        proved = " (proved)" if self.result.status == "optimal" else ""
        words = f"{self.words}, distance {short(self.distance)}{proved}"
        if self.limit != "all" and self.dropped.distance < self.distance:
            words += f"; {short(self.dropped.distance)} without any limit"
        reached = ", ".join(f"{c.feature} {c.reached}" for c in self.result.told)
        return f"{words}: {reached}."

    @property
    def words(self) -> str:
        """Description of what is relaxed, and how far."""
        if self.before is None or self.after is None:
            return f"without '{self.member.words}'"
        before = in_short(float(self.before))
        after = exactly(_onward(self.before, self.after))
        least = "" if self.least else " (or less)"
        if self.limit == "count":
            plural = "" if after == "1" else "s"
            return f"{after} change{plural}{least} instead of {before}"
        way = "up to" if self.limit == "upper" else "down to"
        return f"{self.member.feature} {way} {after}{least} instead of {before}"


def _onward(before: float, after: float) -> float:
    """Return a number with few digits at or slightly beyond a limit."""
    moved = after - before
    if moved == 0 or not math.isfinite(moved):
        return float(after)
    unit = Decimal(1).scaleb(math.floor(math.log10(abs(moved))) + 1 - DIGITS)
    way = ROUND_CEILING if moved > 0 else ROUND_FLOOR
    return float(Decimal(repr(float(after))).quantize(unit, way, context=DECIMAL)) + 0.0


def relax(trials: Trials, at: int) -> Relaxation | None:
    """Return the smallest relaxation of a demand; None if relaxing it is not known to help."""
    dropped = trials.nearest(frozenset({at}))
    if dropped is None or dropped.row is None:
        return None
    member = trials.demands.members[at]
    ladder = _ladder(trials, at, dropped)
    if ladder is None:
        return Relaxation(member, "all", None, None, True, dropped, dropped)
    after, least = _least(trials, at, ladder)
    result = trials.nearest(frozenset(), (at, ladder.loosened(after)))
    if result is None or result.row is None:  # time is over: keep a limit that is enough
        after, least, result = ladder.rungs[-1], False, ladder.result
    return Relaxation(member, ladder.limit, ladder.before, after, least, result, dropped)


@dataclass(frozen=True, eq=False)
class _Ladder:
    """Values to which a limit may be relaxed, in order; the last one is enough.

    Attributes
    ----------
    limit : str, "upper", "lower" or "count".
    before : float, original limit.
    rungs : sequence of float; one of them is the smallest relaxation, or if ``dense`` a number
        between it and the previous one.
    loosened : callable (limit) -> constraint or bounds, the demand with another limit.
    reached : callable (Result) -> float, the closest limit that an answer satisfies.
    result : Result that the last rung admits.
    dense : bool, whether numbers between two rungs may differ.
    """

    limit: str
    before: float
    rungs: Sequence[float]
    loosened: Loosened
    reached: Callable[[Result], float]
    result: Result
    dense: bool = False

    @property
    def sign(self) -> float:
        """1.0 where a larger limit is looser, else -1.0."""
        return -1.0 if self.limit == "lower" else 1.0


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
            dropped,
        )
    space = trials.demands.asker.model.space
    feature = space.named(member.feature)
    if feature is None or not (isinstance(rule, Range) or member.kind == "bounds"):
        return None
    index = space.features.index(feature)
    value_before = feature.without_code(float(space.values(trials.demands.row.values)[index]))
    if isinstance(rule, Range):
        lower, upper = float(rule.lower), float(rule.upper)
    else:  # a query beyond its bounds widens them
        lower, upper = np.fmin(feature.lower, value_before), np.fmax(feature.upper, value_before)

    def value(result: Result) -> float:
        assert result.row is not None
        return feature.without_code(float(result.row.values[feature.column]))

    def limited(low: float, high: float) -> Constraint | Limits:
        return Range(feature.name, low, high) if isinstance(rule, Range) else (low, high)

    nearest = dropped
    if isinstance(rule, Range) and np.isnan(value(dropped)):  # a relaxed Range needs a number
        nearest = trials.nearest(frozenset(), (at, Range(feature.name))) or dropped
    far = np.nan if nearest.row is None else value(nearest)
    if not (far < lower or far > upper):
        return None
    limit, before = ("upper", upper) if far > upper else ("lower", lower)
    rungs, dense = _rungs(trials, at, index, before, far)
    if limit == "upper":
        return _Ladder(limit, before, rungs, lambda v: limited(lower, v), value, nearest, dense)
    return _Ladder(limit, before, rungs, lambda v: limited(v, upper), value, nearest, dense)


def _counted(rule: MaxChanges, result: Result) -> int:
    """Return the number of changes of an answer that a limit counts."""
    names = [change.feature for change in result.changed]
    return sum(rule.among is None or name in rule.among for name in names)


def _rungs(
    trials: Trials, at: int, index: int, before: float, far: float
) -> tuple[list[float], bool]:
    """Return limits in the order of relaxation, and whether numbers between them may differ.

    Numbers that only a ``Linear`` distinguishes are represented by the first one.
    """
    asker, question = trials.demands.without(frozenset({at}))
    model, row = asker.model, trials.demands.row
    wanted = wanted_of(model, question.target)
    goal = ClassGoal(0) if wanted is None else value_goal(model, wanted, row.values)
    query = question.query(model, row, goal)
    feature, whole = model.space.features[index], query.admissible[index]
    start = float(model.space.values(row.values)[index])
    rises = far > before
    ends = (np.nextafter(before, np.inf), far) if rises else (far, np.nextafter(before, -np.inf))
    beyond = replace(
        whole,
        lower=max(whole.lower, ends[0]),
        upper=min(whole.upper, ends[1]),
        stay=whole.stay and ends[0] <= start <= ends[1],
    )
    ends_of_cells = [np.array([far])]
    for view in dict.fromkeys(model.views):
        boundary, dtype = view.cells.boundary[feature.column], view.ensemble.dtype
        unsure = (view.ensemble.unsure or {}).get(feature.column)
        part = distinct_ends(boundary, dtype, index, feature, start, beyond, query.cost, unsure)
        ends_of_cells.append(part[0] if rises else part[1])
    values = np.unique(np.concatenate(ends_of_cells))
    dense = query.related is not None and index in query.related.any_number
    return [float(v) for v in (values if rises else values[::-1])], dense


def _least(trials: Trials, at: int, ladder: _Ladder) -> tuple[float, bool]:
    """Return the closest limit known to be enough, and whether closer ones are proved not to be."""
    low, high = -1, len(ladder.rungs) - 1
    while low + 1 < high:
        middle = (low + high) // 2
        answer = trials.any(frozenset(), (at, ladder.loosened(ladder.rungs[middle])))
        if answer is not None and answer.row is not None:
            high = _reached(ladder, ladder.reached(answer), middle)
        elif answer is not None and answer.status == "infeasible":
            low = middle
        else:
            return ladder.rungs[high], False
    if not ladder.dense:
        return ladder.rungs[high], True
    return _between(
        trials, at, ladder, ladder.before if low < 0 else ladder.rungs[low], ladder.rungs[high]
    )


def _reached(ladder: _Ladder, value: float, middle: int) -> int:
    """Return the first rung that an answer satisfies; it may be closer than the requested one."""
    for at, rung in enumerate(ladder.rungs[: middle + 1]):
        if ladder.sign * rung >= ladder.sign * value:
            return at
    return middle


def _between(
    trials: Trials, at: int, ladder: _Ladder, low: float, high: float
) -> tuple[float, bool]:
    """Bisect an interval of limits, the first of which is too tight, to adjacent floats."""
    name = trials.demands.members[at].feature
    answer = trials.nearest_in(name, (at, ladder.loosened(high)))
    if answer is not None and answer.row is not None:
        high = ladder.reached(answer)
    middle = np.nextafter(high, low)  # usually no closer limit is enough
    for _ in range(MOST_HALVINGS):
        if middle in (low, high):
            return high, True
        answer = trials.any(frozenset(), (at, ladder.loosened(float(middle))))
        if answer is not None and answer.row is not None:
            high = ladder.reached(answer)
        elif answer is not None and answer.status == "infeasible":
            low = float(middle)
        else:
            break
        middle = low + (high - low) / 2
    return high, False
