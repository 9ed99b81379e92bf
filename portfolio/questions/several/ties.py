"""Of several answers that cost the same, the first: the same one whoever solves.

Fewest changes come first; then, of two sets of changed features, the one that has the earliest
feature that the other has not; then the values nearest to the query, feature by feature. Every step
is a question of its own with a limit on the cost, so the answer is proved to be the first.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from encoders.arrays import FloatArray
from encoders.errors import InputError
from encoders.query.conditions import Stays
from encoders.query.constraints import Constraint, Fixed, MaxChanges
from encoders.query.features import FeatureSpace
from encoders.query.goal import ClassGoal
from encoders.query.relations import Forbidden
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.row import Row
from portfolio.question import OWN, Question
from portfolio.questions.several.nearer import Nearer
from portfolio.result import Result

SAME = 1e-9  # relative; costs that differ by less are equal
ROOM = 1e-6  # relative; how much dearer answers are still looked at, so that rounding loses none

Ask = Callable[[Question, float], Result]  # answers a question, given a limit on the cost


def first_of(
    ask: Ask, model: ExplainedModel, row: Row, question: Question, answer: Result
) -> Result:
    """The first of all answers that cost the same as one that is proved to be the cheapest."""
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
    """Raise :class:`InputError` where answers of one cost can't be told apart.

    That is where a ``Linear`` moves numbers within cells.
    """
    if not question.constraints:
        return
    related = replace(question, margin=None).query(model, row, ClassGoal(0)).related
    if related is not None and related.any_number:
        name = model.space.features[min(related.any_number)].name
        raise InputError(
            f"{who} needs values that can be counted where a Linear adds them up; give {name} "
            "a step or digits."
        )


@dataclass(eq=False)
class _Search:
    """Looks for answers that come before the best one so far.

    Attributes
    ----------
    ask, question : as in :func:`first_of`
    space : the model's features
    before : float64 (n_features,), the query
    best : so far
    settled : all questions were answered with a proof
    cost : of the cheapest
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
        """An answer of the same cost with more constraints; None also if nothing is proved."""
        if not self.settled:
            return None
        limited = replace(self.question, constraints=(*self.question.constraints, *more))
        try:
            found = self.ask(limited, self.cost * (1 + ROOM) or ROOM)
        except InputError:  # with the user's own constraints a feature has no value left
            return None
        if found.verified and found.distance <= self.cost * (1 + SAME):
            self.cost = min(self.cost, found.distance)
            return found
        proved = found.status in ("optimal", "infeasible") and found.margin == self.best.margin
        self.settled = proved
        return None

    @property
    def _changed(self) -> list[int]:
        """Features that the best answer changes, in the model's order."""
        names = {change.feature for change in self.best.changed}
        return [at for at, feature in enumerate(self.space.features) if feature.name in names]

    def _names(self, indices: list[int]) -> list[str]:
        return [self.space.features[index].name for index in indices]

    # -- features

    def _has_rivals(self) -> bool:
        """Whether other features in the same number, or fewer, would do as well."""
        own = self._changed
        most, besides = MaxChanges(len(own)), MaxChanges(len(own) - 1, tuple(self._names(own)))
        rival = self._other(most, besides)
        if rival is None:
            return False
        held = self.best
        self.best = rival
        if (len(own), own) < (len(self._changed), self._changed):
            self.best = held
        return True

    def _take_fewest(self) -> None:
        while len(self._changed) > 1:
            fewer = self._other(MaxChanges(len(self._changed) - 1))
            if fewer is None:
                return
            self.best = fewer

    def _take_earliest(self) -> None:
        """One place of the set after another: could an earlier feature be there?

        With the fewest changes none is to spare, so a feature that has to change is one that has
        something to do.
        """
        settled: list[int] = []
        most = MaxChanges(len(self._changed))
        while len(settled) < most.count and self.settled:
            own = self._changed[len(settled)]
            since = settled[-1] + 1 if settled else 0
            earlier = self._names(list(range(since, own)))
            if earlier:
                held = [Forbidden(Stays(name)) for name in self._names(settled)]
                still = [at for at in range(since) if at not in settled]
                some = Forbidden(*(Stays(name) for name in earlier))
                rival = self._other(most, *map(Fixed, self._names(still)), *held, some)
                if rival is not None:
                    self.best = rival
                    continue
            settled.append(own)

    # -- values

    def _take_nearest(self) -> None:
        own = self._changed
        names = self._names([at for at in range(self.before.size) if at not in own])
        pinned: list[Constraint] = [Fixed(name) for name in names]
        for index in own:
            order = Nearer(self.space.features[index], float(self.before[index]))
            jumped = False
            while self.settled and (nearer := order.than(self._value(index))) is not None:
                found = self._other(*pinned, nearer)
                if found is None:
                    break
                self.best = found
                if not jumped:
                    self._jump(order, index, pinned)
                    jumped = True
            pinned.append(order.only(self._value(index)))

    def _jump(self, order: Nearer, index: int, pinned: list[Constraint]) -> None:
        """Try the nearest value of all that do at any cost: often it costs no more."""
        nearer = order.than(self._value(index))
        if self.question.measure == OWN or order.before != order.before or nearer is None:
            return
        only = {order.feature.name: 1.0}
        weights = {name: only.get(name, 0.0) for name in (f.name for f in self.space.features)}
        limited = (*self.question.constraints, *pinned, nearer)
        free = replace(self.question, norm=1, scale="none", weights=weights, constraints=limited)
        found = self.ask(free, float("inf"))
        if found.row is None:
            return
        value = float(self.space.values(found.row.values)[index])
        settled = self.settled
        closest = self._other(*pinned, order.only(value))
        self.settled = settled  # a value that costs more says nothing
        if closest is not None:
            self.best = closest

    def _value(self, index: int) -> float:
        assert self.best.row is not None
        return float(self.space.values(self.best.row.values)[index])
