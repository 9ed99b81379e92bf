"""Who decides whether a row is an answer: the user's model, and the isolation forest."""

from dataclasses import dataclass

import numpy as np

from encoders.arrays import FloatArray
from encoders.posing.goal_rows import link_of
from encoders.query.goal import ClassGoal, Goal, ValueGoal
from encoders.trees.ensemble import Ensemble
from portfolio.model.native import SUMMED, NativeModel, clear_lead
from portfolio.model.plausibility import PlausibilityCheck

LENGTH_TIE = 1e-6


@dataclass(frozen=True, eq=False)
class Oracle:
    """The native objects of one target class, and the trees they were read into.

    Thread safe; one prediction is made at a time.

    Attributes
    ----------
    ensemble : the trees that the class' :class:`ClassView` has
    plausibility : None where it is not asked for
    """

    ensemble: Ensemble
    native: NativeModel
    plausibility: PlausibilityCheck | None

    def accepts(self, row: FloatArray, goal: Goal) -> bool:
        """Whether the model itself says that the row reaches the goal, and it is plausible.

        Parameters
        ----------
        row : float64 (n_columns,)
        goal : a class, or limits of one of the model's numbers
        """
        return self._reaches(row, goal) and (
            self.plausibility is None or self.plausibility.accepts(row)
        )

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
        scores = self.ensemble.scores(row[None, :])[0]
        lead = scores[goal.target] - np.delete(scores, goal.target).max(initial=-np.inf)
        return bool(lead >= margin * self.ensemble.margin_unit)

    def _reaches(self, row: FloatArray, goal: Goal) -> bool:
        if isinstance(goal, ClassGoal):
            return int(self.native.predict(row[None, :])[0]) == goal.target
        given = float(self.native.values(row[None, :], goal.scale, goal.output)[0])
        return goal.low <= given <= goal.high

    def contradicts_the_trees(self, row: FloatArray, goal: Goal) -> bool:
        """Whether a row was rejected that the trees put clearly on the right side.

        Parameters
        ----------
        row : float64 (n_columns,)
        goal : as in :meth:`accepts`
        """
        if not self._reaches(row, goal) or self.plausibility is None:
            return self._clearly_reaches(row, goal)
        if self.plausibility.accepts(row):
            return True  # goal and plausibility hold: something else is wrong
        least = self.ensemble.least_length
        return self.ensemble.lengths(row) > least + LENGTH_TIE * abs(least)

    def _clearly_reaches(self, row: FloatArray, goal: Goal) -> bool:
        """Whether the trees say so, whatever the model rounds."""
        scores = self.ensemble.scores(row[None, :])
        if isinstance(goal, ClassGoal):
            return bool(clear_lead(self.ensemble, scores)[0]) and scores[0].argmax() == goal.target
        band = self.ensemble.rounding.sums + SUMMED * float(np.abs(scores).max(initial=1.0))
        low, high = link_of(self.ensemble, goal).limits(scores, goal.output, band)
        return bool(goal.low <= low[0] and high[0] <= goal.high)
