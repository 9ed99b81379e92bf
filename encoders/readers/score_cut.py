"""Decision between two classes by a threshold on one score."""

import math
from dataclasses import dataclass, replace

import numpy as np

from encoders.core.arrays import FloatArray, frozen
from encoders.readers.shares import answer_unit
from encoders.trees.arithmetic import Rounding, rounding_of
from encoders.trees.ensemble import Ensemble

TERMS = 4  # roundings of the score's division and of the threshold's conversion


@dataclass(frozen=True, eq=False)
class ScoreCut:
    """Decision in units of leaf scores: class 1 where a weighted sum of the sums reaches ``at``.

    Attributes
    ----------
    weights : factor of each sum of the model, float64 (n_sums,).
    at : threshold of the weighted sum.
    width : distance from ``at`` within which the library's rounding decides.
    grid : grid as in :class:`Rounding`, if sums of leaves are exact and none is within the width.
    upper_wins : whether the class is 1 at the threshold itself.
    """

    weights: FloatArray
    at: float
    width: float = 0.0
    grid: float = 0.0
    upper_wins: bool = True

    def beyond(self, sums: FloatArray) -> FloatArray:
        """Return the sums of the two classes, float64 (n_rows, 2): 0, and the score beyond it."""
        score = sums @ self.weights - self.at
        return np.column_stack([np.zeros(len(score)), score])

    def of(self, member: Ensemble) -> Ensemble:
        """Return the trees of a model with this decision; its link is that of the model."""
        score = member.score @ self.weights
        score = np.column_stack([np.zeros(len(score)), score])
        bias = float(member.bias @ self.weights)
        if self.grid:
            rounding = Rounding(0.0, self.grid, self.upper_wins)
        else:
            size = np.array([0.0, abs(bias) + abs(self.at)])
            added = rounding_of(score, member.root, size, terms=TERMS, may_be_exact=False)
            band = added.band + member.rounding.band + self.width
            rounding = Rounding(band, 0.0, self.upper_wins, band)
        return replace(
            member,
            score=frozen(score),
            bias=frozen(np.array([0.0, bias - self.at])),
            votes=False,
            margin_unit=answer_unit(member),
            rounding=rounding,
        )


def reach_of(member: Ensemble, weights: FloatArray) -> float:
    """Return a bound on the absolute value of a weighted sum of a model's sums."""
    score = np.abs(member.score @ weights)
    return float(np.maximum.reduceat(score, member.root).sum() + abs(member.bias @ weights))


def first_sum(score: float, unit: float, grid: float) -> int:
    """Return the least integer ``k`` with ``k * grid / unit >= score``, divided as the library."""
    k = math.floor(score * unit / grid) - 2
    while k * grid / unit < score:
        k += 1
    return k
