"""Loop that solves, verifies, cuts off rejected cells, and solves again."""

import math
import time
from collections.abc import Callable
from dataclasses import replace

from encoders.backends.attempt import SolveReported
from encoders.backends.interface import Outcome, Request, StopReason
from encoders.core.arrays import IntArray
from encoders.core.errors import BrokenProblemError
from encoders.problem.problem import Problem
from portfolio.engine.certificate import Certificate
from portfolio.engine.findings import BROKEN, REFUTED, Findings, PosedQuery

# Returns the certificate of the rows with a clear lead for a request.
Clear = Callable[[Request], Certificate]
# Returns a solver without the named backends, or None if no other can prove.
Appeal = Callable[[frozenset[str]], SolveReported | None]


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

    def over() -> bool:
        return request.stop.is_set() or time.perf_counter() >= deadline

    state = Findings(task, task.posed.problem, most_refused)
    broken, refuted = "", frozenset[str]()
    while True:
        now = state.request(request, deadline)
        report = solve(state.problem, now)
        rejected, repriced = state.take(report, now.cutoff)
        again = bool(rejected) or repriced
        if rejected and clear is not None:
            state.hear(clear(state.quietly(request, deadline)))
            clear = None
        paused = any(pause(choice) for choice in rejected)
        outcome, name = report.outcome, report.provenance.backend
        if _claims_none(outcome) and state.answer is None and not again:
            broken = broken_invariant(task.posed.all_leaves(over)) if task.whole else ""
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
        answer=state.answer,
        lower=state.lower if state.answer is None else min(state.lower, state.answer.distance),
        stop_reason="proved" if settled else _unsettled(outcome, again),
        times=state.times,
        provenance=replace(report.provenance, attempts=state.attempts),
        message="" if settled or outcome.stop_reason != "error" else f"{name}: {outcome.raw}",
        margin=task.query.margin,
        gave_up=bool(rejected) and state.n_refused > most_refused,
        refused=tuple(state.refused),
    )
    certificate = certificate.doubted(state.doubts() or broken)
    return certificate if certificate.proved else uncertified(certificate)


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


def uncertified(certificate: Certificate) -> Certificate:
    """Return the certificate without the claim that a backend proved it."""
    return replace(certificate, provenance=replace(certificate.provenance, certified_by=""))
