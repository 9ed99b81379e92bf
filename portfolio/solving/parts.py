"""Queries with a high-cardinality categorical column, solved in parts, most promising first."""

import time
from collections.abc import Callable
from dataclasses import replace

from encoders.arrays import IntArray
from encoders.backends.interface import Request, StopReason
from encoders.backends.stopping import why
from encoders.posing.wide_columns import Region, WideColumns
from encoders.problem.problem import OnBounds
from portfolio.solving.join import Answer, cut_short, join

Ask = Callable[[Region, Request], Answer]


def in_parts(
    ask: Ask, wide: WideColumns, request: Request, deadline: float, rows: IntArray
) -> Answer:
    """Solve regions that partition all classes, each with the best answer so far as cutoff.

    Classes that cannot be part of a cheaper answer, or of any, are left out. Before infeasibility
    is claimed, the classes of training rows are solved all the same.
    """
    request = replace(request, on_bounds=_uppers(request.on_bounds))
    joint: Answer | None = None
    bounded = False  # whether classes may have been left out
    cutoff, waiting = request.cutoff, [wide.everything]
    while waiting:
        region = waiting.pop()
        if joint is not None:
            narrowed = wide.narrowed(region, cutoff)
            bounded = True
            if narrowed is None:
                continue
            if time.perf_counter() >= deadline or request.stop.is_set():
                return cut_short(joint, why(request))
            region = narrowed
        best, rest = wide.part(region)
        waiting += rest
        answer = ask(best, replace(request, cutoff=cutoff))
        joint = answer if joint is None else join(joint, answer)
        if answer.certificate.gave_up:
            return replace(joint, certificate=replace(joint.certificate, gave_up=True))
        if answer.certificate.answer is not None:
            cutoff = min(cutoff, answer.certificate.answer.distance)
    assert joint is not None
    if bounded and joint.certificate.status == "infeasible":
        region_of_rows = wide.holding(rows)
        answer = joint if region_of_rows is None else ask(region_of_rows, request)
        if answer.certificate.status != "infeasible":
            return cut_short(join(joint, answer), _why_not(answer))
    return joint


def _why_not(answer: Answer) -> StopReason:
    """Return why nothing is proved; an answer refutes the bound by which its part was left out."""
    return "error" if answer.certificate.answer is not None else answer.certificate.stop_reason


def _uppers(on_bounds: OnBounds) -> OnBounds:
    """Return a callback that reports costs only; a part's lower bound may fail for the whole."""
    return lambda upper, lower: on_bounds(upper, 0.0)
