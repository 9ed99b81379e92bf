"""Solve, verify, cut off what the model does not confirm, and solve on."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from encoders.arrays import IntArray
from encoders.backends.attempt import Attempt, Provenance, Report, SolveReported, in_turn
from encoders.backends.interface import Outcome, Request, Status, StopReason
from encoders.errors import BrokenProblemError
from encoders.posing.pose import Posed
from encoders.posing.sum_levels import Settled
from encoders.problem.problem import Problem
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from portfolio.model.oracle import Oracle
from portfolio.solving.verify import RELATIVE_TOLERANCE, Verified, is_too_small, priced, verify
from portfolio.solving.witness import Witnesses

INEXACT = (
    "The scores are too large for the margin to be covered by exact integers, so nothing is "
    "proved; use a larger margin."
)
BROKEN = "The model's trees are not what proofs rest on, so nothing is proved: {}"
REFUTED = "claimed that there is no counterfactual, but a training row is one"
UNMET = (
    "No float64 numbers near the best ones keep a sum that was asked for, so nothing is proved; "
    "give its features a step or digits."
)
TOO_SMALL = (
    "With such a norm the change costs less than floats can tell apart, so nothing is proved; use "
    "a smaller norm or another scale."
)
MISREAD = (
    "The model's own predict contradicts its trees on a row that was found, so nothing is proved."
)

# What decides when the named backends are out; None if nothing else can.
Appeal = Callable[[frozenset[str]], SolveReported | None]


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
class Certificate:
    """What is known about one goal.

    Attributes
    ----------
    status, stop_reason : as in :class:`encoders.backends.interface.Outcome`
    answer : has been verified; None without one
    lower : no answer with the margin costs less
    times : of all rounds
    provenance : how it came about
    message : why nothing is proved, "" if something is or time was short
    margin : the lead, in the user's score unit, of the rows that a proof is about; 0 for all rows
        that the model's own predict decides as wanted
    gave_up : more cells were refused than ``most_refused``
    refused : int64 (n_axes,) each, the choices that were cut off
    paused : the last of them was one to pause at
    """

    status: Status
    stop_reason: StopReason
    answer: Verified | None
    lower: float
    times: Times
    provenance: Provenance
    message: str = ""
    margin: float = 0.0
    gave_up: bool = False
    refused: tuple[IntArray, ...] = ()
    paused: bool = False


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


def certify(
    asked: PosedQuery,
    solve: SolveReported,
    request: Request,
    appeal: Appeal = lambda out: None,
    most_refused: float = math.inf,
    pause: Callable[[IntArray], bool] = lambda choice: False,
) -> Certificate:
    """Find the cheapest choice that the native model confirms.

    Every choice that fails verification is excluded together with all choices that share its
    leaves, and the search goes on within the same time limit. Bounds of earlier rounds stay
    valid: each round only removes choices that are no counterfactuals. Where the trees put such a
    choice clearly ahead, the difference is not one of rounding, and no proof is claimed.

    A claim that there is no choice is held against training rows, and the problem's own laws are
    checked, before it is believed: a backend that is refuted is out, and another one decides.

    Parameters
    ----------
    asked : the query, and who decides about answers
    solve : solves the problem, and what is left of it once cells are cut off
    request : its time limit is for all rounds
    appeal : what decides instead of backends whose claim was refuted, given their names
    most_refused : give up once more cells than this have been cut off
    pause : whether to stop, without a proof, once this choice has been refused
    """
    deadline = time.perf_counter() + request.time_limit_s
    found, broken, refuted = _Findings(asked, asked.posed.problem), "", frozenset[str]()
    while True:
        cutoff = found.cutoff(request)
        remaining_s = deadline - time.perf_counter()
        report = solve(found.problem, replace(request, time_limit_s=remaining_s, cutoff=cutoff))
        rejected, repriced = found.take(report, cutoff)
        again = bool(rejected) or repriced
        paused = any(pause(choice) for choice in rejected)
        outcome, name = report.outcome, report.provenance.backend
        if _claims_none(outcome) and found.answer is None and not again:
            broken = law_broken(asked.posed.all_leaves()) if asked.whole else ""
            if broken:
                break
            if found.ask_witnesses(name, cutoff):
                refuted |= {name}
                another = appeal(refuted)
                if another is None:
                    outcome = replace(outcome, stop_reason="error", raw=REFUTED)
                    break
                solve = another
                continue
        if (
            not again
            or paused
            or found.n_refused > most_refused
            or outcome.stop_reason not in ("proved", "gap")
            or time.perf_counter() >= deadline
        ):
            break
    settled = not again and (
        outcome.stop_reason == "proved" or (outcome.stop_reason == "gap" and found.closed())
    )
    held = Certificate(
        status="unknown" if found.answer is None else "feasible",
        stop_reason="proved" if settled else _unsettled(outcome, again),
        answer=found.answer,
        lower=found.lower if found.answer is None else min(found.lower, found.answer.distance),
        times=found.times,
        provenance=replace(report.provenance, attempts=found.attempts),
        message=found.doubts() or broken,
        margin=asked.query.margin,
        gave_up=bool(rejected) and found.n_refused > most_refused,
        refused=tuple(found.refused),
        paused=paused,
    )
    complaint = f"{name}: {outcome.raw}" if outcome.stop_reason == "error" else ""
    return _conclude(held, settled, complaint)


@dataclass(eq=False)
class _Findings:
    """What the rounds have found, and what has been cut off meanwhile.

    Attributes
    ----------
    problem : without the cells that the native model refused
    lower : bounds of earlier rounds stay valid, as each round only removes what is no answer
    doubtful : the native model contradicts its trees
    unmet : a sum of features could not be met by float64 numbers
    """

    asked: PosedQuery
    problem: Problem
    answer: Verified | None = None
    lower: float = 0.0
    times: Times = Times()
    attempts: tuple[Attempt, ...] = ()
    refused: list[IntArray] = field(default_factory=list)
    doubtful: bool = False
    unmet: bool = False

    def doubts(self) -> str:
        """Why nothing can be proved, "" if nothing speaks against it."""
        if not self.asked.posed.problem.exact:
            return INEXACT
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

    def cutoff(self, request: Request) -> float:
        """Only what costs at most this is of interest by now."""
        if self.answer is None:
            return request.cutoff
        return min(request.cutoff, self.answer.distance)

    def take(self, report: Report, cutoff: float) -> tuple[list[IntArray], bool]:
        """Verify the choices of a round; those that the native model refuses are cut off.

        Returns them, and whether others were priced anew, or cut off for relations.
        """
        outcome, began = report.outcome, time.perf_counter()
        verified, rejected, repriced = _first_verified(outcome, self.asked, self.problem)
        verify_s = time.perf_counter() - began
        self.attempts = in_turn([self.attempts, report.provenance.attempts])
        self.times += Times(report.reduce_s, outcome.build_s, outcome.solve_s, verify_s)
        self.lower = max(self.lower, min(outcome.lower, cutoff))
        if verified is not None and (
            self.answer is None or verified.distance < self.answer.distance
        ):
            self.answer = verified
        posed, oracle, goal = self.asked.posed, self.asked.oracle, self.asked.query.goal
        for choice in rejected:
            self.problem = posed.without(self.problem, choice)
            self.doubtful |= oracle.contradicts_the_trees(posed.decode(choice), goal)
        self.refused += rejected
        for choice, cells in repriced:
            self.problem = posed.settled(self.problem, choice, cells)
            self.unmet |= cells.unmet
        if repriced and self.answer is not None:
            self.problem = posed.bounded(self.problem, self.answer.distance)
        return rejected, bool(repriced)

    def ask_witnesses(self, backend: str, cutoff: float) -> bool:
        """Whether a training row refutes a backend's claim that there is nothing."""
        if self.asked.witnesses is None:
            return False
        witness = self.asked.witnesses.find(self.problem, cutoff)
        if witness is not None:
            self.answer = witness
            self.attempts = _disqualified(self.attempts, backend)
        return witness is not None


