"""Answers around which every row is decided alike, so that a small miss does no harm."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from encoders.arrays import BoolArray
from encoders.backends.interface import Request
from encoders.errors import InputError
from encoders.query.conditions import Condition, Within
from encoders.query.features import FeatureSpace
from encoders.query.goal import ClassGoal, Goal
from encoders.query.names import feature_name
from encoders.query.relations import Forbidden
from portfolio.goals import value_goal, wanted_of
from portfolio.model.row import Row
from portfolio.question import Options, Question
from portfolio.questions.decision import Other, besides
from portfolio.questions.every_row import every_row
from portfolio.questions.flips import pose_flips
from portfolio.questions.region.extents import Extent, extents_of
from portfolio.questions.region.grow import Growth
from portfolio.questions.region.span import span_of
from portfolio.questions.series import LEAST_S
from portfolio.questions.side import Side
from portfolio.result import Result
from portfolio.solving.ask import Asker


@dataclass(frozen=True)
class Around:
    """Every row that differs from the answer by at most this is decided alike.

    Rows are those of the feature space: within the features' bounds, whole numbers where a feature
    has such. All other features are as in the answer.

    Parameters
    ----------
    radius : by name of a numeric or ordinal feature, the largest difference, at least 0
    """

    radius: tuple[tuple[str, float], ...]

    def __init__(self, radius: Mapping[str, float]) -> None:
        if not isinstance(radius, Mapping) or not radius:
            raise InputError(f"Around takes a mapping such as {{'income': 50}}, got {radius!r}.")
        object.__setattr__(
            self, "radius", tuple((feature_name(n), own) for n, own in radius.items())
        )

    def check(self, space: FeatureSpace) -> None:
        """Raise :class:`InputError` where a feature has no such radius.

        Parameters
        ----------
        space : the features
        """
        for name, radius in self.radius:
            feature = space.named(name)
            if feature is None:
                known = ", ".join(feature.name for feature in space.features)
                raise InputError(f"Around: there is no feature {name!r}; features are {known}.")
            if feature.kind not in ("numeric", "ordinal"):
                raise InputError(f"Around: {name} is {feature.kind} and has no radius.")
            number = isinstance(radius, int | float) and not isinstance(radius, bool)
            if not (number and 0 <= radius <= sys.float_info.max):
                raise InputError(
                    f"Around: the radius of {name} must be at least 0, got {radius!r}."
                )


@dataclass(eq=False)
class SafeSearch:
    """Solves, looks for a row around the answer that is decided otherwise, cuts off, and goes on.

    Attributes
    ----------
    asker : of the user's explainer
    question : what is asked
    row : of whom
    around : how far an answer may be missed
    options : the time limit is for all rounds
    fine, wrong : what rows around the answer have to reach, and what they reach if they do not
    began : ``time.perf_counter()`` at the call
    on_step : told after each round
    rounds : of solving
    doubt : why nothing is proved, "" if proofs hold
    """

    asker: Asker
    question: Question
    row: Row
    around: Around
    options: Options
    fine: tuple[Other, ...]
    wrong: tuple[Other, ...]
    began: float
    on_step: Callable[[float, int, float], None] | None = None
    rounds: int = 0
    doubt: str = ""
    _cuts: list[Forbidden] = field(default_factory=list)

    def answer(self) -> tuple[Result, bool]:
        """The last answer, and whether every row around it is proved to be fine."""
        lower = 0.0
        while True:
            left = self.options.time_limit_s - (time.perf_counter() - self.began)
            options = replace(self.options, time_limit_s=max(left, LEAST_S))
            rules = (*self.question.constraints, *self._cuts)
            asked = replace(self.question, constraints=rules)
            way = self.asker.strategy(asked, options)
            result = self.asker.ask(asked, options, self.row, way)
            # What is cut off is no robust answer, so bounds of earlier rounds stay valid.
            lower = min(max(lower, result.lower_bound), result.distance)
            result = replace(result, lower_bound=lower)
            self.rounds += 1
            if self.on_step is not None:
                seconds = time.perf_counter() - self.began
                self.on_step(seconds, self.rounds, lower)
            if result.row is None:
                return result, False
            flip, settled = self._flip(result.row)
            if flip is None or self.doubt or result.status != "optimal":
                return result, flip is None and settled and not self.doubt
            self._cut(flip)

    def _sides(self, row: Row, others: tuple[Other, ...]) -> Sequence[Side]:
        """Every row of the feature space, plausible or not, whatever people may do."""
        free = every_row(self.asker, also=True)
        free = replace(free, model=free.model.without_plausibility())
        return pose_flips(free, row, others, self._request, self._deadline).sides

    @property
    def _deadline(self) -> float:
        return self.began + self._request.time_limit_s

    @property
    def _request(self) -> Request:
        return self.asker.request(self.options)

    def _flip(self, middle: Row) -> tuple[Row | None, bool]:
        """A wrong row around the answer, and whether it is settled that there is one or none."""
        settled = True
        for side in self._sides(middle, self.wrong):
            extents = extents_of(side, side.view.cells)
            values = side.space.values(middle.values)
            near = [
                self._near(extent, float(value))
                for extent, value in zip(extents.each, values, strict=True)
            ]
            narrowed = extents.narrowed(near, side.query.admissible)
            found = side.find_within(extents.levels(near), narrowed, self._request, self._deadline)
            side.confirm([] if found.flip is None else [found.flip])
            self.doubt = self.doubt or ("" if side.lawful else side.doubt) or side.doubt
            if found.flip is not None:
                return self.row.holding(found.flip.row), True
            settled &= found.proved
        return None, settled

    def _near(self, extent: Extent, value: float) -> BoolArray:
        """Options that have values within the radius."""
        near = np.zeros(extent.size, dtype=np.bool_)
        near[extent.own] = True
        radius = self._radius.get(extent.feature.name)
        if radius is not None and not extent.absent[extent.own]:
            low, high = _first(value, -radius), _last(value, radius)
            near |= (extent.low <= high) & (low <= extent.high) & ~extent.absent
        return near

    @cached_property
    def _radius(self) -> Mapping[str, Fraction]:
        return {name: Fraction(radius) for name, radius in self.around.radius}

    def _cut(self, flip: Row) -> None:
        """No answer may lie around the widest box of wrong rows that holds this one."""
        sides = self._sides(flip, self.fine)
        extents = [extents_of(side, side.view.cells) for side in sides]
        growth = Growth(sides, extents, self._request, self._deadline)
        for index in range(len(extents[0].each)):
            growth.widen(index)
        self.doubt = self.doubt or growth.doubt()
        pairs = zip(extents[0].each, growth.allowed, strict=True)
        self._cuts.append(Forbidden(*(self._beside(extent, own) for extent, own in pairs)))

    def _beside(self, extent: Extent, allowed: BoolArray) -> Condition:
        """The values of a feature that are within the radius of some options."""
        span = span_of(extent, allowed)
        if span.lower is None or span.upper is None:
            return span.condition()
        radius = self._radius.get(extent.feature.name, Fraction(0))
        lower, upper = _first(span.lower, -radius), _last(span.upper, radius)
        return Within(extent.feature.name, lower, upper, span.missing, span.codes)


def _first(value: float, move: Fraction) -> float:
    """The smallest float64 that is not below a sum."""
    exact = Fraction(value) + move
    near = float(exact)
    return near if Fraction(near) >= exact else float(np.nextafter(near, np.inf))


def _last(value: float, move: Fraction) -> float:
    """The largest float64 that is not above a sum."""
    return -_first(-value, -move)


def safe_search(
    asker: Asker,
    row: Row,
    question: Question,
    around: Around,
    options: Options,
    began: float,
    current: int | None,
    on_step: Callable[[float, int, float], None] | None,
) -> SafeSearch:
    """The search for the nearest answer around which every row is fine."""
    model = asker.model
    around.check(model.space)
    wanted = wanted_of(model, question.target)
    if wanted is not None:
        goal: Goal = value_goal(model, wanted, row.values)
    elif question.target is not None:
        goal = ClassGoal(model.native.class_index(question.target))
    else:
        assert current is not None
        goal = ClassGoal(current)
    fine: tuple[Other, ...] = (Other(goal),)
    wrong = besides(model, goal)
    if question.target is None:
        if model.also:
            raise InputError("Around needs a target where there are further models; give one.")
        fine, wrong = wrong, fine
    return SafeSearch(asker, question, row, around, options, fine, wrong, began, on_step)
