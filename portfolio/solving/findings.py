"""What the rounds of a query have found, and what the native model has refused meanwhile."""

import time
from dataclasses import dataclass, field, replace

from encoders.arrays import IntArray
from encoders.backends.attempt import Attempt, Report, in_turn
from encoders.backends.interface import Outcome, Request
from encoders.posing.pose import Posed
from encoders.posing.sum_levels import Settled
from encoders.problem.problem import Problem
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from portfolio.model.oracle import Oracle
from portfolio.solving.verify import RELATIVE_TOLERANCE, Verified, is_too_small, priced, verify
from portfolio.solving.witness import Witnesses

INEXACT = (
    "The scores are too large to represent the margin by exact integers, so nothing is proved. Use "
    "a larger margin."
)
BROKEN = "The model's trees break an invariant that proofs rely on, so nothing is proved: {}"
REFUTED = "claimed that no counterfactual exists, but a training row is one"
UNMET = (
    "No float64 values near the best ones satisfy a required sum, so nothing is proved. Give its "
    "features a step or digits."
)
TOO_SMALL = (
    "With this norm the cost of the change is too small for float64, so nothing is proved. Use a "
    "smaller norm or another scale."
)
OVERLOOKED = (
    "The solver proved that no row satisfies every constraint, but the model accepts one that "
    "does, so nothing is proved. Please report this."
)
MISREAD = "The model's own predict contradicts its trees on a candidate row, so nothing is proved."


@dataclass(frozen=True)
class Times:
    """Seconds of each part.

    Attributes
    ----------
    reduce_s, build_s, solve_s, verify_s : of all rounds
    """

    reduce_s: float = 0.0
    build_s: float = 0.0
    solve_s: float = 0.0
    verify_s: float = 0.0

    @property
    def total(self) -> float:
        """Seconds of all parts."""
        return self.reduce_s + self.build_s + self.solve_s + self.verify_s

    def __add__(self, other: "Times") -> "Times":
        return Times(
            self.reduce_s + other.reduce_s,
            self.build_s + other.build_s,
            self.solve_s + other.solve_s,
            self.verify_s + other.verify_s,
        )


@dataclass(frozen=True, eq=False)
class PosedQuery:
    """A posed query and those who have a say in it.

    Attributes
    ----------
    posed : the problem, and what its levels mean
    query : that it was posed for
    space : the model's features
    oracle : decides whether a row is an answer
    witnesses : training rows that are asked before "infeasible" is believed, or None
    whole : whether the problem is as posed, so that its laws can be checked
    """

    posed: Posed
    query: Query
    space: FeatureSpace
    oracle: Oracle
    witnesses: Witnesses | None = None
    whole: bool = True


