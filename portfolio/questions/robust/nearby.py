"""Counterfactuals with a safety margin: all rows around them reach the target."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from encoders.backends.interface import Request
from encoders.core.arrays import BoolArray
from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.conditions import Condition, Within
from encoders.query.features import FeatureSpace
from encoders.query.goal import ClassGoal
from encoders.query.names import feature_name
from encoders.query.relations import Forbidden
from portfolio.engine.ask import Asker
from portfolio.engine.question import Options, Question
from portfolio.engine.series import LEAST_S
from portfolio.model.goals import goal_of
from portfolio.model.native import predict_one
from portfolio.model.row import Row
from portfolio.questions.decision import Other, besides
from portfolio.questions.every_row import every_row
from portfolio.questions.flips import pose_flips
from portfolio.questions.region.extents import Extent, extents_of
from portfolio.questions.region.grow import Growth
from portfolio.questions.region.span import span_of
from portfolio.questions.side import Side
from portfolio.results.result import Result


@dataclass(frozen=True)
class Around:
    """Requirement that all rows close to the counterfactual reach the target too.

    Rows are those of the feature space: within the bounds of the features, and on whole numbers
    where a feature has only these. Features that are not named keep the value of the
    counterfactual.

    Parameters
    ----------
    radius : mapping of str to float
        Largest difference, at least 0, by the name of a numeric or ordinal feature.

    Raises
    ------
    InputError
        If the mapping is empty.

    Examples
    --------
    >>> from counterfolio import Around
    >>> Around({"income": 0.5, "age": 1})
    Around(radius=(('income', 0.5), ('age', 1)))
    """

    radius: tuple[tuple[str, float], ...]

    def __init__(self, radius: Mapping[str, float]) -> None:
        if not isinstance(radius, Mapping) or not radius:
            raise InputError(
                "Around needs a mapping of features to radii, such as {'income': 50}, got "
                f"{radius!r}."
            )
        object.__setattr__(
            self, "radius", tuple((feature_name(n), value) for n, value in radius.items())
        )

    def check(self, space: FeatureSpace) -> None:
        """Raise InputError unless each radius belongs to a feature and is valid.

        Parameters
        ----------
        space : FeatureSpace
            Features of the model.

        Raises
        ------
        InputError
            If a feature is unknown or has no radius, or a radius is not a number of at least 0.

        Examples
        --------
        >>> from counterfolio import Around, InputError
        >>> try:
        ...     Around({"housing": 1}).check(explainer.features)
        ... except InputError as error:
        ...     print(error)
        Around: housing is categorical and has no radius. Name numeric or ordinal features only.
        """
        for name, radius in self.radius:
            feature = space.named(name)
            if feature is None:
                names = [feature.name for feature in space.features]
                raise InputError(
                    f"Around: unknown feature {name!r}.{close_names(name, names)} Use names of "
                    f"{', '.join(names)}."
                )
            if feature.kind not in ("numeric", "ordinal"):
                raise InputError(
                    f"Around: {name} is {feature.kind} and has no radius. Name numeric or ordinal "
                    "features only."
                )
            number = isinstance(radius, int | float) and not isinstance(radius, bool)
            if not (number and 0 <= radius <= sys.float_info.max):
                raise InputError(
                    f"Around: the radius of {name} must be a finite number, at least 0, got "
                    f"{radius!r}."
                )


@dataclass(eq=False)
class SafeSearch:
    """Loop that solves, looks for a failing row near the answer, excludes it and solves again.

    Attributes
    ----------
    asker : Asker, solver of the user's explainer.
    question : Question.
    row : Row, the query.
    around : Around, radii of the neighbourhood.
    options : Options, with one time limit for all rounds.
    fine, wrong : tuple of Other, goals of acceptable rows and of failing rows.
    began : float, ``time.perf_counter()`` at the call.
    on_step : callable (seconds, rounds, lower bound), called after each round; or None.
    rounds : int, number of solves.
    doubt : str, reason why nothing is proved, "" if proofs hold.
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
        """Return the last answer, and whether all rows around it are proved to be acceptable."""
        lower = 0.0
        while True:
            left_s = self.options.time_limit_s - (time.perf_counter() - self.began)
            options = replace(self.options, time_limit_s=max(left_s, LEAST_S))
            rules = (*self.question.constraints, *self._cuts)
            question = replace(self.question, constraints=rules)
            way = self.asker.strategy(question, options)
            result = self.asker.ask(question, options, self.row, way)
            # Excluded rows are not robust answers, so bounds of earlier rounds stay valid.
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
        """Return the sides of a row in the feature space, without actions and plausibility."""
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
        """Return a failing row around the answer or None, and whether this is proved."""
        settled = True
        for side in self._sides(middle, self.wrong):
            extents = extents_of(side, side.view.cells)
            values = side.space.values(middle.values)
            near = [
                self._near(extent, float(value))
                for extent, value in zip(extents.each, values, strict=True)
            ]
            narrowed = extents.narrowed(near, side.query.admissible)
            outcome = side.find_within(
                extents.levels(near), narrowed, self._request, self._deadline
            )
            side.confirm([] if outcome.flip is None else [outcome.flip])
            self.doubt = self.doubt or ("" if side.keeps_invariants else side.doubt) or side.doubt
            if outcome.flip is not None:
                return self.row.holding(outcome.flip.row), True
            settled &= outcome.proved
        return None, settled

    def _near(self, extent: Extent, value: float) -> BoolArray:
        """Return the options with values within the radius, bool (n_options,)."""
        near = np.zeros(extent.size, dtype=np.bool_)
        near[extent.row_option] = True
        radius = self._radius.get(extent.feature.name)
        if radius is not None and not extent.absent[extent.row_option]:
            low, high = _first(value, -radius), _last(value, radius)
            near |= (extent.low <= high) & (low <= extent.high) & ~extent.absent
        return near

    @cached_property
    def _radius(self) -> Mapping[str, Fraction]:
        return {name: Fraction(radius) for name, radius in self.around.radius}

    def _cut(self, flip: Row) -> None:
        """Exclude answers around the widest box of failing rows that contains this one."""
        sides = self._sides(flip, self.fine)
        extents = [extents_of(side, side.view.cells) for side in sides]
        growth = Growth(sides, extents, self._request, self._deadline)
        for index in range(len(extents[0].each)):
            growth.widen(index)
        self.doubt = self.doubt or growth.doubt()
        pairs = zip(extents[0].each, growth.allowed, strict=True)
        self._cuts.append(Forbidden(*(self._beside(extent, allowed) for extent, allowed in pairs)))

    def _beside(self, extent: Extent, allowed: BoolArray) -> Condition:
        """Return the condition on values of a feature within the radius of some options."""
        span = span_of(extent, allowed)
        if span.lower is None or span.upper is None:
            return span.condition()
        radius = self._radius.get(extent.feature.name, Fraction(0))
        lower, upper = _first(span.lower, -radius), _last(span.upper, radius)
        return Within(extent.feature.name, lower, upper, span.missing, span.codes)


def _first(value: float, move: Fraction) -> float:
    """Return the smallest float64 that is not below a sum."""
    exact = Fraction(value) + move
    near = float(exact)
    return near if Fraction(near) >= exact else float(np.nextafter(near, np.inf))


def _last(value: float, move: Fraction) -> float:
    """Return the largest float64 that is not above a sum."""
    return -_first(-value, -move)


def safe_search(
    asker: Asker,
    row: Row,
    question: Question,
    around: Around,
    options: Options,
    began: float,
    on_step: Callable[[float, int, float], None] | None,
) -> SafeSearch:
    """Return the search for the nearest answer whose neighbourhood reaches the target."""
    model, target = asker.model, question.target
    around.check(model.space)
    if target is None and not model.ensemble.regression:
        if model.also:
            raise InputError(
                "Around with further models (also=) needs a target. Set target to a class."
            )
        current = ClassGoal(predict_one(model.ensemble, model.native, row.values))
        fine: tuple[Other, ...] = besides(model, current)
        wrong: tuple[Other, ...] = (Other(current),)
    else:
        goal = goal_of(model, target, row.values, "Around")
        fine, wrong = (Other(goal),), besides(model, goal)
    return SafeSearch(asker, question, row, around, options, fine, wrong, began, on_step)
