"""Outputs that add up curves of several sums: votes of ensembles, averages of their probabilities.

``Link`` computes outputs from one sum per class. Here each class has an expression: a linear part
over the sums, and terms. A term is a rising curve of a smooth or plain minimum of leads. Sigmoids,
softmaxes, calibrated scores and votes of one member have this form.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from encoders.arrays import BoolArray, FloatArray
from encoders.trees.curve import Curve
from encoders.trees.link import Link


@dataclass(frozen=True, eq=False)
class Term:
    """Weight times a curve of the minimum of leads.

    Attributes
    ----------
    weight : factor of the curve, not 0.
    curve : function of the minimum.
    leads : coefficients of each lead, float64 (n_leads, n_sums). Lead j is
        ``leads[j] @ sums - offset[j]``.
    offset : offset of each lead, float64 (n_leads,).
    minimum : kind of minimum, "smooth" for ``-log(sum of exp(-lead))``. Both kinds of a single lead
        are the lead itself.
    """

    weight: float
    curve: Curve
    leads: FloatArray
    offset: FloatArray
    minimum: Literal["smooth", "plain"] = "smooth"

    @property
    def votes(self) -> bool:
        """True if the term is a vote, which is either cast or not."""
        return any(step.kind == "jump" for step in self.curve.steps)

    def inner(self, leads: FloatArray) -> FloatArray:
        """Return the minimum of each row's leads, float64 (n_rows,)."""
        least: FloatArray = leads.min(axis=1)
        if self.minimum == "plain" or leads.shape[1] == 1:
            return least
        return np.asarray(least - np.log(np.exp(least[:, None] - leads).sum(axis=1)))

    def limits(self, sums: FloatArray, band: float) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound on the term, float64 (n_rows,) each."""
        least = self.inner(sums @ self.leads.T - self.offset)
        shift = band * float(np.abs(self.leads).sum(axis=1).max())
        low, high = self.curve.limits(least - shift)[0], self.curve.limits(least + shift)[1]
        if self.weight < 0:
            low, high = high, low
        return self.weight * low, self.weight * high


@dataclass(frozen=True, eq=False)
class Expression:
    """Sum of a linear part, a constant and terms.

    Attributes
    ----------
    linear : factors of the sums, float64 (n_sums,).
    constant : constant summand.
    terms : nonlinear summands.
    error : absolute rounding error of the library outside of the curves.
    """

    linear: FloatArray
    constant: float = 0.0
    terms: tuple[Term, ...] = ()
    error: float = 0.0

    def limits(self, sums: FloatArray, band: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound on the expression, float64 (n_rows,) each."""
        middle = sums @ self.linear + self.constant
        slack = band * float(np.abs(self.linear).sum()) + self.error
        low, high = middle - slack, middle + slack
        for term in self.terms:
            below, above = term.limits(sums, band)
            low, high = low + below, high + above
        return low, high

    def times(self, weight: float) -> "Expression":
        """Return the expression times a factor."""
        terms = tuple(replace(term, weight=term.weight * weight) for term in self.terms)
        return Expression(
            self.linear * weight,
            self.constant * weight,
            terms if weight else (),
            self.error * abs(weight),
        )

    def plus(self, other: "Expression") -> "Expression":
        """Return the sum of two expressions; terms of the same curve are merged."""
        terms = list(self.terms)
        for term in other.terms:
            for at, existing in enumerate(terms):
                if existing.curve is term.curve and existing.leads is term.leads:
                    terms[at] = replace(existing, weight=existing.weight + term.weight)
                    break
            else:
                terms.append(term)
        nonzero = tuple(term for term in terms if term.weight != 0.0)
        return Expression(
            self.linear + other.linear,
            self.constant + other.constant,
            nonzero,
            self.error + other.error,
        )


def among(shares: Sequence[Expression], n_sums: int, first: int) -> tuple[Expression, ...]:
    """Return expressions over ``n_sums`` sums, of which theirs begin at ``first``."""
    padded: dict[int, FloatArray] = {}  # by id: merging terms compares arrays by identity

    def placed(array: FloatArray) -> FloatArray:
        if id(array) not in padded:
            after = n_sums - first - array.shape[-1]
            padded[id(array)] = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(first, after)])
        return padded[id(array)]

    return tuple(
        Expression(
            placed(share.linear),
            share.constant,
            tuple(replace(term, leads=placed(term.leads)) for term in share.terms),
            share.error,
        )
        for share in shares
    )


