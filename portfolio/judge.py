"""Who decides whether a row is an answer: the user's model, and the isolation forest."""

from dataclasses import dataclass

from encoders.arrays import FloatArray
from encoders.ensemble import Ensemble
from portfolio.native import NativeModel, clear_lead
from portfolio.plausibility import Outlook

LENGTH_TIE = 1e-6


@dataclass(frozen=True, eq=False)
class Judge:
    """The native objects of one target class, and the trees they were read into."""

    ensemble: Ensemble
    native: NativeModel
    outlook: Outlook | None

    def accepts(self, row: FloatArray, target: int) -> bool:
        """Whether the model predicts the target and the row is plausible for it."""
        predicted = int(self.native.predict(row[None, :])[0])
        return predicted == target and (self.outlook is None or self.outlook.plausible(row))

    def contradicts_the_trees(self, row: FloatArray, target: int) -> bool:
        """Whether a row was rejected that the trees put clearly on the right side."""
        if int(self.native.predict(row[None, :])[0]) != target or self.outlook is None:
            scores = self.ensemble.scores(row[None, :])
            return bool(clear_lead(self.ensemble, scores)[0]) and scores[0].argmax() == target
        if self.outlook.plausible(row):
            return True  # class and plausibility hold: something else is wrong
        least = self.ensemble.least_length
        return self.ensemble.lengths(row) > least + LENGTH_TIE * abs(least)
