"""Parts of a relaxation: requirements on sums, parts of the goal, terms placed in them."""

from dataclasses import dataclass

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.formulation.leaf_rows import bounded_row
from encoders.problem.problem import LeafRow
from encoders.trees.arithmetic import DOUBLE
from encoders.trees.blend import Expression, Term

Halfspace = tuple[FloatArray, float]  # weights of the sums, and what they come to at least
CLOSE = 1e-12  # share of a requirement's numbers by which rounding may miss what is needed


@dataclass(frozen=True, eq=False)
class Requirement:
    """Lower limit on an expression."""

    expression: Expression  # expression of the sums
    needed: float  # the limit; inf where nothing is enough

    def misses(self, sums: FloatArray) -> bool:
        """Return whether it does not hold, by more than rounding explains."""
        most = float(self.expression.limits(sums[None, :])[1][0])
        return most < self.needed - CLOSE * (1.0 + abs(self.needed))


@dataclass(frozen=True, eq=False)
class Part:
    """A range of each lead.

    Attributes
    ----------
    low, high : float64 (n_leads,)
    refused : points, float64 (n_leads,) each, where planes are to be close
    """

    low: FloatArray
    high: FloatArray
    refused: tuple[FloatArray, ...] = ()

    def among(self, whole: "Part") -> "Part | None":
        """Return the intersection with a goal of fewer leaves, None if it is empty."""
        low, high = np.maximum(self.low, whole.low), np.minimum(self.high, whole.high)
        if (low > high).any():
            return None
        return Part(low, high, tuple(np.clip(seen, low, high) for seen in self.refused))


@dataclass(frozen=True, eq=False)
class Placed:
    """A term over the leads of a relaxation."""

    term: Term  # its lead j is ``sign[j] * lead[index[j]]``, less its offset
    index: IntArray  # int64 (own leads,)
    sign: FloatArray  # float64 (own leads,)

    def own(self, leads: FloatArray) -> FloatArray:
        """Its own leads, float64 (own leads,)."""
        return np.asarray(self.sign * leads[self.index] - self.term.offset)

    def range(self, part: Part) -> tuple[FloatArray, FloatArray]:
        """Between which numbers its own leads are in a part, float64 (own leads,) each."""
        ends = self.own(part.low), self.own(part.high)
        return np.minimum(*ends), np.maximum(*ends)


def linear_row(
    score: FloatArray, tree_start: IntArray, bias: FloatArray, space: Halfspace
) -> LeafRow:
    """Return a half-space of the sums as a leaf row, relaxed by a bound on rounding errors."""
    weights, needed = space
    # Rounding errors of the products, the additions and the bias, all in float64.
    magnitude = np.maximum.reduceat(np.abs(score) @ np.abs(weights), tree_start[:-1]).sum()
    magnitude += float(np.abs(bias) @ np.abs(weights))
    error = 4.0 * (weights.size + 1) * DOUBLE * float(magnitude)
    return bounded_row(score @ weights, float(bias @ weights), tree_start, needed, error)
