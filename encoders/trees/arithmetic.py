"""Arithmetic of a library: bounds on the rounding of its sums, and links from sums to outputs."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from encoders.core.arrays import FloatArray, IntArray

SINGLE, DOUBLE = 2.0**-24, 2.0**-53  # unit roundoff of float32 and float64
MANTISSA = 53  # bits of a float64's mantissa
SPARE_BITS = 3  # unused bits, so that a division after an exact sum cannot merge two sums
EXTRA_TERMS = 8  # roundings in addition to the sum: shrinkage, division, logarithm of the bias
LARGEST_EXPONENT = 700.0  # limit of exponents: exp() overflows float64 beyond 709
LINK = 16.0  # unit roundoffs by which a sigmoid or softmax may shift the point of equality


@dataclass(frozen=True)
class Rounding:
    """Rounding errors of a model's decision, compared with exact sums.

    Attributes
    ----------
    band : bound on the error of the lead of one class over another, in units of leaf scores. It is
        0 if sums are exact.
    grid : unit of which all leaf scores and biases are whole multiples, if the model adds them
        without rounding. Otherwise it is 0.
    upper_wins : whether a tie goes to the class with the higher index.
    sums : bound on the error of each sum, in units of leaf scores. It is 0 if sums are exact.
    """

    band: float = 0.0
    grid: float = 0.0
    upper_wins: bool = False
    sums: float = 0.0

    def least_lead(self, target: int, rival: int) -> float:
        """Return the smallest exact lead with which the model may prefer ``target``."""
        if self.grid == 0.0:
            return -self.band
        return 0.0 if (target > rival) == self.upper_wins else self.grid


def rounding_of(
    score: FloatArray,
    root: IntArray,
    bias: FloatArray,
    unit: float = DOUBLE,
    terms: int = 0,
    link: str = "",
    steepness: float = 1.0,
    upper_wins: bool = False,
    may_be_exact: bool = True,
) -> Rounding:
    """Return bounds on the rounding of sums over the trees, valid for every order of additions.

    Adding n terms rounds n - 1 times, each by at most ``unit`` times the partial sum of magnitudes
    (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2).
    """
    if score.shape[0] == 0:
        return Rounding(upper_wins=upper_wins)
    largest = np.maximum.reduceat(np.abs(score), root, axis=0)
    magnitude = largest.sum(axis=0) + np.abs(bias)
    grid = _grid(np.concatenate([score.ravel(), bias]))
    bits = -np.log2(unit)  # bits of the mantissa of the model's sums
    shift = _link_shift(link, unit, steepness, float(magnitude.max()))
    if may_be_exact and magnitude.max() < grid * 2.0 ** (bits - SPARE_BITS) and shift < grid / 4:
        return Rounding(0.0, grid, upper_wins)
    terms += root.size + EXTRA_TERMS
    with np.errstate(over="ignore"):
        two_largest = np.sort(magnitude)[-2:].sum()
        band = float(terms * unit * 1.01 * two_largest + shift)
        sums = float(terms * unit * 1.01 * magnitude.max())
    return Rounding(band, 0.0, upper_wins, sums)


def _link_shift(link: str, unit: float, steepness: float, magnitude: float) -> float:
    """Return the largest lead of raw scores at which the computed link may still tie or cross."""
    if not link:
        return 0.0
    # A tie of a single sigmoid is at score 0. Ties of several may be anywhere, also in flat parts.
    flat = np.exp(min(steepness * magnitude, LARGEST_EXPONENT)) if link == "sigmoids" else 1.0
    return float(LINK * unit * flat / steepness)


def _grid(values: NDArray[np.float64]) -> float:
    """Return the largest power of two that divides all values; 1 if they are all 0."""
    mantissa, exponent = np.frexp(values[values != 0])
    if mantissa.size == 0:
        return 1.0
    whole = np.abs(np.ldexp(mantissa, MANTISSA)).astype(np.int64)
    lowest = whole & -whole  # the lowest bit that is set
    trailing = np.frexp(lowest.astype(np.float64))[1] - 1
    return float(2.0 ** int((exponent - MANTISSA + trailing).min()))


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
        classifiers without probabilities. For "inverse" see :mod:`encoders.readers.transformed`.
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
        offset = self.offset / self.raw_unit  # of a mean, it is a summand of the output
        return replace(self, kind="mean", divisor=self.raw_unit, steepness=1.0, offset=offset)

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
        moved = bound + way * self.error(n_sums)
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

    def error(self, n_sums: int) -> float:
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
        return self.between(argument - band, argument + band, sums.shape[1])

    def between(
        self, least: FloatArray, most: FloatArray, n_sums: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return bounds on the library's output for arguments between two, float64 (n_rows,)."""
        low, high = self._output(least), self._output(most)
        if self.kind in ("mean", "exp"):
            share = MEAN if self.kind == "mean" else LINK
            relative = share * self.unit * np.maximum(np.abs(low), np.abs(high))
            error = relative + np.where(np.isfinite(relative), SMALLEST["float32"], 0.0)
        else:
            error = np.full(low.shape, self.error(n_sums))
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
