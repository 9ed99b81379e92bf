"""Tie-breaking: the first of several answers of the same cost, whichever solver is used.

The fewest changes come first. Two sets of changed features differ in some features; the set
with the earliest of these comes first. Then the values nearest to the query decide, feature by
feature. Each step is a query with a limit on the cost, so the answer is proved to be the first.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError
from encoders.query.conditions import Stays
from encoders.query.constraints import (
    Allowed,
    Constraint,
    FeatureConstraint,
    Fixed,
    MaxChanges,
    Range,
)
from encoders.query.features import Feature, FeatureSpace
from encoders.query.goal import ClassGoal
from encoders.query.relations import Forbidden
from portfolio.engine.question import OWN, Question
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.row import Row
from portfolio.results.result import Result

SAME = 1e-9  # relative tolerance within which costs are equal

ROOM = 1e-6  # relative tolerance of cutoffs, so that rounding loses no answers

Ask = Callable[[Question, float], Result]  # answers a question, given a limit on the cost


@dataclass(frozen=True)
class Nearer:
    """Order in which the values of one feature are preferred.

    Numbers are ordered by distance, the lower one first of two; categories in the model's order;
    missing comes last. If the query has no number, the median of the training data is used instead.
    """

    feature: Feature
    before: float  # value of the query, NaN if missing; index of a category

    @property
    def near(self) -> float:
        """The number from which distances are measured."""
        number = self.feature.without_code(self.before)
        return self.feature.typical if number != number else number

    def than(self, value: float) -> FeatureConstraint | None:
        """Return the constraint to values preferred to this one; None if there are none."""
        name, labels = self.feature.name, self.feature.labels
        if self.feature.kind == "categorical":
            first = len(labels) if value != value else int(value)
            earlier = [labels[at] for at in range(first) if at != self.before]
            return Allowed(name, earlier) if earlier else None
        if self.feature.without_code(value) != value:
            return Range(name)
        mirrored = 2 * Fraction(self.near) - Fraction(value)
        if value > self.near:
            low, high = _at_least(mirrored), math.nextafter(value, -math.inf)
        else:
            low, high = math.nextafter(value, math.inf), -_at_least(-mirrored)
            high = math.nextafter(high, -math.inf) if Fraction(high) == mirrored else high
        return Range(name, low, high) if low <= high else None

    def only(self, value: float) -> FeatureConstraint:
        """Return the constraint to exactly this value."""
        if value != value:
            return Allowed(self.feature.name, (None,))
        if self.feature.kind == "categorical":
            return Allowed(self.feature.name, (self.feature.labels[int(value)],))
        return Range(self.feature.name, value, value)


def _at_least(number: Fraction) -> float:
    """Return the smallest float64 that is not below an exact number."""
    try:
        near = float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)


def first_of(
    ask: Ask, model: ExplainedModel, row: Row, question: Question, answer: Result
) -> Result:
    """Return the first of all answers of the same cost as one that is proved to be the cheapest."""
    if answer.row is None:
        return answer
    if not answer.changed:
        return replace(answer, first=answer.status == "optimal")
    if answer.status != "optimal" or answer.margin != question.lead(model.ensemble.votes):
        return replace(answer, first=False)
    search = _Search(ask, model.space, model.space.values(row.values), question, answer)
    search.run()
    best = search.best
    return replace(
        answer,
        distance=best.distance,
        lower_bound=min(answer.lower_bound, best.distance),
        target=best.target,
        changed=best.changed,
        row=best.row,
        scoring=best.scoring,
        rounder=best.rounder,
        regional=best.regional,
        first=search.settled,
    )


def check_countable(
    model: ExplainedModel, row: Row, question: Question, who: str = "tie_break"
) -> None:
    """Raise InputError if answers of the same cost cannot be distinguished.

    This is the case if a ``Linear`` moves numbers within cells.
    """
    if not question.constraints:
        return
    related = replace(question, margin=None).query(model, row, ClassGoal(0)).related
    if related is not None and related.any_number:
        name = model.space.features[min(related.any_number)].name
        raise InputError(
            f"{who} needs discrete values of features in a Linear constraint. Give {name} a step "
            "or digits."
        )


@dataclass(eq=False)
class _Search:
    """Search for answers that come before the best one so far.

    Attributes
    ----------
    ask, question : arguments of :func:`first_of`.
    space : FeatureSpace of the model.
    before : float64 (n_features,), the query.
    best : Result, best so far.
    settled : bool, whether all queries were answered with a proof.
    cost : float, cost of the cheapest answer.
    """

    ask: Ask
    space: FeatureSpace
    before: FloatArray
    question: Question
    best: Result
    settled: bool = True
    cost: float = field(init=False)

    def __post_init__(self) -> None:
        self.cost = self.best.distance

    def run(self) -> None:
        """Find the fewest changes, then the features, then the values."""
        if self._has_rivals():
            self._take_fewest()
            self._take_earliest()
        self._take_nearest()

    def _other(self, *more: Constraint) -> Result | None:
        """Return an answer of the same cost with more constraints; None also if not proved."""
        if not self.settled:
            return None
        limited = replace(self.question, constraints=(*self.question.constraints, *more))
        try:
            answer = self.ask(limited, self.cost * (1 + ROOM) or ROOM)
        except InputError:  # together with the user's constraints a feature has no value
            return None
        if answer.verified and answer.distance <= self.cost * (1 + SAME):
            self.cost = min(self.cost, answer.distance)
            return answer
        proved = answer.status in ("optimal", "infeasible") and answer.margin == self.best.margin
        self.settled = proved
        return None

    @property
    def _changed(self) -> list[int]:
        """Indices of the features that the best answer changes, in the model's order."""
        names = {change.feature for change in self.best.changed}
        return [at for at, feature in enumerate(self.space.features) if feature.name in names]

    def _names(self, indices: list[int]) -> list[str]:
        return [self.space.features[index].name for index in indices]

    # -- features

    def _has_rivals(self) -> bool:
        """Return whether as many or fewer other features would be enough."""
        changed = self._changed
        names = tuple(self._names(changed))
        most, different = MaxChanges(len(changed)), MaxChanges(len(changed) - 1, names)
        rival = self._other(most, different)
        if rival is None:
            return False
        previous = self.best
        self.best = rival
        if (len(changed), changed) < (len(self._changed), self._changed):
            self.best = previous
        return True

    def _take_fewest(self) -> None:
        while len(self._changed) > 1:
            fewer = self._other(MaxChanges(len(self._changed) - 1))
            if fewer is None:
                return
            self.best = fewer

    def _take_earliest(self) -> None:
        """Find the earliest features, one place of the set after another.

        With the fewest changes all features are needed, so a feature that has to change matters.
        """
        settled: list[int] = []
        most = MaxChanges(len(self._changed))
        while len(settled) < most.count and self.settled:
            current = self._changed[len(settled)]
            since = settled[-1] + 1 if settled else 0
            earlier = self._names(list(range(since, current)))
            if earlier:
                moving = [Forbidden(Stays(name)) for name in self._names(settled)]
                still = [at for at in range(since) if at not in settled]
                some = Forbidden(*(Stays(name) for name in earlier))
                rival = self._other(most, *map(Fixed, self._names(still)), *moving, some)
                if rival is not None:
                    self.best = rival
                    continue
            settled.append(current)

    # -- values

    def _take_nearest(self) -> None:
        changed = self._changed
        names = self._names([at for at in range(self.before.size) if at not in changed])
        pinned: list[Constraint] = [Fixed(name) for name in names]
        for index in changed:
            order = Nearer(self.space.features[index], float(self.before[index]))
            jumped = False
            while self.settled and (nearer := order.than(self._value(index))) is not None:
                answer = self._other(*pinned, nearer)
                if answer is None:
                    break
                self.best = answer
                if not jumped:
                    self._jump(order, index, pinned)
                    jumped = True
            pinned.append(order.only(self._value(index)))

    def _jump(self, order: Nearer, index: int, pinned: list[Constraint]) -> None:
        """Try the nearest of the values that are possible at any cost; often it costs no more."""
        nearer = order.than(self._value(index))
        if self.question.measure == OWN or order.before != order.before or nearer is None:
            return
        only = {order.feature.name: 1.0}
        weights = {name: only.get(name, 0.0) for name in (f.name for f in self.space.features)}
        limited = (*self.question.constraints, *pinned, nearer)
        free = replace(self.question, norm=1, scale="none", weights=weights, constraints=limited)
        answer = self.ask(free, float("inf"))
        if answer.row is None:
            return
        value = float(self.space.values(answer.row.values)[index])
        settled = self.settled
        closest = self._other(*pinned, order.only(value))
        self.settled = settled  # a value of higher cost proves nothing
        if closest is not None:
            self.best = closest

    def _value(self, index: int) -> float:
        assert self.best.row is not None
        return float(self.space.values(self.best.row.values)[index])
