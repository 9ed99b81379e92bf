"""Who decides whether a row is an answer: the user's model, and its companions."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray
from encoders.errors import ModelChangedError
from encoders.posing.companion_rows import goal_of
from encoders.posing.goal_rows import link_of
from encoders.posing.leaf_rows import ROUNDING_SHARE
from encoders.query.goal import ClassGoal, Goal, ValueGoal
from encoders.trees.blend import Blend
from encoders.trees.ensemble import Ensemble
from portfolio.model.native import SUMMED, NativeModel, clear_lead

DIFFERS = (
    "the {name} predicts a row of the query differently from the trees that were read from it, so "
    "it has changed since this Explainer was made, or was read wrongly. Make a new Explainer for "
    "it; report a bug if the error stays."
)


@dataclass(frozen=True, eq=False)
class Oracle:
    """The native objects of one target class, and the trees they were read into.

    Thread safe; one prediction is made at a time.

    Attributes
    ----------
    ensemble : the trees that the class' :class:`ClassView` has
    companions : an isolation forest and further models, in the order that the ensemble has them
    margin : that the class leads by where outputs are blended, in the user's score unit; elsewhere
        the problem's rows see to it
    """

    ensemble: Ensemble
    native: NativeModel
    companions: tuple["Oracle", ...] = ()
    margin: float = 0.0

    def accepts(self, row: FloatArray, goal: Goal) -> bool:
        """Whether the model itself says that the row reaches the goal, and so do its companions."""
        return self._reaches(row, goal) and all(
            own.accepts(row, its) for own, its in self._others(goal)
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
        accepted = all(own.accepts(row, its) for own, its in self._others(goal))
        return accepted, probabilities if accepted else None

    def check_unchanged(self, rows: FloatArray, goal: Goal) -> None:
        """Raise an error if native predictions of rows contradict the parsed trees."""
        self._compare(rows, self._native(rows, goal), goal)

    def _native(self, rows: FloatArray, goal: Goal) -> IntArray | FloatArray:
        """Return native class indices or numbers of rows, (n_rows,)."""
        if isinstance(goal, ClassGoal):
            return self.native.predict(rows)
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
        """The companions, and what each has to say of an answer."""
        for oracle, own in zip(self.companions, self.ensemble.companions, strict=True):
            yield oracle, goal_of(own, goal)

    def accepts_with(self, row: FloatArray, goal: Goal, margin: float) -> bool:
        """Whether the model accepts the row, and its scores have the lead that was asked for."""
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
        """Which rows reach the goal, as the model alone says, bool (n_rows,)."""
        return _within(self._native(rows, goal), goal)

    def accepted(self, rows: FloatArray, goal: Goal, margin: float) -> BoolArray:
        """Which rows :meth:`accepts_with` takes, bool (n_rows,); each model is asked once."""
        good = self.reached(rows, goal) if len(rows) else np.zeros(0, dtype=np.bool_)
        for own, its in self._others(goal):
            good[good] = own.accepted(rows[good], its, 0.0)
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
        """Whether the class leads by the margin, which rounding may change by a tenth."""
        if self.margin == 0 or self.ensemble.blend is None:
            return True
        return self._lead(row, target) >= (1.0 - ROUNDING_SHARE) * self.margin

    def _lead(self, row: FloatArray, target: int) -> float:
        """By how much the trees put a class ahead of each other one, in units of leaf scores."""
        outputs = self.ensemble.outputs(self.ensemble.scores(row[None, :]))[0]
        return float(outputs[target] - np.delete(outputs, target).max(initial=-np.inf))

    def contradicts_the_trees(self, row: FloatArray, goal: Goal) -> bool:
        """Whether a row was rejected that the trees put clearly on the right side."""
        if not self.companions or not self._reaches(row, goal):
            return self._clearly_reaches(row, goal)
        refusing = (pair for pair in self._others(goal) if not pair[0].accepts(row, pair[1]))
        first = next(refusing, None)  # None: all hold, something else is wrong
        return first is None or first[0].contradicts_the_trees(row, first[1])

    def _clearly_misses(self, row: FloatArray, goal: Goal) -> bool:
        """Whether blended outputs are short of the goal, whatever the model rounds.

        Rows of a part of such a goal admit many of these; the model itself need not be asked.
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
        """Whether the trees say so, whatever the model rounds."""
        scores = self.ensemble.scores(row[None, :])
        if isinstance(goal, ClassGoal):
            clear = bool(clear_lead(self.ensemble, scores)[0])
            best = int(self.ensemble.outputs(scores)[0].argmax())
            return clear and best == goal.target and self._leads(row, goal.target)
        return self._between(row, goal, sure=True)

    def _between(self, row: FloatArray, goal: ValueGoal, sure: bool) -> bool:
        """Whether the trees put the number between the limits for sure, or perhaps."""
        least, most = self._limits(row[None, :], goal)
        low, high = float(least[0]), float(most[0])
        if sure:
            return goal.low <= low and high <= goal.high
        return goal.low <= high and low <= goal.high

    def _limits(self, rows: FloatArray, goal: ValueGoal) -> tuple[FloatArray, FloatArray]:
        """Return what the model's number is at least and at most by the trees, (n_rows,) each."""
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
