"""Readable numbers: the multiples of a step, each the float64 nearest to it."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from encoders.arrays import BoolArray, FloatArray
from encoders.errors import InputError

MOST_DIGITS = 15  # of decimals; float64 holds no more
MOST_STEPS = 2.0**52  # from 0; beyond, neighbouring multiples are one float64


@dataclass(frozen=True)
class Grid:
    """Whole multiples of a step.

    A step such as 0.3 is no float64; its multiples are taken as 3 k / 10, which are the numbers
    that people write.

    Attributes
    ----------
    step : above 0
    """

    step: float

    def __post_init__(self) -> None:
        number = isinstance(self.step, int | float) and not isinstance(self.step, bool)
        if not (number and 0 < self.step < np.inf):
            raise InputError(f"a step must be a number above 0, got {self.step!r}.")

    def at_least(self, bound: FloatArray) -> FloatArray:
        """The first multiple that is not below the bound, of its shape."""
        count = np.floor(self._counts(bound)) - 1
        for _ in range(2):
            count = np.where(self._value(count) < bound, count + 1, count)
        return np.where(self._value(count) < bound, self._value(count + 1), self._value(count))

    def at_most(self, bound: FloatArray) -> FloatArray:
        """The last multiple that is not above the bound, of its shape."""
        return -self.at_least(-bound)

    def nearest(self, value: FloatArray) -> FloatArray:
        """The multiple nearest to a value, of its shape."""
        return self._value(np.rint(self._counts(value)))

    def holds(self, value: FloatArray) -> BoolArray:
        """Which values are multiples."""
        on: BoolArray = self.nearest(value) == value
        return on

    def _counts(self, value: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # infinity is clipped like any number beyond the steps
            counts = np.asarray(value) / self.step
        return np.clip(counts, -MOST_STEPS, MOST_STEPS)

    def _value(self, count: FloatArray) -> FloatArray:
        parts = Fraction(str(self.step))
        return count * parts.numerator / parts.denominator


def grid_of(entry_step: object, digits: object, name: str) -> float:
    """The step that a feature's ``step`` or ``digits`` ask for, 0.0 for none."""
    if entry_step is not None and digits is not None:
        raise InputError(f"feature {name}: give step or digits, not both.")
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
