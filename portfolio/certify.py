"""Solve, verify, cut off what the model does not confirm, and solve on."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.attempt import in_turn
from encoders.backend import Attempt, Outcome, Request, Solve, Status, StopReason
from encoders.errors import BrokenProblemError
from encoders.features import FeatureSpace
from encoders.pose import Posed, Query
from encoders.problem import Problem
from portfolio.judge import Judge
from portfolio.verify import Verified, verify
from portfolio.witness import Witnesses

INEXACT = (
    "The scores are too large for the margin to be covered by exact integers, so nothing is "
    "proved; use a larger margin."
)
BROKEN = "The model's trees are not what proofs rest on, so nothing is proved: {}"
REFUTED = "claimed that there is no counterfactual, but a training row is one"
MISREAD = (
    "The model's own predict contradicts its trees on a row that was found, so nothing is proved."
)

# What decides when the named backends are out; None if nothing else can.
Appeal = Callable[[frozenset[str]], Solve | None]


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is known about one target class; ``answer`` has been verified.

    Attributes
    ----------
    lower : no answer with the margin costs less
    left : options and leaves that a solver had to decide among
    message : why nothing is proved, "" if something is or time was short
    attempts, certified_by, decision : as in :class:`encoders.backend.Outcome`
    margin : the lead, in the user's score unit, of the rows that a proof is about; 0 for all rows
        that the model's own predict decides as wanted
    gave_up : more cells were refused than ``most_refused``
    """

    status: Status
    stop_reason: StopReason
    answer: Verified | None
    lower: float
    backend: str
    left: tuple[int, int]
    reduce_s: float
    build_s: float
    solve_s: float
    verify_s: float
    message: str = ""
    attempts: tuple[Attempt, ...] = ()
    certified_by: str = ""
    decision: str = ""
    margin: float = 0.0
    gave_up: bool = False


def certify(
    posed: Posed,
    query: Query,
    space: FeatureSpace,
    judge: Judge,
    solve: Solve,
    request: Request,
    witnesses: Witnesses | None = None,
    appeal: Appeal = lambda out: None,
    most_refused: float = math.inf,
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
    witnesses : training rows that are asked before "infeasible" is believed
    appeal : what decides instead of backends whose claim was refuted, given their names
    most_refused : give up once more cells than this have been cut off
    """
    deadline = time.perf_counter() + request.time_limit_s
    problem, lower, spent = posed.problem, 0.0, np.zeros(4)
    answer: Verified | None = None
    doubtful, broken, n_refused, refuted = False, "", 0, frozenset[str]()
    attempts: tuple[Attempt, ...] = ()
    while True:
        cutoff = request.cutoff if answer is None else min(request.cutoff, answer.distance)
        left = deadline - time.perf_counter()
        outcome = solve(problem, replace(request, time_limit_s=left, cutoff=cutoff))
        began = time.perf_counter()
        found, rejected = _first_verified(outcome, posed, query, space, judge)
        verify_s = time.perf_counter() - began
        attempts = in_turn([attempts, outcome.attempts])
        spent += (outcome.reduce_s, outcome.build_s, outcome.solve_s, verify_s)
        lower = max(lower, min(outcome.lower, cutoff))
        if found is not None and (answer is None or found.distance < answer.distance):
            answer = found
        for choice in rejected:
            problem = problem.without(choice)
            doubtful |= judge.contradicts_the_trees(posed.decode(choice), query.target)
        n_refused += len(rejected)
        if _claims_none(outcome) and answer is None and not rejected:
            broken = _law_broken(posed.problem)
            if broken:
                break
            witness = None if witnesses is None else witnesses.find(problem, cutoff)
            if witness is not None:
                answer, refuted = witness, refuted | {outcome.backend}
                attempts = _disqualified(attempts, outcome.backend)
                another = appeal(refuted)
                if another is None:
                    outcome = replace(outcome, stop_reason="error", raw=REFUTED)
                    break
                solve = another
                continue
        if (
            not rejected
            or n_refused > most_refused
            or outcome.stop_reason not in ("proved", "gap")
            or time.perf_counter() >= deadline
        ):
            break
    settled = outcome.stop_reason == "proved" and not rejected
    reason = outcome.stop_reason if settled or not rejected else _unsettled(outcome)
    message = INEXACT if not posed.problem.exact else MISREAD if doubtful else broken
    certificate = _conclude(answer, lower, settled, reason, spent, message, outcome)
    if outcome.stop_reason == "error" and not message:
        certificate = replace(certificate, message=f"{outcome.backend}: {outcome.raw}")
    return replace(
        certificate,
        attempts=attempts,
        margin=query.margin,
        gave_up=bool(rejected) and n_refused > most_refused,
    )


def _law_broken(problem: Problem) -> str:
    """Why nothing can be proved about a problem, "" if it is as proofs need it."""
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
        replace(a, status="unknown", stop_reason="error", lower=0.0, raw=REFUTED)
        if a.backend == backend and a.status == "infeasible"
        else a
        for a in attempts
    )


def _unsettled(outcome: Outcome) -> StopReason:
    """The last choices were rejected and there was no time to look for others."""
    return "time_limit" if outcome.stop_reason in ("proved", "gap") else outcome.stop_reason


def _first_verified(
    outcome: Outcome, posed: Posed, query: Query, space: FeatureSpace, judge: Judge
) -> tuple[Verified | None, list[IntArray]]:
    """The cheapest choice that the model confirms, and the cheaper ones that it does not."""
    rejected: list[IntArray] = []
    for choice in outcome.choices:
        claimed = posed.problem.distance(choice)
        found = verify(posed.decode(choice), claimed, query, space, judge)
        if found is not None:
            return found, rejected
        rejected.append(choice)
    return None, rejected


def _conclude(
    answer: Verified | None,
    lower: float,
    settled: bool,
    reason: StopReason,
    spent: FloatArray,
    message: str,
    outcome: Outcome,
) -> Certificate:
    status: Status = "unknown" if answer is None else "feasible"
    if message:
        lower = 0.0
        reason = "error" if settled else reason
    elif settled:
        status = "infeasible" if answer is None else "optimal"
    if answer is not None:
        lower = min(lower, answer.distance)
    reduce_s, build_s, solve_s, verify_s = spent.tolist()
    return Certificate(
        status=status,
        stop_reason=reason,
        answer=answer,
        lower=lower,
        backend=outcome.backend,
        left=outcome.left,
        reduce_s=reduce_s,
        build_s=build_s,
        solve_s=solve_s,
        verify_s=verify_s,
        message=message,
        decision=outcome.decision,
        certified_by=outcome.certified_by if status in ("optimal", "infeasible") else "",
    )
