"""The prediction of a row, and the goals of rows with another prediction."""

import math
from dataclasses import dataclass, replace
from typing import Any

from encoders.core.errors import InputError
from encoders.formulation.companion_rows import goal_of
from encoders.query.goal import ClassGoal, Goal
from encoders.trees.ensemble import Companion
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.goals import value_goal, wanted_of
from portfolio.model.native import predict_one
from portfolio.model.one_output import alone_only
from portfolio.model.row import Row


@dataclass(frozen=True)
class Other:
    """Goal that rows with another prediction reach.

    Attributes
    ----------
    goal : goal of one model or of all models together.
    at : index of a model in :func:`portfolio.model.explained_model.one_by_one`; None: all together.
    """

    goal: Goal
    at: int | None = None


@dataclass(frozen=True)
class Decision:
    """Prediction of one row.

    Attributes
    ----------
    label : predicted class, or the goal in question.
    holds : True if the row is of the class, or reaches the goal.
    others : goals; each row with another prediction reaches at least one of them.
    """

    label: Any
    holds: bool
    others: tuple[Other, ...]

    def words(self) -> str:
        """Return the prediction as words of a sentence."""
        words = self.label.words() if hasattr(self.label, "words") else repr(self.label)
        return words if self.holds else f"not {words}"


def decision_of(model: ExplainedModel, row: Row, target: Any) -> Decision:
    """Return the prediction of a row; with a target, whether the row reaches it."""
    native = model.native
    wanted = wanted_of(model, target)
    if wanted is not None:
        goal = value_goal(model, wanted, row.values)
        number = float(native.values(row.values[None, :], goal.scale, goal.output)[0])
        holds = goal.low <= number <= goal.high and _all_agree(model, row, goal)
        if holds and model.plausible:
            raise InputError(
                f"the row reaches {wanted}, but this question needs a class to choose an "
                "isolation forest. Give a class label as target, or use an Explainer without "
                "plausibility."
            )
        label = wanted if model.aim is None else dict(model.aim)
        return Decision(label, holds, besides(model, goal) if holds else (Other(goal),))
    current = predict_one(model.ensemble, native, row.values)
    goal_class = ClassGoal(current if target is None else native.class_index(target))
    label = native.classes[goal_class.target] if model.aim is None else dict(model.aim)
    if goal_class.target == current and _all_agree(model, row, goal_class):
        return Decision(label, True, besides(model, goal_class))
    if target is None:
        raise InputError(
            f"the model predicts {label!r}, but a further model (also=) does not. Give the target."
        )
    return Decision(label, False, (Other(goal_class),))


def _all_agree(model: ExplainedModel, row: Row, goal: Goal) -> bool:
    """Return whether all further models and outputs reach a goal, too."""
    return all(
        oracle.accepts(row.values, goal_of(companion, goal))
        for oracle, companion in zip(model.also, _undecided(model, goal), strict=True)
    )


def _undecided(model: ExplainedModel, goal: Goal) -> list[Companion]:
    """Return the further models and outputs that some rows do not agree with."""
    companions = model.views[goal.target].ensemble.companions
    return [companion for companion in companions if companion.always is None]


def besides(model: ExplainedModel, goal: Goal) -> tuple[Other, ...]:
    """Return the goals of rows that miss a goal: other classes, or numbers beyond its limits."""
    if isinstance(goal, ClassGoal):
        natives = [model.native, *(oracle.native for oracle in model.also)]
        wanted = [goal, *(goal_of(companion, goal) for companion in _undecided(model, goal))]
        if not all(isinstance(each, ClassGoal) for each in wanted):
            raise InputError(
                "reasons and regions for several outputs need a class label for each output."
            )
        return tuple(
            Other(ClassGoal(index), at if model.also else None)
            for at, (native, reached) in enumerate(zip(natives, wanted, strict=True))
            for index in range(len(native.classes))
            if index != reached.target
        )
    if model.also:
        subject = "reasons and regions for a number support"
        raise alone_only(model, subject, "Give a class label as target, or use")
    below = replace(goal, low=-math.inf, high=math.nextafter(goal.low, -math.inf))
    above = replace(goal, low=math.nextafter(goal.high, math.inf), high=math.inf)
    return tuple(
        Other(beyond)
        for beyond, limit in ((below, goal.low), (above, goal.high))
        if math.isfinite(limit)
    )
