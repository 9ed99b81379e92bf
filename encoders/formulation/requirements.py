"""Parts of a relaxation: requirements on sums, parts of the goal, terms placed in them."""

from dataclasses import dataclass, replace

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.formulation.leaf_rows import bounded_row
from encoders.problem.problem import LeafRow
from encoders.trees.arithmetic import DOUBLE
from encoders.trees.blend import Expression, Nested, Term

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

    def signed(self, sign: float) -> "Placed":
        """Return the term times 1 or -1."""
        return replace(self, term=replace(self.term, weight=sign * self.term.weight))

    def heights(self, part: Part) -> tuple[float, float]:
        """Return a lower and an upper bound on the term in a part."""
        term = self.term
        least, most = term.inner(np.stack(self.range(part)))
        low = float(term.curve.limits(np.array([least]))[0][0])
        high = float(term.curve.limits(np.array([most]))[1][0])
        ends = sorted((term.weight * low, term.weight * high))
        room = CLOSE * (1.0 + max(abs(ends[0]), abs(ends[1])))
        return ends[0] - room, ends[1] + room


@dataclass(frozen=True, eq=False)
class PlacedNested:
    """A curve of an expression whose terms are over the leads of a relaxation."""

    nested: Nested  # the curve
    inner: list[Placed]  # the terms of its expression, the linear part as the first one

    def range(self, part: Part) -> tuple[float, float]:
        """Return a lower and an upper bound on the expression in a part."""
        ends = [placed.heights(part) for placed in self.inner]
        middle, error = self.nested.inner.constant, self.nested.inner.error
        error += CLOSE * (1.0 + abs(middle))
        return (
            middle - error + sum(low for low, _ in ends),
            middle + error + sum(high for _, high in ends),
        )

    def at(self, point: FloatArray) -> float:
        """Return the expression at some leads: the bound on it that the plane must be close to."""
        low, high = self.range(Part(point, point))
        return high if self.nested.weight > 0 else low

    @property
    def signed(self) -> list[Placed]:
        """Terms of the expression, times -1 if the curve has a negative weight."""
        return [placed.signed(np.sign(self.nested.weight)) for placed in self.inner]


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
