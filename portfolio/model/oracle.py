"""Who decides whether a row is an answer: the user's model, and its companions."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from encoders.arrays import BoolArray, FloatArray
from encoders.errors import ModelChangedError
from encoders.posing.companion_rows import goal_of
from encoders.posing.goal_rows import link_of
from encoders.posing.leaf_rows import ROUNDING_SHARE
from encoders.query.goal import ClassGoal, Goal, ValueGoal
from encoders.trees.blend import Blend
from encoders.trees.ensemble import Ensemble
from portfolio.model.fitted_state import CHANGED
from portfolio.model.native import SUMMED, NativeModel, clear_lead


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
        """Whether the model itself says that the row reaches the goal, and so do its companions.

        Parameters
        ----------
        row : float64 (n_columns,)
        goal : a class, or limits of one of the model's numbers
        """
        return self._reaches(row, goal) and all(
            own.accepts(row, its) for own, its in self._others(goal)
        )

    def answers(
        self, query: FloatArray, row: FloatArray, goal: Goal
    ) -> tuple[bool, FloatArray | None]:
        """Whether :meth:`accepts` takes the row; where one call tells more, what it tells.

        Parameters
        ----------
        query, row : float64 (n_columns,)
        goal : as in :meth:`accepts`

        Returns
        -------
        That, and the model's probabilities of both rows, (2, n_classes), or None.
        """
        together = isinstance(goal, ClassGoal) and self.native.likeliest
        if not together or self.ensemble.blend is not None:
            return self.accepts(row, goal), None
        told = self.native.probabilities(np.array([query, row]))
        scores = self.ensemble.scores(query[None, :])
        read_as = int(self.ensemble.outputs(scores)[0].argmax())
        if read_as != told[0].argmax() and clear_lead(self.ensemble, scores)[0]:
            raise ModelChangedError(CHANGED.format(name=type(self.native.model).__name__))
        if told[1].argmax() != goal.target:
            return False, None
        return all(own.accepts(row, its) for own, its in self._others(goal)), told

    def _others(self, goal: Goal) -> Iterator[tuple["Oracle", Goal]]:
        """The companions, and what each has to say of an answer."""
        for oracle, own in zip(self.companions, self.ensemble.companions, strict=True):
            yield oracle, goal_of(own, goal)

    def accepts_with(self, row: FloatArray, goal: Goal, margin: float) -> bool:
        """Whether the model accepts the row, and its scores have the lead that was asked for.

        Parameters
        ----------
        row : float64 (n_columns,)
        goal : as in :meth:`accepts`
        margin : in the user's score unit; 0 for what the model's own predict decides
        """
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
        """Which rows reach the goal, as the model alone says, bool (n_rows,).

        Parameters
        ----------
        rows : float64 (n_rows, n_columns)
        goal : as in :meth:`accepts`
        """
        if isinstance(goal, ClassGoal):
            same: BoolArray = self.native.predict(rows) == goal.target
            return same
        given = self.native.values(rows, goal.scale, goal.output)
        return (goal.low <= given) & (given <= goal.high)

    def accepted(self, rows: FloatArray, goal: Goal, margin: float) -> BoolArray:
        """Which rows :meth:`accepts_with` takes, bool (n_rows,); each model is asked once.

        Parameters
        ----------
        rows : float64 (n_rows, n_columns)
        goal, margin : as in :meth:`accepts_with`
        """
        good = self.reached(rows, goal) if len(rows) else np.zeros(0, dtype=np.bool_)
        for own, its in self._others(goal):
            good[good] = own.accepted(rows[good], its, 0.0)
        if margin > 0 and isinstance(goal, ClassGoal):
            enough = margin * self.ensemble.margin_unit
            good[good] = [self._lead(row, goal.target) >= enough for row in rows[good]]
        return good

    def is_clear(self, row: FloatArray, goal: Goal) -> bool:
        """Whether the trees alone say that a row is accepted, so that the model may say so later.

        Parameters
        ----------
        row : float64 (n_columns,)
        goal : as in :meth:`accepts`
        """
        return not self.companions and self._clearly_reaches(row, goal)

    def surely_misses(self, row: FloatArray, goal: Goal) -> bool:
        """Whether the trees put one of the model's numbers outside its limits, however it rounds.

        Parameters
        ----------
        row : float64 (n_columns,)
        goal : as in :meth:`accepts`; of a class nothing is said
        """
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
        """Whether a row was rejected that the trees put clearly on the right side.

        Parameters
        ----------
        row : float64 (n_columns,)
        goal : as in :meth:`accepts`
        """
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
        scores = self.ensemble.scores(row[None, :])
        band = self.ensemble.rounding.sums + SUMMED * float(np.abs(scores).max(initial=1.0))
        least, most = link_of(self.ensemble, goal).limits(scores, goal.output, band)
        low, high = float(least[0]), float(most[0])
        if sure:
            return goal.low <= low and high <= goal.high
        return goal.low <= high and low <= goal.high
