"""Results of all rounds of a query, and choices that the native model has rejected."""

import time
from dataclasses import dataclass, field, replace

from encoders.backends.attempt import Attempt, Report, in_turn
from encoders.backends.interface import Outcome, Request
from encoders.core.arrays import IntArray
from encoders.formulation.pose import Posed
from encoders.formulation.sum_levels import Settled
from encoders.problem.problem import Problem
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from portfolio.engine.certificate import Certificate, Times
from portfolio.engine.verify import RELATIVE_TOLERANCE, Verified, is_too_small, priced, verify
from portfolio.engine.witness import Witnesses
from portfolio.model.oracle import Oracle

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


@dataclass(frozen=True, eq=False)
class PosedQuery:
    """Encoded query and its verifiers.

    Attributes
    ----------
    posed : the problem, and the meaning of its levels.
    query : the query that it encodes.
    space : the model's features.
    oracle : oracle that decides whether a row is an answer.
    witnesses : training rows that are tested before "infeasible" is accepted, or None.
    whole : whether the problem is as encoded, so that its invariants can be checked.
    """

    posed: Posed
    query: Query
    space: FeatureSpace
    oracle: Oracle
    witnesses: Witnesses | None = None
    whole: bool = True


@dataclass(eq=False)
class Findings:
    """Results of all rounds so far, and the problem without rejected cells.

    Attributes
    ----------
    task : the encoded query and its verifiers.
    problem : problem without the cells that the native model rejected.
    most_refused : number of rejected cells after which the search gives up, see :func:`certify`.
    answer : best verified answer, or None.
    lower : lower bound; bounds of earlier rounds stay valid, as rounds only remove non-answers.
    times : seconds of all rounds.
    attempts : attempts of backends in all rounds.
    refused : choices that were cut off, each int64 (n_axes,).
    n_taken : number of cells that had been cut off when the last round ended.
    doubtful : whether the native model contradicts its trees.
    unmet : whether a sum of features could not be met by float64 numbers.
    overlooked : whether a row refutes the encoded problem itself.
    """

    task: PosedQuery
    problem: Problem
    most_refused: float
    answer: Verified | None = None
    lower: float = 0.0
    times: Times = field(default_factory=Times)
    attempts: tuple[Attempt, ...] = ()
    refused: list[IntArray] = field(default_factory=list)
    n_taken: int = 0
    doubtful: bool = False
    unmet: bool = False
    overlooked: bool = False

    def doubts(self) -> str:
        """Return why nothing can be proved, "" if nothing speaks against a proof."""
        if not self.task.posed.problem.exact:
            return INEXACT
        if self.overlooked:
            return OVERLOOKED
        if self.unmet:
            return UNMET
        answer = self.answer
        if answer is not None and is_too_small(answer, self.task.query, self.task.space):
            return TOO_SMALL
        return MISREAD if self.doubtful else ""

    @property
    def n_refused(self) -> int:
        """Number of cells that have been cut off."""
        return len(self.refused)

    def closed(self) -> bool:
        """Return whether the bounds of all rounds meet the answer."""
        return self.answer is not None and self.lower >= self.answer.distance

    def hear(self, clear: Certificate) -> None:
        """Add an answer with a clear lead; its bounds do not hold for rows without that lead."""
        self.times += clear.times
        self.attempts = in_turn([self.attempts, clear.provenance.attempts])
        if self.answer is None or clear.distance < self.answer.distance:
            self.answer = clear.answer

    def request(self, request: Request, deadline: float) -> Request:
        """Return the request of a round, whose cutoff is the cost of the best answer."""
        cutoff = request.cutoff
        if self.answer is not None:
            cutoff = min(cutoff, self.answer.distance)
        left_s = deadline - time.perf_counter()
        early = self.refuses if self._verifies_early() else None
        return replace(request, time_limit_s=left_s, cutoff=cutoff, refuses=early)

    def quietly(self, request: Request, deadline: float) -> Request:
        """Return the request of another query, whose bounds and rejections do not apply here."""
        alone = self.request(request, deadline)
        return replace(alone, refuses=None, on_bounds=lambda upper, lower: None)

    def take(self, report: Report, cutoff: float) -> tuple[list[IntArray], bool]:
        """Verify a round's choices; return the rejected ones, and whether any was repriced."""
        outcome, began = report.outcome, time.perf_counter()
        before = self.n_taken
        if outcome.stop_reason == "proved":
            # Choices above the cutoff are not answers, and a native call may take longer than
            # the search.
            limit = cutoff * (1 + RELATIVE_TOLERANCE)
            cheap = (each for each in outcome.choices if self.problem.distance(each) <= limit)
            outcome = replace(outcome, choices=tuple(cheap))
        verified, rejected, repriced = _first_verified(outcome, self.task, self.problem)
        verify_s = time.perf_counter() - began
        self.attempts = in_turn([self.attempts, report.provenance.attempts])
        self.times += Times(0.0, report.reduce_s, outcome.build_s, outcome.solve_s, verify_s)
        self.lower = max(self.lower, min(outcome.lower, cutoff))
        if verified is not None and (
            self.answer is None or verified.distance < self.answer.distance
        ):
            self.answer = verified
        posed = self.task.posed
        for choice in rejected:
            self._exclude(choice)
        for choice, cells in repriced:
            self.problem = posed.settled(self.problem, choice, cells)
            self.unmet |= cells.unmet
        if repriced and self.answer is not None:
            self.problem = posed.bounded(self.problem, self.answer.distance)
        self.n_taken = self.n_refused
        return self.refused[before:], bool(repriced)

    def _verifies_early(self) -> bool:
        """Return whether solvers verify each choice by a callback, which begins after a rejection.

        Without an answer that limits the cost, the search would verify expensive choices in vain.
        """
        posed, limited = self.task.posed, self.answer is not None
        return bool(self.refused) and limited and posed.relaxation is None and posed.related is None

    def refuses(self, choice: IntArray) -> bool:
        """Return whether the native model rejects a choice, which is then cut off."""
        if self.n_refused > self.most_refused:  # the search gives up anyway
            return False
        task, row = self.task, self.task.posed.decode(choice)
        claimed = self.problem.distance(choice)
        if verify(row, claimed, task.query, task.space, task.oracle) is not None:
            return False
        self._exclude(choice)
        return True

    def _exclude(self, choice: IntArray) -> None:
        posed, goal = self.task.posed, self.task.query.goal
        self.problem = posed.without(self.problem, choice)
        self.doubtful |= self.task.oracle.contradicts_the_trees(posed.decode(choice), goal)
        self.refused.append(choice)

    def ask_witnesses(self, backend: str, cutoff: float) -> bool:
        """Return whether a training row refutes a backend's claim of infeasibility."""
        if self.task.witnesses is None:
            return False
        witness = self.task.witnesses.find(self.problem, cutoff)
        if witness is not None:
            self.answer = witness
            self.lower = 0.0  # ignore the refuted backend's bound
            self.attempts = _disqualified(self.attempts, backend)
        return witness is not None

    def check_encoding(self, cutoff: float) -> None:
        """Look for a row that keeps every constraint although the problem has no such choice."""
        if self.task.witnesses is not None:
            self.answer = self.task.witnesses.find_repaired(cutoff)
            self.overlooked = self.answer is not None


