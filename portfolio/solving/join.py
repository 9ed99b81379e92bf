"""Joint certificates of several targets, or of several parts of one query."""

from dataclasses import dataclass, replace

from encoders.backends.attempt import in_turn
from encoders.backends.interface import Status, StopReason
from encoders.query.goal import Goal
from portfolio.solving.certify import Certificate
from portfolio.solving.verify import RELATIVE_TOLERANCE


@dataclass(frozen=True, eq=False)
class Answer:
    """Joint certificate of all targets, or of some.

    Attributes
    ----------
    certificate : joint certificate.
    goal : goal that the answer reaches, None without one.
    pose_s : seconds for encoding.
    """

    certificate: Certificate
    goal: Goal | None
    pose_s: float


def cut_short(joint: Answer, reason: StopReason) -> Answer:
    """Return the joint answer without a proof, as some targets or parts were not solved."""
    certificate = joint.certificate
    status: Status = "unknown" if certificate.answer is None else "feasible"
    return replace(
        joint, certificate=replace(certificate, status=status, stop_reason=reason, lower=0.0)
    )


def below(answer: Answer, cutoff: float) -> Answer:
    """Return the answer if it costs at most a cutoff, else a proof that nothing does.

    A proof that nothing costs less than the cutoff does not prove an answer above it optimal.
    """
    certificate = answer.certificate
    if (
        certificate.status != "optimal"
        or certificate.answer is None
        or certificate.answer.distance <= cutoff
    ):
        return answer
    if certificate.lower >= certificate.answer.distance * (1 - RELATIVE_TOLERANCE):
        return answer
    return replace(
        answer, certificate=replace(certificate, status="infeasible", answer=None), goal=None
    )


def join(first: Answer, second: Answer) -> Answer:
    """Return the joint answer of two targets or parts; a bound holds only if it holds for both."""
    a, b = first.certificate, second.certificate
    best = (
        second
        if b.answer is not None and (a.answer is None or b.answer.distance < a.answer.distance)
        else first
    )
    cheapest = best.certificate.answer
    # A part whose bound exceeds the other one's answer needs no proof.
    open_ = [c for c in (a, b) if c.status in ("unknown", "feasible")]
    weaker = next((c for c in open_ if cheapest is None or c.lower < cheapest.distance), None)
    status: Status
    reason: StopReason
    if weaker is None:
        status, reason = ("infeasible" if cheapest is None else "optimal"), "proved"
    else:
        status, reason = ("unknown" if cheapest is None else "feasible"), weaker.stop_reason
    lower = min(a.lower, b.lower)
    certificate = Certificate(
        status=status,
        stop_reason=reason,
        answer=cheapest,
        lower=lower if cheapest is None else min(lower, cheapest.distance),
        times=a.times + b.times,
        provenance=replace(
            best.certificate.provenance,
            attempts=in_turn([a.provenance.attempts, b.provenance.attempts]),
            decision="; ".join(
                filter(None, dict.fromkeys([a.provenance.decision, b.provenance.decision]))
            ),
        ),
        message=a.message or b.message,
        margin=max(a.margin, b.margin),
    )
    return Answer(certificate, best.goal, first.pose_s + second.pose_s)
