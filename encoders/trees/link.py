"""What a library makes of its sums: probabilities, or a regressor's predictions.

A goal such as "a probability of at least 0.8" is about what the library puts out. Solvers know
sums of leaves only. So each link says, for a bound on the output, how far the exact sums must go
at least if the library is to put out so much, whatever it rounds; and for exact sums, within which
limits the library's output is.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from encoders.arrays import FloatArray
from encoders.trees.rounding import DOUBLE, LINK

LinkKind = Literal["none", "mean", "exp", "sigmoid", "sigmoids", "softmax", "inverse"]
SMALLEST = {"float32": 2.0**-126, "float64": 2.0**-1022}  # below, digits are lost or cut to zero
MEAN = 8.0  # unit roundoffs of a division and of the addition of an offset


@dataclass(frozen=True)
class Link:
    """How a model's outputs follow from the sums of its leaves.

    Attributes
    ----------
    kind : str
        "mean": the sum over ``divisor`` (the sum itself where that is 1), "exp": its exponential,
        "sigmoid": of the one sum, "sigmoids": each class' own, "softmax": of all sums. "none": the
        classifier has no probabilities. "inverse": see :mod:`encoders.trees.inverse`.
    divisor : what sums are divided by first: the number of trees where they are averaged
    steepness : factor of the sums before an exponential, a sigmoid or a softmax
    unit : unit roundoff of the type that the library puts out
    offset : is added to the sum of a "mean" or "sigmoid"; what reading has taken off
    raw_unit : sums per unit of the raw score
    """

    kind: LinkKind = "none"
    divisor: float = 1.0
    steepness: float = 1.0
    unit: float = DOUBLE
    offset: float = 0.0
    raw_unit: float = 1.0

    @property
    def raw(self) -> "Link":
        """The same model's raw score."""
        return replace(self, kind="mean", divisor=self.raw_unit, steepness=1.0)

    @property
    def probable(self) -> bool:
        """Whether outputs lie between 0 and 1."""
        return self.kind in ("sigmoid", "sigmoids", "softmax")

    def of_output(self, n_sums: int, output: int) -> "Link":
        """The same link as one output sees it: of two classes, the first has the sum's opposite."""
        turned = self.kind == "sigmoid" and n_sums == 2 and output == 0
        return replace(self, offset=-self.offset) if turned and self.offset else self

    def weights(self, n_sums: int, output: int) -> FloatArray:
        """Factors of the sums in what the link is taken of, float64 (n_sums,); not for softmax."""
        weights = np.zeros(n_sums)
        weights[output] = 1.0
        if self.kind == "sigmoid" and n_sums == 2:
            weights[1 - output] = -1.0
        return weights

    def least(self, low: float, n_sums: int, sure: bool = False) -> float:
        """Where the library's output may be at least ``low``, sums come to at least this.

        "Sums" are those of :meth:`weights`, as the library computes them; for softmax the lead
        over the smooth maximum of the others, whose exponential is the odds. -inf where that says
        nothing, inf where no output is as large.
        """
        return self._inverse(low, n_sums, 1.0 if sure else -1.0)

    def most(self, high: float, n_sums: int, sure: bool = False) -> float:
        """Where the library's output may be at most ``high``, sums come to at most this."""
        return self._inverse(high, n_sums, -1.0 if sure else 1.0)

    def _inverse(self, bound: float, n_sums: int, way: float) -> float:
        """The sum of an output, moved up (``way`` 1) or down (-1) by what rounding can do."""
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
        found = math.log(max(bound, smallest))
        return found + way * LINK * (self.unit + DOUBLE * abs(found))

    def _error(self, n_sums: int) -> float:
        """How far an output between 0 and 1 may be from that of the computed sums."""
        return (LINK + n_sums) * self.unit

    def limits(self, sums: FloatArray, output: int, band: float) -> tuple[FloatArray, FloatArray]:
        """Between which numbers the library's output is, float64 (n_rows,) each."""
        if self.kind == "softmax":
            others = np.delete(sums, output, axis=1) * self.steepness
            top = others.max(axis=1)
            rest = top + np.log(np.exp(others - top[:, None]).sum(axis=1))
            taken, band = sums[:, output] - rest / self.steepness, 2.0 * band
        else:
            weights = self.weights(sums.shape[1], output)
            taken = sums @ weights
            band *= float(np.abs(weights).sum())
        taken = taken + self.offset * (self.divisor if self.kind == "mean" else 1.0)
        low, high = self._output(taken - band), self._output(taken + band)
        if self.kind in ("mean", "exp"):
            share = MEAN if self.kind == "mean" else LINK
            relative = share * self.unit * np.maximum(np.abs(low), np.abs(high))
            error = relative + np.where(np.isfinite(relative), SMALLEST["float32"], 0.0)
        else:
            error = np.full(low.shape, self._error(sums.shape[1]))
        return low - error, high + error

    def _output(self, taken: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            if self.kind == "mean":
                return taken / self.divisor
            if self.kind == "exp":
                return np.asarray(np.exp(self.steepness * taken))
            return _sigmoid(self.steepness * taken)


def _sigmoid(x: NDArray[np.float64]) -> FloatArray:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small))
