"""How far a row is, in the model's own number."""

from dataclasses import dataclass

import numpy as np

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
    told : float64 (2, n_classes), probabilities of both rows, where the model has told them already
    """

    native: NativeModel
    scale: Scale
    output: int
    before: FloatArray
    after: FloatArray | None
    told: FloatArray | None = None

    def both(self) -> tuple[float, float | None]:
        """The numbers of the query and of the answer, which is None without one; asked at once."""
        if self.told is not None and self.scale == "probability":
            return float(self.told[0, self.output]), float(self.told[1, self.output])
        told = self.native.values(np.array(self.rows), self.scale, self.output).tolist()
        return float(told[0]), float(told[1]) if len(told) > 1 else None

    @property
    def rows(self) -> list[FloatArray]:
        """The query and, if there is one, the answer."""
        return [self.before] if self.after is None else [self.before, self.after]

    def words(self) -> str:
        """What the number is, for sentences."""
        if self.scale == "probability":
            return f"Probability of {self.native.classes[self.output]!r}"
        return "Prediction" if self.scale == "prediction" else "Score"
