"""Links from sums of leaves to a library's outputs: probabilities, or predictions of regressors.

A goal such as "a probability of at least 0.8" is about an output of the library, but solvers work
with sums of leaves. So a link converts a bound on the output to a necessary bound on the exact
sums, whatever the library rounds. For exact sums it returns limits of the library's output.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from encoders.arrays import FloatArray
from encoders.trees.rounding import DOUBLE, LINK

LinkKind = Literal["none", "mean", "exp", "sigmoid", "sigmoids", "softmax", "inverse"]
SMALLEST = {"float32": 2.0**-126, "float64": 2.0**-1022}  # smallest normal numbers
MEAN = 8.0  # unit roundoffs of a division and the addition of an offset


@dataclass(frozen=True)
class Link:
    """Function from the sums of a model's leaves to its outputs.

    Attributes
    ----------
    kind : kind of function. "mean" is the sum over ``divisor``, "exp" its exponential. "sigmoid" is
        of a single sum, "sigmoids" of each class' sum, "softmax" of all sums. "none" is for
        classifiers without probabilities. For "inverse" see :mod:`encoders.trees.inverse`.
    divisor : divisor of the sums; the number of trees if these are averaged, else 1.
    steepness : factor of the sums before an exponential, a sigmoid or a softmax.
    unit : unit roundoff of the output's type.
    offset : summand of the sum of a "mean" or "sigmoid", which the reader had subtracted.
    raw_unit : sums per unit of the raw score.
    """

    kind: LinkKind = "none"
    divisor: float = 1.0
    steepness: float = 1.0
    unit: float = DOUBLE
    offset: float = 0.0
    raw_unit: float = 1.0

    @property
    def raw(self) -> "Link":
        """Link of the same model's raw score."""
        return replace(self, kind="mean", divisor=self.raw_unit, steepness=1.0)

    @property
    def probable(self) -> bool:
        """True if outputs lie between 0 and 1."""
        return self.kind in ("sigmoid", "sigmoids", "softmax")

    def of_output(self, n_sums: int, output: int) -> "Link":
        """Return the link of one output; the first of two classes has the negated sum."""
        negated = self.kind == "sigmoid" and n_sums == 2 and output == 0
        return replace(self, offset=-self.offset) if negated and self.offset else self

    def weights(self, n_sums: int, output: int) -> FloatArray:
        """Return the factors of the sums in the link's argument, float64 (n_sums,); not softmax."""
        weights = np.zeros(n_sums)
        weights[output] = 1.0
        if self.kind == "sigmoid" and n_sums == 2:
            weights[1 - output] = -1.0
        return weights

    def least(self, low: float, n_sums: int, sure: bool = False) -> float:
        """Return the least sum whose output may be at least ``low`` (surely is, if ``sure``).

        The sum is that of :meth:`weights`, as the library computes it. For softmax it is the lead
        over the smooth maximum of the others, whose exponential is the odds. The result is -inf if
        every sum qualifies, inf if no output is so large.
        """
        return self._inverse(low, n_sums, 1.0 if sure else -1.0)

    def most(self, high: float, n_sums: int, sure: bool = False) -> float:
        """Return the largest sum whose output may be at most ``high`` (surely is, if ``sure``)."""
        return self._inverse(high, n_sums, -1.0 if sure else 1.0)

    def _inverse(self, bound: float, n_sums: int, way: float) -> float:
        """Return the sum of an output, moved up (``way`` 1) or down (-1) by the rounding error."""
        if math.isinf(bound):
            return bound
        if self.kind == "mean":
            moved = bound - self.offset + way * MEAN * self.unit * (abs(bound) + abs(self.offset))
            return self.divisor * moved
        if self.kind == "exp":
            return self._log(bound, way) / self.steepness
        moved = bound + way * self._error(n_sums)
        if not 0.0 < moved < 1.0:
            return math.inf if moved > 0.5 else -math.inf
        odds = math.log(moved) - math.log1p(-moved)
        moved = odds + way * LINK * DOUBLE * (1.0 + abs(odds) + abs(self.offset))
        return moved / self.steepness - self.offset

    def _log(self, bound: float, way: float) -> float:
        smallest = SMALLEST["float64" if self.unit == DOUBLE else "float32"]
        if bound < 0 or (bound < smallest and way < 0):
            return -math.inf
        logarithm = math.log(max(bound, smallest))
        return logarithm + way * LINK * (self.unit + DOUBLE * abs(logarithm))

    def _error(self, n_sums: int) -> float:
        """Return a bound on the rounding error of an output between 0 and 1."""
        return (LINK + n_sums) * self.unit

    def limits(self, sums: FloatArray, output: int, band: float) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound on the library's output, float64 (n_rows,) each."""
        if self.kind == "softmax":
            others = np.delete(sums, output, axis=1) * self.steepness
            top = others.max(axis=1)
            rest = top + np.log(np.exp(others - top[:, None]).sum(axis=1))
            argument, band = sums[:, output] - rest / self.steepness, 2.0 * band
        else:
            weights = self.weights(sums.shape[1], output)
            argument = sums @ weights
            band *= float(np.abs(weights).sum())
        argument = argument + self.offset * (self.divisor if self.kind == "mean" else 1.0)
        low, high = self._output(argument - band), self._output(argument + band)
        if self.kind in ("mean", "exp"):
            share = MEAN if self.kind == "mean" else LINK
            relative = share * self.unit * np.maximum(np.abs(low), np.abs(high))
            error = relative + np.where(np.isfinite(relative), SMALLEST["float32"], 0.0)
        else:
            error = np.full(low.shape, self._error(sums.shape[1]))
        return low - error, high + error

    def _output(self, argument: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            if self.kind == "mean":
                return argument / self.divisor
            if self.kind == "exp":
                return np.asarray(np.exp(self.steepness * argument))
            return _sigmoid(self.steepness * argument)


def _sigmoid(x: NDArray[np.float64]) -> FloatArray:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small))