def law_broken(problem: Problem) -> str:
    """Why nothing can be proved about a problem, "" if it is as proofs need it.

    Parameters
    ----------
    problem : as posed
    """
    try:
        problem.check()
    except BrokenProblemError as error:
        return BROKEN.format(error)
    return ""


def _claims_none(outcome: Outcome) -> bool:
    return outcome.status == "infeasible" and outcome.stop_reason == "proved"


def _disqualified(attempts: tuple[Attempt, ...], backend: str) -> tuple[Attempt, ...]:
    """The log of all attempts, with the claims of a backend told to be refuted."""
    return tuple(
        a.saying(status="unknown", stop_reason="error", lower=0.0, raw=REFUTED)
        if a.backend == backend and a.status == "infeasible"
        else a
        for a in attempts
    )


def _unsettled(outcome: Outcome, again: bool) -> StopReason:
    """Why nothing is proved; choices rejected last had to be looked for again, without time."""
    late = again and outcome.stop_reason in ("proved", "gap")
    return "time_limit" if late else outcome.stop_reason


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


def _conclude(held: Certificate, settled: bool, complaint: str) -> Certificate:
    """Whether what is held is a proof; a proof of what can't be relied on is none."""
    status: Status = held.status
    if held.message:
        reason: StopReason = "error" if settled else held.stop_reason
        return _without_proof(replace(held, stop_reason=reason, lower=0.0))
    if settled:
        status = "infeasible" if held.answer is None else "optimal"
        return replace(held, status=status)
    return _without_proof(replace(held, message=complaint))


def _without_proof(held: Certificate) -> Certificate:
    return replace(held, provenance=replace(held.provenance, certified_by=""))
