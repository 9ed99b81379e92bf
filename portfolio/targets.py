"""One query towards one or several target classes: the cheapest verified answer wins."""

import math
import time
from dataclasses import dataclass, replace
from functools import partial

from encoders.attempt import in_turn
from encoders.backend import Request, Status, StopReason
from encoders.pose import Query, pose
from portfolio.certify import Certificate, certify
from portfolio.judge import Judge
from portfolio.progress import Progress
from portfolio.reading import Reading
from portfolio.ways import Way


@dataclass(frozen=True, eq=False)
class Answer:
    """The joint certificate of all targets.

    Attributes
    ----------
    target : class index of the answer, None without one
    """

    certificate: Certificate
    target: int | None
    pose_s: float


def answer(
    reading: Reading,
    query: Query,
    targets: list[int],
    way: Way,
    request: Request,
    deadline: float,
    progress: Progress,
) -> Answer:
    """Solve for each target in turn, each cut off at the best answer so far.

    Parameters
    ----------
    query : its ``target`` is replaced by each of ``targets``
    way : how each posed problem is solved
    deadline : ``time.perf_counter()`` at which to stop
    """
    joint: Answer | None = None
    for target in targets:
        began = time.perf_counter()
        if joint is not None and (began >= deadline or request.stop.is_set()):
            reason: StopReason = "interrupted" if request.stop.is_set() else "time_limit"
            return _cut_short(joint, reason)
        asked = replace(query, target=target)
        view = reading.views[target]
        posed = pose(view.ensemble, view.cells, reading.space, asked)
        pose_s = time.perf_counter() - began
        best = joint.certificate.answer if joint else None
        certificate = certify(
            posed,
            asked,
            reading.space,
            Judge(view.ensemble, reading.native, view.outlook),
            way(posed, view, target),
            replace(
                request,
                time_limit_s=deadline - time.perf_counter(),
                cutoff=math.inf if best is None else best.distance,
                on_bounds=partial(progress.report, target),
            ),
        )
        own = Answer(certificate, target if certificate.answer else None, pose_s)
        joint = own if joint is None else _join(joint, own)
        upper = math.inf if certificate.answer is None else certificate.answer.distance
        progress.report(target, upper, certificate.lower)
    assert joint is not None
    return joint


def _cut_short(joint: Answer, reason: StopReason) -> Answer:
    """Some targets were not looked at: nothing is proved about all of them together."""
    held = joint.certificate
    status: Status = "unknown" if held.answer is None else "feasible"
    return replace(joint, certificate=replace(held, status=status, stop_reason=reason, lower=0.0))


def _join(first: Answer, second: Answer) -> Answer:
    """What two targets together prove: a bound holds only if both have it."""
    a, b = first.certificate, second.certificate
    best = (
        second
        if b.answer is not None and (a.answer is None or b.answer.distance < a.answer.distance)
        else first
    )
    weaker = next((c for c in (a, b) if c.status in ("unknown", "feasible")), None)
    found = best.certificate.answer
    status: Status
    if weaker is None:
        status, reason = ("infeasible" if found is None else "optimal"), a.stop_reason
    else:
        status, reason = ("unknown" if found is None else "feasible"), weaker.stop_reason
    lower = min(a.lower, b.lower)
    certificate = Certificate(
        status=status,
        stop_reason=reason,
        answer=found,
        lower=lower if found is None else min(lower, found.distance),
        backend=best.certificate.backend,
        left=best.certificate.left,
        reduce_s=a.reduce_s + b.reduce_s,
        build_s=a.build_s + b.build_s,
        solve_s=a.solve_s + b.solve_s,
        verify_s=a.verify_s + b.verify_s,
        message=a.message or b.message,
        attempts=in_turn([a.attempts, b.attempts]),
        certified_by=best.certificate.certified_by,
        decision="; ".join(filter(None, dict.fromkeys([a.decision, b.decision]))),
    )
    return Answer(certificate, best.target, first.pose_s + second.pose_s)
