"""What a model decides about a row, and what counts as another decision."""

import math
from dataclasses import dataclass, replace
from typing import Any

from encoders.errors import InputError
from encoders.query.goal import ClassGoal, Goal
from portfolio.goals import value_goal, wanted_of
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.native import predict_one
from portfolio.model.tabular import Row


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
    others: tuple[Goal, ...]

    def words(self) -> str:
        """The decision as sentences tell it."""
        said = self.label.words() if hasattr(self.label, "words") else repr(self.label)
        return said if self.holds else f"not {said}"


def decision_of(model: ExplainedModel, row: Row, target: Any) -> Decision:
    """The decision about a row.

    Parameters
    ----------
    model : that is explained
    row : as read for it
    target : None for the class that the model decides for; a label for whether it is this one; a
        record of :mod:`encoders.query.goal` for whether it is reached

    Raises
    ------
    InputError
        The target is none of the model's.
    """
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
        return Decision(wanted, holds, besides(model, goal) if holds else (goal,))
    current = predict_one(model.ensemble, native, row.values)
    asked = current if target is None else native.class_index(target)
    if asked != current:
        return Decision(native.classes[asked], False, (ClassGoal(asked),))
    return Decision(native.classes[current], True, besides(model, ClassGoal(current)))


def besides(model: ExplainedModel, goal: Goal) -> tuple[Goal, ...]:
    """What rows reach that do not reach a goal: one of the other classes, or numbers beyond limits.

    Parameters
    ----------
    model : that is explained
    goal : a class, or limits of one of the model's numbers
    """
    if isinstance(goal, ClassGoal):
        classes = range(len(model.native.classes))
        return tuple(ClassGoal(index) for index in classes if index != goal.target)
    below = replace(goal, low=-math.inf, high=math.nextafter(goal.low, -math.inf))
    above = replace(goal, low=math.nextafter(goal.high, math.inf), high=math.inf)
    return tuple(
        beyond for beyond, limit in ((below, goal.low), (above, goal.high)) if math.isfinite(limit)
    )