def _disqualified(attempts: tuple[Attempt, ...], backend: str) -> tuple[Attempt, ...]:
    """Return all attempts, with the claims of a backend marked as refuted."""
    return tuple(
        a.saying(status="unknown", stop_reason="error", lower=0.0, raw=REFUTED)
        if a.backend == backend and a.status == "infeasible"
        else a
        for a in attempts
    )


def _first_verified(
    outcome: Outcome, task: PosedQuery, problem: Problem
) -> tuple[Verified | None, list[IntArray], list[tuple[IntArray, Settled]]]:
    """Return the cheapest confirmed row, and the cheaper choices: rejected ones, and repriced ones.

    Choices are repriced if their relations are broken, or cost more than their levels say.
    """
    best: Verified | None = None
    rejected: list[IntArray] = []
    repriced: list[tuple[IntArray, Settled]] = []
    for choice in outcome.choices:
        row, cells = task.posed.decode_related(choice)
        if any(part.values is None for part in cells):
            repriced += [(choice, part) for part in cells if part.values is None]
            continue
        claimed = problem.distance(choice)
        actual = priced(row, task.query, task.space) if cells else None
        dearer = actual is not None and actual.distance > claimed * (1 + RELATIVE_TOLERANCE)
        if dearer:
            assert actual is not None
            claimed = actual.distance
            repriced += [(choice, part) for part in cells]
        verified_row = verify(row, claimed, task.query, task.space, task.oracle)
        if verified_row is not None and (best is None or verified_row.distance < best.distance):
            best = verified_row
        if verified_row is None and not dearer:
            rejected.append(choice)
        if verified_row is not None and not dearer:
            break
    return best, rejected, repriced
