"""Probabilities that follow from other numbers of the classes."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.trees.arithmetic import DOUBLE, LINK, Link


@dataclass(frozen=True)
class Normalisation:
    """Function from one number per class to probabilities.

    Attributes
    ----------
    kind : kind of function. "sigmoid" is of the number of one of two classes, which is the negated
        number of the other. "softmax" is of the numbers of all classes. "ratio" is a number of at
        least 0 divided by the sum of all.
    unit : unit roundoff of probabilities.
    """

    kind: Literal["sigmoid", "softmax", "ratio"]
    unit: float = DOUBLE

    @property
    def link(self) -> Link:
        """Link from the number of one of two classes, or from all numbers, to a probability."""
        return Link("sigmoid" if self.kind == "sigmoid" else "softmax", unit=self.unit)

    def error(self, n_classes: int) -> float:
        """Return a bound on the rounding of a ratio, times the sum of all numbers."""
        return n_classes * (LINK + n_classes) * self.unit

    def limits(
        self, low: FloatArray, high: FloatArray, output: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return bounds on a probability, (n_rows,), for bounds on numbers, (n_rows, n_classes)."""
        if self.kind == "sigmoid":
            return self.link.between(low[:, output], high[:, output], 2)
        if self.kind == "softmax":
            least, most = (
                np.column_stack([first[:, output], np.delete(others, output, axis=1)])
                for first, others in ((low, high), (high, low))
            )
            return self.link.limits(least, 0, 0.0)[0], self.link.limits(most, 0, 0.0)[1]
        low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        error = self.error(low.shape[1])
        others = np.delete(low, output, axis=1).sum(axis=1)
        most_others = np.delete(high, output, axis=1).sum(axis=1)
        least = _ratio(low[:, output], most_others) - error
        return least, _ratio(high[:, output], others) + error


def _ratio(number: FloatArray, others: FloatArray) -> FloatArray:
    """Return a number divided by the sum of it and others; 0 where all are 0."""
    total = number + others
    return number / np.where(total > 0.0, total, 1.0)
