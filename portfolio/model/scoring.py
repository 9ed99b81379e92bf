"""How far a row is, in the model's own number."""

from dataclasses import dataclass

from encoders.arrays import FloatArray
from encoders.query.goal import Scale
from portfolio.model.native import NativeModel


@dataclass(frozen=True, eq=False)
class Scoring:
    """Asks the model for one of its numbers when somebody wants to know, not before.

    Attributes
    ----------
    native : the model
    scale, output : which number, as in :meth:`NativeModel.values`
    before : float64 (n_columns,), the query
    after : float64 (n_columns,), the answer; None without one
    """

    native: NativeModel
    scale: Scale
    output: int
    before: FloatArray
    after: FloatArray | None

    def of(self, row: FloatArray | None) -> float | None:
        """The number of one row; None without a row.

        Parameters
        ----------
        row : float64 (n_columns,)
        """
        if row is None:
            return None
        return float(self.native.values(row[None, :], self.scale, self.output)[0])

    def words(self) -> str:
        """What the number is, for sentences."""
        if self.scale == "probability":
            return f"Probability of {self.native.classes[self.output]!r}"
        return "Prediction" if self.scale == "prediction" else "Score"
