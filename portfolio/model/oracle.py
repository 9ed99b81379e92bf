"""Who decides whether a row is an answer: the user's model, and the isolation forest."""

from dataclasses import dataclass

from encoders.arrays import FloatArray
from encoders.trees.ensemble import Ensemble
from portfolio.model.native import NativeModel, clear_lead
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

    def accepts(self, row: FloatArray, target: int) -> bool:
        """Whether the model predicts the target and the row is plausible for it.

        Parameters
        ----------
        row : float64 (n_columns,)
        target : class index
        """
        predicted = int(self.native.predict(row[None, :])[0])
        return predicted == target and (self.plausibility is None or self.plausibility.accepts(row))

    def contradicts_the_trees(self, row: FloatArray, target: int) -> bool:
        """Whether a row was rejected that the trees put clearly on the right side.

        Parameters
        ----------
        row : float64 (n_columns,)
        target : class index
        """
        if int(self.native.predict(row[None, :])[0]) != target or self.plausibility is None:
            scores = self.ensemble.scores(row[None, :])
            return bool(clear_lead(self.ensemble, scores)[0]) and scores[0].argmax() == target
        if self.plausibility.accepts(row):
            return True  # class and plausibility hold: something else is wrong
        least = self.ensemble.least_length
        return self.ensemble.lengths(row) > least + LENGTH_TIE * abs(least)