@dataclass(frozen=True, eq=False)
class Blend:
    """Link that computes the outputs of several classes from several sums of leaves.

    Attributes
    ----------
    shares : output of each class as an expression over the sums.
    error : absolute rounding error of the library when it adds up the shares.
    decides : whether the class with the largest output wins; otherwise sums are compared.
    counts : whether outputs are votes rather than probabilities.
    total : sum of all outputs, 0 if it is not fixed.
    total_error : largest difference between the library's sum of outputs and ``total``.
    """

    shares: tuple[Expression, ...]
    error: float = 0.0
    decides: bool = True
    counts: bool = False
    total: float = 0.0
    total_error: float = 0.0
    kind: str = "blend"

    @property
    def n_classes(self) -> int:
        """Number of outputs."""
        return len(self.shares)

    def of_output(self, n_sums: int, output: int) -> "Blend":
        """Return the blend itself: its outputs differ in their expressions, not in the link."""
        del n_sums, output
        return self

    @property
    def raw(self) -> "Blend | Link":
        """Link of the raw scores: votes, or the sum that is compared."""
        return self if self.decides else Link("mean")

    @property
    def probable(self) -> bool:
        """True if outputs lie between 0 and 1."""
        return not self.counts

    def limits(self, sums: FloatArray, output: int, band: float) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound on the library's output, float64 (n_rows,) each."""
        low, high = self.shares[output].limits(sums, band)
        return low - self.error, high + self.error

    def lead(self, target: int, rival: int) -> Expression:
        """Return the difference between the outputs of two classes."""
        return self.shares[target].plus(self.shares[rival].times(-1.0))

    def implied(self, target: int, margin: float) -> list[tuple[Expression, float]]:
        """Return expressions and their minima that follow from all leads; they tighten bounds.

        A rival's output is the total less all other outputs, and the largest output is at least the
        mean. Both give sums of outputs without a difference.
        """
        if self.total == 0.0 or self.n_classes == 2:
            return []
        others = [c for c in range(self.n_classes) if c != target]
        every = self.shares[target].times(float(self.n_classes))
        implied = [(every, self.total - self.total_error + len(others) * margin)]
        for rival in others:
            rest = self.shares[target].times(2.0)
            for third in others:
                rest = rest if third == rival else rest.plus(self.shares[third])
            implied.append((rest, self.total - self.total_error + margin))
        return implied

    def outputs(self, sums: FloatArray) -> FloatArray:
        """Return approximate outputs of the library, float64 (n_rows, n_classes)."""
        sides = [share.limits(sums) for share in self.shares]
        return np.column_stack([(low + high) / 2 for low, high in sides])

    def clear(self, sums: FloatArray, band: FloatArray) -> BoolArray:
        """Return whether the largest output leads despite all rounding errors, bool (n_rows,)."""
        best = self.outputs(sums).argmax(axis=1)
        sure = np.ones(len(sums), dtype=np.bool_)
        slack = float(band.max(initial=0.0))
        for target in range(self.n_classes):
            rows = np.flatnonzero(best == target)
            for rival in range(self.n_classes):
                if rival != target and rows.size:
                    low, _ = self.lead(target, rival).limits(sums[rows], slack)
                    ahead = low - 2.0 * self.error
                    sure[rows] &= (ahead >= 0.0) if self._wins(target, rival) else (ahead > 0.0)
        return sure

    def needed(self, target: int, rival: int) -> float:
        """Return the smallest lead with which the library may prefer one class to another."""
        if self.error == 0.0 and not self._wins(target, rival):
            return SMALLEST_VOTE
        return -2.0 * self.error

    def _wins(self, target: int, rival: int) -> bool:
        """Return whether the target wins a tie of exact outputs: the first of the largest wins."""
        return self.error == 0.0 and target < rival


SMALLEST_VOTE = 0.5  # less than the smallest difference between counts of votes
