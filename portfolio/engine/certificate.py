"""Certificates: what is proved about the cheapest answer in a region of the feature space.

This is the only module that combines bounds and statuses of answers. A region is all of a query,
the rows of one goal, some classes of a column, or the rows below a cost.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from math import inf

from encoders.backends.attempt import Provenance, in_turn
from encoders.backends.interface import Status, StopReason
from encoders.core.arrays import IntArray
from portfolio.engine.verify import RELATIVE_TOLERANCE, Verified


@dataclass(frozen=True)
class Times:
    """Seconds of each part, summed over all rounds."""

    encode_s: float = 0.0  # seconds for encoding queries as problems
    reduce_s: float = 0.0  # seconds for reduction
    build_s: float = 0.0  # seconds for building models of backends
    solve_s: float = 0.0  # seconds for solving
    verify_s: float = 0.0  # seconds for native verification

    @property
    def total(self) -> float:
        """Seconds of all parts."""
        return self.encode_s + self.reduce_s + self.build_s + self.solve_s + self.verify_s

    def __add__(self, other: "Times") -> "Times":
        names = [part.name for part in fields(self)]
        return Times(*(getattr(self, name) + getattr(other, name) for name in names))


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proof, or its best bound, about the cheapest answer in one region.

    Attributes
    ----------
    answer : cheapest verified row of the region that is known, or None.
    lower : lower bound: no row of the region that is an answer costs less.
    stop_reason : "proved" if no row of the region (below a cutoff) is a cheaper answer; otherwise
        the reason why the search ended.
    times : seconds of all rounds.
    provenance : backends, attempts and decisions that led to the answer.
    message : reason why nothing is proved, "" if something is or time was short.
    margin : lead, in the user's score unit, of the rows that a proof covers; 0 for all rows that
        the model's own predict assigns to the target.
    gave_up : whether the model rejected more cells than the search may cut off.
    refused : choices that were cut off, each int64 (n_axes,).
    """

    answer: Verified | None
    lower: float
    stop_reason: StopReason
    times: Times = Times()
    provenance: Provenance = field(default_factory=Provenance)
    message: str = ""
    margin: float = 0.0
    gave_up: bool = False
    refused: tuple[IntArray, ...] = ()

    @property
    def proved(self) -> bool:
        """True if the status is a proof."""
        return self.stop_reason == "proved"

    @property
    def status(self) -> Status:
        """Status as in :class:`encoders.backends.interface.Outcome`."""
        if self.answer is None:
            return "infeasible" if self.proved else "unknown"
        return "optimal" if self.proved else "feasible"

    @property
    def distance(self) -> float:
        """Cost of the answer, inf without one."""
        return inf if self.answer is None else self.answer.distance

    def join(self, other: "Certificate") -> "Certificate":
        """Return the certificate of the union of two regions.

        A region without a proof does not matter if its bound is not below the cheapest answer.
        """
        cheaper = other if other.distance < self.distance else self
        open_ = [each for each in (self, other) if not each.proved]
        limit = cheaper.distance
        weaker = next((each for each in open_ if limit == inf or each.lower < limit), None)
        decisions = dict.fromkeys([self.provenance.decision, other.provenance.decision])
        attempts = in_turn([self.provenance.attempts, other.provenance.attempts])
        decision = "; ".join(filter(None, decisions))
        return Certificate(
            answer=cheaper.answer,
            lower=min(self.lower, other.lower, limit),
            stop_reason="proved" if weaker is None else weaker.stop_reason,
            times=self.times + other.times,
            provenance=replace(cheaper.provenance, attempts=attempts, decision=decision),
            message=self.message or other.message,
            margin=max(self.margin, other.margin),
        )

    def then(self, later: "Certificate") -> "Certificate":
        """Return the certificate of a region after a further search, mostly with a cutoff.

        The cheaper answer counts. Earlier bounds hold, unless the later search found that nothing
        is proved. A proof below a cutoff does not prove a more expensive answer optimal.
        """
        lower = later.lower if later.message else max(self.lower, later.lower)
        attempts = in_turn([self.provenance.attempts, later.provenance.attempts])
        both = replace(
            later,
            lower=min(lower, later.distance),
            times=self.times + later.times,
            provenance=replace(later.provenance, attempts=attempts),
        )
        if self.distance >= later.distance:
            return both
        reason = later.stop_reason
        if later.proved and lower < self.distance:
            reason = "time_limit" if self.proved else self.stop_reason
        return replace(
            both, answer=self.answer, lower=min(lower, self.distance), stop_reason=reason
        )

    def restrict(self, cutoff: float) -> "Certificate":
        """Return the certificate of a search with a cutoff.

        A proof that nothing costs less than the cutoff does not prove an answer above it optimal.
        """
        bounded = self.lower >= self.distance * (1 - RELATIVE_TOLERANCE)
        if not self.proved or self.distance <= cutoff or bounded:
            return self
        return replace(self, answer=None)

    def cut(self, reason: StopReason) -> "Certificate":
        """Return the certificate of a larger region, of which the rest was not searched."""
        return replace(self, stop_reason=reason, lower=0.0)

    def raised(self, lower: float) -> "Certificate":
        """Return the certificate with a further lower bound on the same region."""
        return replace(self, lower=min(max(self.lower, lower), self.distance))

    def including(self, answer: Verified) -> "Certificate":
        """Return an unproved certificate with one more answer of the region."""
        if answer.distance >= self.distance:
            return self
        return replace(self, answer=answer, lower=min(self.lower, answer.distance))

    def clear_of_ties(self, clear: "Certificate", message: str) -> "Certificate":
        """Return the certificate of the rows with a lead, with an answer that may lack the lead."""
        nearer = self.answer is not None and self.distance < clear.distance
        return replace(
            clear,
            answer=self.answer if nearer else clear.answer,
            lower=min(clear.lower, self.distance) if nearer else clear.lower,
            message=clear.message or message,
            times=self.times + clear.times,
            provenance=replace(
                clear.provenance,
                attempts=in_turn([self.provenance.attempts, clear.provenance.attempts]),
            ),
        )

    def encoded(self, seconds: float) -> "Certificate":
        """Return the certificate with further seconds of encoding."""
        return replace(self, times=self.times + Times(encode_s=seconds))

    def doubted(self, message: str) -> "Certificate":
        """Return the certificate without proof and bound, for a reason; "" changes nothing."""
        if not message:
            return self
        reason: StopReason = "error" if self.proved else self.stop_reason
        return replace(self, stop_reason=reason, lower=0.0, message=message)


def join_all(certificates: Iterable[Certificate]) -> Certificate:
    """Return the certificate of the union of at least one region."""
    return reduce(Certificate.join, certificates)
