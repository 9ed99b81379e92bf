"""A question about a column with very many classes is asked in parts, the most promising first."""

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
    """Ask about regions that part all classes, each cut off at the best answer so far.

    Classes that can't be part of anything cheaper, or of any answer, are left out. Before it is
    believed that there is none, those of training rows are asked about all the same.
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
        own = ask(best, replace(request, cutoff=cutoff))
        joint = own if joint is None else join(joint, own)
        if own.certificate.gave_up:
            return replace(joint, certificate=replace(joint.certificate, gave_up=True))
        if own.certificate.answer is not None:
            cutoff = min(cutoff, own.certificate.answer.distance)
    assert joint is not None
    if bounded and joint.certificate.status == "infeasible":
        held = wide.holding(rows)
        own = joint if held is None else ask(held, request)
        if own.certificate.status != "infeasible":
            return cut_short(join(joint, own), _why_not(own))
    return joint


def _why_not(own: Answer) -> StopReason:
    """A part that holds an answer refutes the bound by which it was left out."""
    return "error" if own.certificate.answer is not None else own.certificate.stop_reason


def _uppers(on_bounds: OnBounds) -> OnBounds:
    """Tell costs alone: what bounds a part from below is no bound on the whole."""
    return lambda upper, lower: on_bounds(upper, 0.0)
