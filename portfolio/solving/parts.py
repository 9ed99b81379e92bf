"""Queries with a high-cardinality categorical column, solved in parts, most promising first."""

import time
from collections.abc import Callable
from dataclasses import replace

from encoders.arrays import IntArray
from encoders.backends.interface import Request, StopReason
from encoders.backends.stopping import why
from encoders.posing.wide_columns import Region, WideColumns
from encoders.problem.problem import OnBounds
from portfolio.solving.certificate import Certificate

Ask = Callable[[Region, Request], Certificate]


def in_parts(
    ask: Ask, wide: WideColumns, request: Request, deadline: float, rows: IntArray
) -> Certificate:
    """Solve regions that partition all classes, each with the best answer so far as cutoff.

    Classes that cannot be part of a cheaper answer, or of any, are left out. Before infeasibility
    is claimed, the classes of training rows are solved all the same.
    """
    request = replace(request, on_bounds=_uppers(request.on_bounds))
    joint: Certificate | None = None
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
                return joint.cut(why(request))
            region = narrowed
        best, rest = wide.part(region)
        waiting += rest
        part = ask(best, replace(request, cutoff=cutoff))
        joint = part if joint is None else joint.join(part)
        if part.gave_up:
            return replace(joint, gave_up=True)
        cutoff = min(cutoff, part.distance)
    assert joint is not None
    if bounded and joint.status == "infeasible":
        region_of_rows = wide.holding(rows)
        part = joint if region_of_rows is None else ask(region_of_rows, request)
        if part.status != "infeasible":
            return joint.join(part).cut(_why_not(part))
    return joint


def _why_not(part: Certificate) -> StopReason:
    """Return why nothing is proved; an answer refutes the bound by which its part was left out."""
    return "error" if part.answer is not None else part.stop_reason


def _uppers(on_bounds: OnBounds) -> OnBounds:
    """Return a callback that reports costs only; a part's lower bound may fail for the whole."""
    return lambda upper, lower: on_bounds(upper, 0.0)
