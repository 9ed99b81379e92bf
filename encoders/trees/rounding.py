"""How far a model's own sums can be from exact ones, and what it makes of ties.

A model adds its leaves in floating point, in an order and a type of its own, then compares. What
decides a row is which leaves are active; so a proof about ``predict`` itself needs no more than a
bound on the difference between its sums and exact ones. Choices whose exact lead is within that
band are left to the native model, one cell at a time (see ``docs/exactness.md``).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.arrays import FloatArray, IntArray

SINGLE, DOUBLE = 2.0**-24, 2.0**-53  # unit roundoff of float32 and float64
MANTISSA = 53  # bits of a float64
SPARE_BITS = 3  # kept free, so that a division after an exact sum can't merge two sums
EXTRA_TERMS = 8  # roundings besides the additions: shrinkage, division, logarithm of the bias
LARGEST_EXPONENT = 700.0  # of e: float64 overflows beyond 709
LINK = 16.0  # unit roundoffs that a sigmoid or softmax may shift the point of equality by


@dataclass(frozen=True)
class Rounding:
    """What separates a model's own decision from the comparison of exact sums.

    Attributes
    ----------
    band : float
        The lead of one class over another, as the model computes it, differs from the exact lead
        by at most this, in units of leaf scores; 0 where sums are exact.
    grid : float
        All leaf scores and biases are whole multiples of it, and the model adds them without
        rounding; 0 where that is not so.
    upper_wins : bool
        Whether a tie goes to the class of the higher index.
    sums : float
        Each sum, as the model computes it, differs from the exact one by at most this; 0 where
        sums are exact.
    """

    band: float = 0.0
    grid: float = 0.0
    upper_wins: bool = False
    sums: float = 0.0

    def least_lead(self, target: int, rival: int) -> float:
        """The smallest exact lead with which the model may prefer ``target`` to ``rival``."""
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
    """Bound the rounding of a sum over the trees, whatever its order.

    Adding n terms rounds n - 1 times, each by at most ``unit`` of the sum of magnitudes so far.
    The order of the additions does not matter for the bound (Higham, Accuracy and Stability of
    Numerical Algorithms, section 4.2).
    """
    if score.shape[0] == 0:
        return Rounding(upper_wins=upper_wins)
    largest = np.maximum.reduceat(np.abs(score), root, axis=0)
    magnitude = largest.sum(axis=0) + np.abs(bias)
    grid = _grid(np.concatenate([score.ravel(), bias]))
    bits = -np.log2(unit)  # of the mantissa that the model adds in
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
    """How far from a tie of raw scores the values of their link may still tie or cross."""
    if not link:
        return 0.0
    # A sigmoid is compared where scores tie: at 0 if there is one, else anywhere, flat parts too.
    flat = np.exp(min(steepness * magnitude, LARGEST_EXPONENT)) if link == "sigmoids" else 1.0
    return float(LINK * unit * flat / steepness)


def _grid(values: NDArray[np.float64]) -> float:
    """The largest power of two that divides all values; 1 if they are all 0."""
    mantissa, exponent = np.frexp(values[values != 0])
    if mantissa.size == 0:
        return 1.0
    whole = np.abs(np.ldexp(mantissa, MANTISSA)).astype(np.int64)
    lowest = whole & -whole  # the last bit that is set
    trailing = np.frexp(lowest.astype(np.float64))[1] - 1
    return float(2.0 ** int((exponent - MANTISSA + trailing).min()))
