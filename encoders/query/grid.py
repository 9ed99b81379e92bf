"""Multiples of a step, each as the nearest float64."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray
from encoders.core.errors import InputError

MOST_DIGITS = 15  # decimals; float64 has no more
MOST_STEPS = 2.0**52  # counted from 0; beyond, float64 numbers are as far apart as multiples


@dataclass(frozen=True)
class Grid:
    """Grid of whole multiples of a step.

    A step such as 0.3 has no exact float64. Its multiples are computed as 3 k / 10, which are the
    numbers that people write.
    """

    step: float  # distance of neighbouring multiples, above 0

    def __post_init__(self) -> None:
        number = isinstance(self.step, int | float) and not isinstance(self.step, bool)
        if not (number and 0 < self.step < np.inf):
            raise InputError(f"a step must be a finite number above 0, got {self.step!r}.")

    def at_least(self, bound: FloatArray) -> FloatArray:
        """Return the smallest multiple at or above each bound, same shape."""
        count = np.floor(self._counts(bound)) - 1
        for _ in range(2):
            count = np.where(self._value(count) < bound, count + 1, count)
        above = np.where(self._value(count) < bound, self._value(count + 1), self._value(count))
        return np.where(self._is_dense(bound), bound, above)

    def at_most(self, bound: FloatArray) -> FloatArray:
        """Return the largest multiple at or below each bound, same shape."""
        return -self.at_least(-bound)

    def nearest(self, value: FloatArray) -> FloatArray:
        """Return the multiple nearest to each value, same shape."""
        return np.where(self._is_dense(value), value, self._value(np.rint(self._counts(value))))

    def holds(self, value: FloatArray) -> BoolArray:
        """Return which values are multiples, bool of the same shape."""
        is_multiple: BoolArray = self.at_least(value) == value
        return is_multiple

    def _counts(self, value: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # infinity is clipped like any number beyond MOST_STEPS
            counts = np.asarray(value) / self.step
        return np.clip(counts, -MOST_STEPS, MOST_STEPS)

    def _is_dense(self, value: FloatArray) -> BoolArray:
        """Return where every float64 counts as a multiple, same shape."""
        dense: BoolArray = np.abs(value) >= MOST_STEPS * self.step
        return dense

    def _value(self, count: FloatArray) -> FloatArray:
        parts = Fraction(str(self.step))
        return count * parts.numerator / parts.denominator


def grid_of(entry_step: object, digits: object, name: str) -> float:
    """Return the step that a feature's ``step`` or ``digits`` stands for, 0.0 without either."""
    if entry_step is not None and digits is not None:
        raise InputError(
            f"feature {name} has both step={entry_step!r} and digits={digits!r}. Give one of them."
        )
    if digits is not None:
        if isinstance(digits, bool) or not isinstance(digits, int) or abs(digits) > MOST_DIGITS:
            raise InputError(
                f"feature {name}: digits must be a whole number from -{MOST_DIGITS} to "
                f"{MOST_DIGITS}, got {digits!r}."
            )
        return float(10.0**-digits)
    if entry_step is None:
        return 0.0
    try:
        return float(Grid(entry_step).step)  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(f"feature {name}: {error}") from error
