"""Outputs that add up curves of several sums: votes of ensembles, averages of their probabilities.

``Link`` makes outputs of one sum per class. Here each class has an expression: a linear part over
the sums, and terms. A term is a rising curve of a smooth or plain minimum of leads, which is how a
sigmoid, a softmax, a calibrated score and a vote follow from the sums of one member.
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
    """A weight times a curve of the minimum of leads.

    Attributes
    ----------
    weight : not 0
    curve : of the minimum
    leads : float64 (n_leads, n_sums); lead j is ``leads[j] @ sums - offset[j]``
    offset : float64 (n_leads,)
    minimum : "smooth" is ``-log(sum of exp(-lead))``; of one lead both are the lead itself
    """

    weight: float
    curve: Curve
    leads: FloatArray
    offset: FloatArray
    minimum: Literal["smooth", "plain"] = "smooth"

    @property
    def votes(self) -> bool:
        """Whether it is one vote, cast or not."""
        return any(step.kind == "jump" for step in self.curve.steps)

    def inner(self, leads: FloatArray) -> FloatArray:
        """The minimum, float64 (n,)."""
        least: FloatArray = leads.min(axis=1)
        if self.minimum == "plain" or leads.shape[1] == 1:
            return least
        return np.asarray(least - np.log(np.exp(least[:, None] - leads).sum(axis=1)))

    def limits(self, sums: FloatArray, band: float) -> tuple[FloatArray, FloatArray]:
        """Between which numbers the term is, float64 (n,) each."""
        found = self.inner(sums @ self.leads.T - self.offset)
        shift = band * float(np.abs(self.leads).sum(axis=1).max())
        low, high = self.curve.limits(found - shift)[0], self.curve.limits(found + shift)[1]
        if self.weight < 0:
            low, high = high, low
        return self.weight * low, self.weight * high


@dataclass(frozen=True, eq=False)
class Expression:
    """What is added up.

    Attributes
    ----------
    linear : float64 (n_sums,), factors of the sums
    constant : is added
    terms : are added
    error : what the library may round besides what is within the limits of curves, absolute
    """

    linear: FloatArray
    constant: float = 0.0
    terms: tuple[Term, ...] = ()
    error: float = 0.0

    def limits(self, sums: FloatArray, band: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Between which numbers it is, float64 (n,) each."""
        middle = sums @ self.linear + self.constant
        slack = band * float(np.abs(self.linear).sum()) + self.error
        low, high = middle - slack, middle + slack
        for term in self.terms:
            below, above = term.limits(sums, band)
            low, high = low + below, high + above
        return low, high

    def times(self, weight: float) -> "Expression":
        """The same, multiplied."""
        terms = tuple(replace(term, weight=term.weight * weight) for term in self.terms)
        return Expression(
            self.linear * weight,
            self.constant * weight,
            terms if weight else (),
            self.error * abs(weight),
        )

    def plus(self, other: "Expression") -> "Expression":
        """The sum of two; what they share is one term."""
        terms = list(self.terms)
        for term in other.terms:
            for at, own in enumerate(terms):
                if own.curve is term.curve and own.leads is term.leads:
                    terms[at] = replace(own, weight=own.weight + term.weight)
                    break
            else:
                terms.append(term)
        kept = tuple(term for term in terms if term.weight != 0.0)
        return Expression(
            self.linear + other.linear,
            self.constant + other.constant,
            kept,
            self.error + other.error,
        )


def among(shares: Sequence[Expression], n_sums: int, first: int) -> tuple[Expression, ...]:
    """The same expressions over more sums."""
    moved: dict[int, FloatArray] = {}

    def placed(own: FloatArray) -> FloatArray:
        if id(own) not in moved:
            after = n_sums - first - own.shape[-1]
            moved[id(own)] = np.pad(own, [(0, 0)] * (own.ndim - 1) + [(first, after)])
        return moved[id(own)]

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
    """How the outputs of several classes follow from sums of leaves.

    Attributes
    ----------
    shares : per class, what the library puts out
    error : what the library may round when it adds them up, absolute
    decides : whether the class with the largest output wins; else sums are compared
    counts : whether outputs are votes, and no probabilities
    total : what all outputs add up to; 0 where they need not
    total_error : by how much the library's own may miss that
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
        """How many outputs there are."""
        return len(self.shares)

    def of_output(self, n_sums: int, output: int) -> "Blend":
        """The blend as it is: its outputs differ in their expressions, not in the link."""
        del n_sums, output
        return self

    @property
    def raw(self) -> "Blend | Link":
        """The model's numbers that are no probabilities: votes, or a sum that is compared."""
        return self if self.decides else Link("mean")

    @property
    def probable(self) -> bool:
        """Whether outputs lie between 0 and 1."""
        return not self.counts

    def limits(self, sums: FloatArray, output: int, band: float) -> tuple[FloatArray, FloatArray]:
        """Between which numbers the library's output is, float64 (n_rows,) each."""
        low, high = self.shares[output].limits(sums, band)
        return low - self.error, high + self.error

    def lead(self, target: int, rival: int) -> Expression:
        """One class' output less another's."""
        return self.shares[target].plus(self.shares[rival].times(-1.0))

    def implied(self, target: int, margin: float) -> list[tuple[Expression, float]]:
        """What follows from all leads together, for closer rows, with what it comes to at least.

        The rival has what the others leave of the total, and the largest output is not below the
        mean. Both are sums without a difference.
        """
        if self.total == 0.0 or self.n_classes == 2:
            return []
        others = [c for c in range(self.n_classes) if c != target]
        every = self.shares[target].times(float(self.n_classes))
        found = [(every, self.total - self.total_error + len(others) * margin)]
        for rival in others:
            rest = self.shares[target].times(2.0)
            for third in others:
                rest = rest if third == rival else rest.plus(self.shares[third])
            found.append((rest, self.total - self.total_error + margin))
        return found

    def outputs(self, sums: FloatArray) -> FloatArray:
        """About what the library puts out, float64 (n_rows, n_classes)."""
        sides = [share.limits(sums) for share in self.shares]
        return np.column_stack([(low + high) / 2 for low, high in sides])

    def clear(self, sums: FloatArray, band: FloatArray) -> BoolArray:
        """Where the largest output leads, whatever the library rounds, bool (n_rows,)."""
        best = self.outputs(sums).argmax(axis=1)
        sure = np.ones(len(sums), dtype=np.bool_)
        slack = float(band.max(initial=0.0))
        for target in range(self.n_classes):
            own = np.flatnonzero(best == target)
            for rival in range(self.n_classes):
                if rival != target and own.size:
                    low, _ = self.lead(target, rival).limits(sums[own], slack)
                    ahead = low - 2.0 * self.error
                    sure[own] &= (ahead >= 0.0) if self._wins(target, rival) else (ahead > 0.0)
        return sure

    def needed(self, target: int, rival: int) -> float:
        """The smallest lead with which the library may prefer one class to another."""
        if self.error == 0.0 and not self._wins(target, rival):
            return SMALLEST_VOTE
        return -2.0 * self.error

    def _wins(self, target: int, rival: int) -> bool:
        """Whether a tie of exact outputs goes to the target: the first of the largest wins."""
        return self.error == 0.0 and target < rival


SMALLEST_VOTE = 0.5  # less than the votes by which counts can differ
