"""Bounds on the rounding errors of a model's sums, and its decisions on ties.

A model adds its leaves in floating point, in some order and type, and then compares sums. Active
leaves determine the decision. So a proof about ``predict`` needs only a bound on the difference
between its sums and exact ones. Choices whose exact lead is within that band are verified by the
native model, one cell at a time (see ``docs/explanation/rounding.md``).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.arrays import FloatArray, IntArray

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
