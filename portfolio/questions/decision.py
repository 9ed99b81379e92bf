"""What a model decides about a row, and what counts as another decision."""

import math
from dataclasses import dataclass, replace
from typing import Any

from encoders.errors import InputError
from encoders.posing.companion_rows import goal_of
from encoders.query.goal import ClassGoal, Goal
from portfolio.goals import value_goal, wanted_of
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.native import predict_one
from portfolio.model.row import Row


@dataclass(frozen=True)
class Other:
    """What some rows reach that are decided otherwise.

    Attributes
    ----------
    goal : of a model
    at : which of :func:`portfolio.model.one_by_one.one_by_one`; None: all models together
    """

    goal: Goal
    at: int | None = None


@dataclass(frozen=True)
class Decision:
    """A decision about one row.

    Attributes
    ----------
    label : the class that the model decides for, or the goal that was asked about
    holds : whether the row is of the class, or reaches the goal
    others : what rows that are decided otherwise reach, one of these
    """

    label: Any
    holds: bool
    others: tuple[Other, ...]

    def words(self) -> str:
        """The decision as sentences tell it."""
        said = self.label.words() if hasattr(self.label, "words") else repr(self.label)
        return said if self.holds else f"not {said}"


def decision_of(model: ExplainedModel, row: Row, target: Any) -> Decision:
    """The decision about a row."""
    native = model.native
    wanted = wanted_of(model, target)
    if wanted is not None:
        goal = value_goal(model, wanted, row.values)
        number = float(native.values(row.values[None, :], goal.scale, goal.output)[0])
        holds = goal.low <= number <= goal.high
        if holds and model.plausible:
            raise InputError(
                f"{wanted} is reached, and which isolation forest the other rows must please is "
                "not said; ask about a class."
            )
        return Decision(wanted, holds, besides(model, goal) if holds else (Other(goal),))
    current = predict_one(model.ensemble, native, row.values)
    asked = ClassGoal(current if target is None else native.class_index(target))
    label = native.classes[asked.target]
    if asked.target == current and _all_agree(model, row, asked):
        return Decision(label, True, besides(model, asked))
    if target is None:
        raise InputError(
            f"the model decides for {label!r}, but one of also does not; give the target that is "
            "asked about."
        )
    return Decision(label, False, (Other(asked),))


def _all_agree(model: ExplainedModel, row: Row, goal: ClassGoal) -> bool:
    """Whether further models decide for a class, too."""
    companions = model.views[goal.target].ensemble.companions
    asked = [own for own in companions if own.always is None]
    return all(
        oracle.accepts(row.values, goal_of(own, goal))
        for oracle, own in zip(model.also, asked, strict=True)
    )


def besides(model: ExplainedModel, goal: Goal) -> tuple[Other, ...]:
    """What rows reach that do not reach a goal: other classes, or numbers beyond limits."""
    if isinstance(goal, ClassGoal):
        own = [own for own in model.views[goal.target].ensemble.companions if own.always is None]
        natives = [model.native, *(oracle.native for oracle in model.also)]
        wanted = [goal.target, *(companion.classes[goal.target] for companion in own)]
        return tuple(
            Other(ClassGoal(index), at if model.also else None)
            for at, (native, its) in enumerate(zip(natives, wanted, strict=True))
            for index in range(len(native.classes))
            if index != its
        )
    if model.also:
        raise InputError(
            "reasons and regions of a number are about one model; ask about a class, or use an "
            "explainer without also."
        )
    below = replace(goal, low=-math.inf, high=math.nextafter(goal.low, -math.inf))
    above = replace(goal, low=math.nextafter(goal.high, math.inf), high=math.inf)
    return tuple(
        Other(beyond)
        for beyond, limit in ((below, goal.low), (above, goal.high))
        if math.isfinite(limit)
    )
