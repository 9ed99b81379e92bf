"""Loop that solves, verifies, cuts off rejected cells, and solves again."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from encoders.arrays import IntArray
from encoders.backends.attempt import Attempt, Provenance, SolveReported
from encoders.backends.interface import Outcome, Request, Status, StopReason
from encoders.errors import BrokenProblemError
from encoders.problem.problem import Problem
from portfolio.solving.findings import BROKEN, REFUTED, Findings, PosedQuery, Times
from portfolio.solving.verify import Verified

# Returns an answer with a clear lead, the times and the attempts for a request.
Clear = Callable[[Request], tuple[Verified | None, Times, tuple[Attempt, ...]]]
# Returns a solver without the named backends, or None if no other can prove.
Appeal = Callable[[frozenset[str]], SolveReported | None]


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proved facts about one goal.

    Attributes
    ----------
    status : status as in :class:`encoders.backends.interface.Outcome`.
    stop_reason : reason as in :class:`encoders.backends.interface.Outcome`.
    answer : verified answer, or None.
    lower : lower bound on the cost of all answers with the margin.
    times : seconds of all rounds.
    provenance : backends, attempts and decisions that led to the answer.
    message : reason why nothing is proved, "" if something is or time was short.
    margin : lead, in the user's score unit, of the rows that a proof covers; 0 for all rows that
        the model's own predict assigns to the target.
    gave_up : whether more cells were rejected than ``most_refused``.
    refused : choices that were cut off, each int64 (n_axes,).
    paused : whether the loop stopped at a choice that ``pause`` selects.
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


def certify(
    task: PosedQuery,
    solve: SolveReported,
    request: Request,
    appeal: Appeal = lambda out: None,
    most_refused: float = math.inf,
    pause: Callable[[IntArray], bool] = lambda choice: False,
    clear: Clear | None = None,
) -> Certificate:
    """Find the cheapest choice that the native model confirms.

    A choice that fails verification is excluded, together with all choices in the same leaves, and
    the search goes on within the same time limit. Bounds of earlier rounds stay valid, since each
    round only removes choices that are not counterfactuals. If the trees put a rejected choice
    clearly ahead, rounding does not explain the difference, and no proof is claimed.

    Ties are rarely single. After the first one, an answer with a clear lead is searched for. Once
    it is found, solvers verify each cheaper choice as soon as they find it, by a callback.

    Before a claim of infeasibility is accepted, training rows are tested as witnesses, and the
    problem's invariants are checked. A refuted backend is excluded, and another one solves.
    """
    deadline = time.perf_counter() + request.time_limit_s
    state = Findings(task, task.posed.problem, most_refused)
    broken, refuted = "", frozenset[str]()
    while True:
        now = state.request(request, deadline)
        report = solve(state.problem, now)
        rejected, repriced = state.take(report, now.cutoff)
        again = bool(rejected) or repriced
        if rejected and clear is not None:
            state.hear(*clear(state.quietly(request, deadline)))
            clear = None
        paused = any(pause(choice) for choice in rejected)
        outcome, name = report.outcome, report.provenance.backend
        if _claims_none(outcome) and state.answer is None and not again:
            broken = broken_invariant(task.posed.all_leaves()) if task.whole else ""
            if broken:
                break
            if state.ask_witnesses(name, now.cutoff):
                refuted |= {name}
                if (another := appeal(refuted)) is None:
                    outcome = replace(outcome, stop_reason="error", raw=REFUTED)
                    break
                solve = another
                continue
            state.check_encoding(now.cutoff)
        if (
            not again
            or paused
            or state.n_refused > most_refused
            or outcome.stop_reason not in ("proved", "gap")
            or time.perf_counter() >= deadline
        ):
            break
    settled = not again and (
        outcome.stop_reason == "proved" or (outcome.stop_reason == "gap" and state.closed())
    )
    certificate = Certificate(
        status="unknown" if state.answer is None else "feasible",
        stop_reason="proved" if settled else _unsettled(outcome, again),
        answer=state.answer,
        lower=state.lower if state.answer is None else min(state.lower, state.answer.distance),
        times=state.times,
        provenance=replace(report.provenance, attempts=state.attempts),
        message=state.doubts() or broken,
        margin=task.query.margin,
        gave_up=bool(rejected) and state.n_refused > most_refused,
        refused=tuple(state.refused),
        paused=paused,
    )
    complaint = f"{name}: {outcome.raw}" if outcome.stop_reason == "error" else ""
    return _conclude(certificate, settled, complaint)


def broken_invariant(problem: Problem) -> str:
    """Return why nothing can be proved about a problem, "" if its invariants hold."""
    try:
        problem.check()
    except BrokenProblemError as error:
        return BROKEN.format(error)
    return ""


def _claims_none(outcome: Outcome) -> bool:
    return outcome.status == "infeasible" and outcome.stop_reason == "proved"


def _unsettled(outcome: Outcome, again: bool) -> StopReason:
    """Return why nothing is proved; time ran out if the last choices were rejected."""
    late = again and outcome.stop_reason in ("proved", "gap")
    return "time_limit" if late else outcome.stop_reason


def _conclude(certificate: Certificate, settled: bool, complaint: str) -> Certificate:
    """Return the certificate with its final status; a proof with a message is withdrawn."""
    status: Status = certificate.status
    if certificate.message:
        reason: StopReason = "error" if settled else certificate.stop_reason
        return _without_proof(replace(certificate, stop_reason=reason, lower=0.0))
    if settled:
        status = "infeasible" if certificate.answer is None else "optimal"
        return replace(certificate, status=status)
    return _without_proof(replace(certificate, message=complaint))


def _without_proof(certificate: Certificate) -> Certificate:
    return replace(certificate, provenance=replace(certificate.provenance, certified_by=""))
