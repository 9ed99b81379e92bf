"""Oracle that decides whether a row is an answer: the user's model and its companions."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray
from encoders.core.errors import ModelChangedError
from encoders.formulation.companion_rows import goal_of
from encoders.formulation.goal_rows import link_of
from encoders.formulation.leaf_rows import ROUNDING_SHARE
from encoders.query.goal import ClassGoal, Goal, ValueGoal
from encoders.trees.blend import Blend
from encoders.trees.ensemble import Ensemble
from portfolio.model.native import SUMMED, NativeModel, clear_lead

DIFFERS = (
    "the {name} predicts a row of the query differently from the trees that were read from it, so "
    "it has changed since this Explainer was made, or was read wrongly. Make a new Explainer for "
    "it. Report a bug if the error stays."
)


@dataclass(frozen=True, eq=False)
class Oracle:
    """Native models of one target class, and the trees parsed from them.

    Thread safe; one prediction is made at a time.

    Attributes
    ----------
    ensemble : trees of the class's :class:`ClassView`.
    native : the model itself.
    companions : isolation forest and further models, in the ensemble's order.
    margin : required lead of the class for blended outputs, in the user's score unit; other
        models' margins are rows of the problem.
    """

    ensemble: Ensemble
    native: NativeModel
    companions: tuple["Oracle", ...] = ()
    margin: float = 0.0

    def accepts(self, row: FloatArray, goal: Goal) -> bool:
        """Return whether the model and its companions confirm that the row reaches the goal."""
        return self._reaches(row, goal) and all(
            oracle.accepts(row, own_goal) for oracle, own_goal in self._others(goal)
        )

    def answers(
        self, query: FloatArray, row: FloatArray, goal: Goal
    ) -> tuple[bool, FloatArray | None]:
        """Verify an answer natively; return whether it holds, and probabilities of both rows.

        The probabilities, float64 (2, n_classes), are None where verification needs none. The
        query is predicted in the same native call and compared with the parsed trees.
        """
        if self._clearly_misses(row, goal):
            return False, None
        probabilities, both = None, np.array([query, row])
        if isinstance(goal, ClassGoal) and self.native.likeliest and self.ensemble.blend is None:
            probabilities = self.native.probabilities(both)
            native = probabilities.argmax(axis=1)
        else:
            native = self._native(both, goal)
        self._compare(both[:1], native[:1], goal)
        reached = bool(_within(native[1:], goal)[0])
        if not reached or not (isinstance(goal, ValueGoal) or self._leads(row, goal.target)):
            return False, None
        accepted = all(oracle.accepts(row, own_goal) for oracle, own_goal in self._others(goal))
        return accepted, probabilities if accepted else None

    def check_unchanged(self, rows: FloatArray, goal: Goal) -> None:
        """Raise an error if native predictions of rows contradict the parsed trees."""
        self._compare(rows, self._native(rows, goal), goal)

    def _native(self, rows: FloatArray, goal: Goal) -> IntArray | FloatArray:
        """Return native class indices or numbers of rows, (n_rows,)."""
        if isinstance(goal, ClassGoal):
            several = len(rows) > 1 and self.native.predicts_alone
            clear = several and clear_lead(self.ensemble, self.ensemble.scores(rows)).all()
            return self.native.predict(rows, bool(clear))
        return self.native.values(rows, goal.scale, goal.output)

    def _compare(self, rows: FloatArray, native: IntArray | FloatArray, goal: Goal) -> None:
        """Raise an error if rounding cannot explain native predictions that differ."""
        if isinstance(goal, ClassGoal):
            scores = self.ensemble.scores(rows)
            read = self.ensemble.outputs(scores).argmax(axis=1)
            wrong = (read != native) & clear_lead(self.ensemble, scores)
        else:
            low, high = self._limits(rows, goal)
            wrong = (native < low) | (native > high)
        if wrong.any():
            raise ModelChangedError(DIFFERS.format(name=type(self.native.model).__name__))

    def _others(self, goal: Goal) -> Iterator[tuple["Oracle", Goal]]:
        """Yield the companions, each with the goal that it must confirm."""
        for oracle, companion in zip(self.companions, self.ensemble.companions, strict=True):
            yield oracle, goal_of(companion, goal)

    def accepts_with(self, row: FloatArray, goal: Goal, margin: float) -> bool:
        """Return whether the model accepts the row, and its scores lead by the required margin."""
        if not self.accepts(row, goal):
            return False
        if margin == 0 or isinstance(goal, ValueGoal):
            return True
        return self._lead(row, goal.target) >= margin * self.ensemble.margin_unit

    def _reaches(self, row: FloatArray, goal: Goal) -> bool:
        if self._clearly_misses(row, goal):
            return False
        reached = bool(self.reached(row[None, :], goal)[0])
        return reached and (isinstance(goal, ValueGoal) or self._leads(row, goal.target))

    def reached(self, rows: FloatArray, goal: Goal) -> BoolArray:
        """Return which rows reach the goal according to the model alone, bool (n_rows,)."""
        return _within(self._native(rows, goal), goal)

    def accepted(self, rows: FloatArray, goal: Goal, margin: float) -> BoolArray:
        """Return which rows :meth:`accepts_with` takes, bool (n_rows,), with one call per model."""
        good = self.reached(rows, goal) if len(rows) else np.zeros(0, dtype=np.bool_)
        for oracle, own_goal in self._others(goal):
            good[good] = oracle.accepted(rows[good], own_goal, 0.0)
        if margin > 0 and isinstance(goal, ClassGoal):
            enough = margin * self.ensemble.margin_unit
            good[good] = [self._lead(row, goal.target) >= enough for row in rows[good]]
        return good

    def is_clear(self, row: FloatArray, goal: Goal) -> bool:
        """Return whether the parsed trees accept a row, so that native verification may wait."""
        return not self.companions and self._clearly_reaches(row, goal)

    def surely_misses(self, row: FloatArray, goal: Goal) -> bool:
        """Return whether the parsed trees miss the goal's limits by more than rounding."""
        return isinstance(goal, ValueGoal) and not self._between(row, goal, sure=False)

    def _leads(self, row: FloatArray, target: int) -> bool:
        """Return whether the class leads by the margin, less a tenth for rounding."""
        if self.margin == 0 or self.ensemble.blend is None:
            return True
        return self._lead(row, target) >= (1.0 - ROUNDING_SHARE) * self.margin

    def _lead(self, row: FloatArray, target: int) -> float:
        """Return a class's lead over the best other one by the trees, in units of leaf scores."""
        outputs = self.ensemble.outputs(self.ensemble.scores(row[None, :]))[0]
        return float(outputs[target] - np.delete(outputs, target).max(initial=-np.inf))

    def contradicts_the_trees(self, row: FloatArray, goal: Goal) -> bool:
        """Return whether a rejected row clearly reaches the goal according to the trees."""
        if not self.companions or not self._reaches(row, goal):
            return self._clearly_reaches(row, goal)
        refusing = (pair for pair in self._others(goal) if not pair[0].accepts(row, pair[1]))
        first = next(refusing, None)  # None: all accept, so something else is wrong
        return first is None or first[0].contradicts_the_trees(row, first[1])

    def _clearly_misses(self, row: FloatArray, goal: Goal) -> bool:
        """Return whether blended outputs miss the goal by more than rounding.

        Rows of a part of such a goal admit many of these. They need no native call.
        """
        if isinstance(goal, ValueGoal):
            blended = isinstance(self.ensemble.link, Blend)
            return blended and not self._between(row, goal, sure=False)
        if self.ensemble.blend is None:
            return False
        scores = self.ensemble.scores(row[None, :])
        best = int(self.ensemble.outputs(scores)[0].argmax())
        return best != goal.target and bool(clear_lead(self.ensemble, scores)[0])

    def _clearly_reaches(self, row: FloatArray, goal: Goal) -> bool:
        """Return whether the trees reach the goal by more than rounding."""
        scores = self.ensemble.scores(row[None, :])
        if isinstance(goal, ClassGoal):
            clear = bool(clear_lead(self.ensemble, scores)[0])
            best = int(self.ensemble.outputs(scores)[0].argmax())
            return clear and best == goal.target and self._leads(row, goal.target)
        return self._between(row, goal, sure=True)

    def _between(self, row: FloatArray, goal: ValueGoal, sure: bool) -> bool:
        """Return whether the number is between the limits by the trees, surely or possibly."""
        least, most = self._limits(row[None, :], goal)
        low, high = float(least[0]), float(most[0])
        if sure:
            return goal.low <= low and high <= goal.high
        return goal.low <= high and low <= goal.high

    def _limits(self, rows: FloatArray, goal: ValueGoal) -> tuple[FloatArray, FloatArray]:
        """Return the least and largest possible native number by the trees, (n_rows,) each."""
        scores = self.ensemble.scores(rows)
        band = self.ensemble.rounding.sums + SUMMED * float(np.abs(scores).max(initial=1.0))
        return link_of(self.ensemble, goal).limits(scores, goal.output, band)


def _within(native: IntArray | FloatArray, goal: Goal) -> BoolArray:
    """Return which classes or numbers are those of the goal."""
    reached: BoolArray
    if isinstance(goal, ClassGoal):
        reached = native == goal.target
    else:
        reached = (goal.low <= native) & (native <= goal.high)
    return reached
