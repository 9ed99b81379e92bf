"""The leaf rows of companions: what else has to say yes to an answer."""

from dataclasses import replace

from encoders.core.arrays import IntArray
from encoders.formulation.goal_rows import goal_rows
from encoders.problem.problem import LeafRow
from encoders.query.goal import ClassGoal, Goal
from encoders.trees.ensemble import Companion


def goal_of(companion: Companion, goal: Goal) -> Goal:
    """Return the goal that an answer has to reach in a companion."""
    if companion.goal is not None:
        own_goal: Goal = companion.goal
        return own_goal
    if companion.always is not None:
        return ClassGoal(companion.always)
    if isinstance(goal, ClassGoal):
        return ClassGoal(companion.classes[goal.target])
    classes = companion.classes
    return replace(goal, target=classes[goal.target], output=classes[goal.output])


def companion_rows(
    companion: Companion, node: IntArray, tree_start: IntArray, goal: Goal
) -> tuple[LeafRow, ...]:
    """Return rows that every answer keeps which the companion itself may accept.

    The companion's own predict verifies what they admit.
    """
    score = companion.scores_at(node)
    return goal_rows(score, tree_start, companion.ensemble, goal_of(companion, goal), 0.0)[0]
