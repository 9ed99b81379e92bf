"""The model's own numbers of a query and its answer, on demand."""

from dataclasses import dataclass

import numpy as np

from encoders.arrays import FloatArray
from encoders.query.goal import Scale
from portfolio.model.native import NativeModel


@dataclass(frozen=True, eq=False)
class Scoring:
    """Lazily computed numbers of the model for a query and its answer.

    Attributes
    ----------
    native : the model.
    scale : scale of the number, as in :meth:`NativeModel.values`.
    output : output of the number, as in :meth:`NativeModel.values`.
    before : float64 (n_columns,), the query.
    after : float64 (n_columns,), the answer, or None.
    probabilities : float64 (2, n_classes), of both rows if already computed, else None.
    """

    native: NativeModel
    scale: Scale
    output: int
    before: FloatArray
    after: FloatArray | None
    probabilities: FloatArray | None = None

    def both(self) -> tuple[float, float | None]:
        """Return the numbers of the query and the answer (None without one), from one call."""
        if self.probabilities is not None and self.scale == "probability":
            return float(self.probabilities[0, self.output]), float(
                self.probabilities[1, self.output]
            )
        numbers = self.native.values(np.array(self.rows), self.scale, self.output).tolist()
        return float(numbers[0]), float(numbers[1]) if len(numbers) > 1 else None

    @property
    def rows(self) -> list[FloatArray]:
        """The query and, if there is one, the answer."""
        return [self.before] if self.after is None else [self.before, self.after]

    def words(self) -> str:
        """Return the name of the number, for sentences."""
        if self.scale == "probability":
            return f"Probability of {self.native.classes[self.output]!r}"
        return "Prediction" if self.scale == "prediction" else "Score"