@dataclass(eq=False)
class Findings:
    """What the rounds have found, and what has been cut off meanwhile.

    Attributes
    ----------
    problem : without the cells that the native model refused
    most_refused : as of :func:`certify`
    lower : bounds of earlier rounds stay valid, as each round only removes what is no answer
    n_taken : cells that had been cut off when the last round ended
    doubtful : the native model contradicts its trees
    unmet : a sum of features could not be met by float64 numbers
    overlooked : bool, whether a row refutes the encoded problem itself
    """

    asked: PosedQuery
    problem: Problem
    most_refused: float
    answer: Verified | None = None
    lower: float = 0.0
    times: Times = Times()
    attempts: tuple[Attempt, ...] = ()
    refused: list[IntArray] = field(default_factory=list)
    n_taken: int = 0
    doubtful: bool = False
    unmet: bool = False
    overlooked: bool = False

    def doubts(self) -> str:
        """Why nothing can be proved, "" if nothing speaks against it."""
        if not self.asked.posed.problem.exact:
            return INEXACT
        if self.overlooked:
            return OVERLOOKED
        if self.unmet:
            return UNMET
        found = self.answer
        if found is not None and is_too_small(found, self.asked.query, self.asked.space):
            return TOO_SMALL
        return MISREAD if self.doubtful else ""

    @property
    def n_refused(self) -> int:
        """How many cells have been cut off."""
        return len(self.refused)

    def closed(self) -> bool:
        """Whether the bounds of all rounds meet the answer."""
        return self.answer is not None and self.lower >= self.answer.distance

    def hear(self, own: Verified | None, times: Times, attempts: tuple[Attempt, ...]) -> None:
        """Take up what was found among rows that lead; its bounds say nothing of the others."""
        self.times += times
        self.attempts = in_turn([self.attempts, attempts])
        if own is not None and (self.answer is None or own.distance < self.answer.distance):
            self.answer = own

    def request(self, request: Request, deadline: float) -> Request:
        """What a round is asked by: only what costs at most what is known is of interest by now."""
        cutoff = request.cutoff
        if self.answer is not None:
            cutoff = min(cutoff, self.answer.distance)
        left_s = deadline - time.perf_counter()
        early = self.refuses if self._told_early() else None
        return replace(request, time_limit_s=left_s, cutoff=cutoff, refuses=early)

    def quietly(self, request: Request, deadline: float) -> Request:
        """The same for another question, whose bounds and refusals say nothing of this one."""
        own = self.request(request, deadline)
        return replace(own, refuses=None, on_bounds=lambda upper, lower: None)

    def take(self, report: Report, cutoff: float) -> tuple[list[IntArray], bool]:
        """Verify the choices of a round; those that the native model refuses are cut off."""
        outcome, began = report.outcome, time.perf_counter()
        before = self.n_taken
        verified, rejected, repriced = _first_verified(outcome, self.asked, self.problem)
        verify_s = time.perf_counter() - began
        self.attempts = in_turn([self.attempts, report.provenance.attempts])
        self.times += Times(report.reduce_s, outcome.build_s, outcome.solve_s, verify_s)
        self.lower = max(self.lower, min(outcome.lower, cutoff))
        if verified is not None and (
            self.answer is None or verified.distance < self.answer.distance
        ):
            self.answer = verified
        posed = self.asked.posed
        for choice in rejected:
            self._cut(choice)
        for choice, cells in repriced:
            self.problem = posed.settled(self.problem, choice, cells)
            self.unmet |= cells.unmet
        if repriced and self.answer is not None:
            self.problem = posed.bounded(self.problem, self.answer.distance)
        self.n_taken = self.n_refused
        return self.refused[before:], bool(repriced)

    def _told_early(self) -> bool:
        """Whether choices are verified as they are found: once one was refused, one by one.

        Without an answer that limits what they cost, the search would look at dear ones in vain.
        """
        posed, limited = self.asked.posed, self.answer is not None
        return bool(self.refused) and limited and posed.relaxation is None and posed.related is None

    def refuses(self, choice: IntArray) -> bool:
        """Whether the native model refuses a choice, which is cut off then."""
        if self.n_refused > self.most_refused:  # it is given up anyway
            return False
        asked, row = self.asked, self.asked.posed.decode(choice)
        claimed = self.problem.distance(choice)
        if verify(row, claimed, asked.query, asked.space, asked.oracle) is not None:
            return False
        self._cut(choice)
        return True

    def _cut(self, choice: IntArray) -> None:
        posed, goal = self.asked.posed, self.asked.query.goal
        self.problem = posed.without(self.problem, choice)
        self.doubtful |= self.asked.oracle.contradicts_the_trees(posed.decode(choice), goal)
        self.refused.append(choice)

    def ask_witnesses(self, backend: str, cutoff: float) -> bool:
        """Whether a training row refutes a backend's claim that there is nothing."""
        if self.asked.witnesses is None:
            return False
        witness = self.asked.witnesses.find(self.problem, cutoff)
        if witness is not None:
            self.answer = witness
            self.lower = 0.0  # nothing that this backend claimed counts
            self.attempts = _disqualified(self.attempts, backend)
        return witness is not None

    def check_encoding(self, cutoff: float) -> None:
        """Look for a row that keeps every constraint although the problem has no such choice."""
        if self.asked.witnesses is not None:
            self.answer = self.asked.witnesses.find_repaired(cutoff)
            self.overlooked = self.answer is not None


def _disqualified(attempts: tuple[Attempt, ...], backend: str) -> tuple[Attempt, ...]:
    """The log of all attempts, with the claims of a backend told to be refuted."""
    return tuple(
        a.saying(status="unknown", stop_reason="error", lower=0.0, raw=REFUTED)
        if a.backend == backend and a.status == "infeasible"
        else a
        for a in attempts
    )


def _first_verified(
    outcome: Outcome, asked: PosedQuery, problem: Problem
) -> tuple[Verified | None, list[IntArray], list[tuple[IntArray, Settled]]]:
    """The cheapest row that the model confirms, and what is cheaper by the problem alone.

    That is the choices that the model does not confirm, and those whose relations are broken or
    cost more than their levels say.
    """
    best: Verified | None = None
    rejected: list[IntArray] = []
    repriced: list[tuple[IntArray, Settled]] = []
    for choice in outcome.choices:
        row, cells = asked.posed.decode_related(choice)
        if any(part.values is None for part in cells):
            repriced += [(choice, part) for part in cells if part.values is None]
            continue
        claimed = problem.distance(choice)
        actual = priced(row, asked.query, asked.space) if cells else None
        dearer = actual is not None and actual.distance > claimed * (1 + RELATIVE_TOLERANCE)
        if dearer:
            assert actual is not None
            claimed = actual.distance
            repriced += [(choice, part) for part in cells]
        found = verify(row, claimed, asked.query, asked.space, asked.oracle)
        if found is not None and (best is None or found.distance < best.distance):
            best = found
        if found is None and not dearer:
            rejected.append(choice)
        if found is not None and not dearer:
            break
    return best, rejected, repriced
