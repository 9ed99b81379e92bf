"""A question about a column with very many classes is asked in parts, the most promising first."""

import time
from collections.abc import Callable
from dataclasses import replace
from math import inf

from encoders.backends.interface import Request
from encoders.backends.stopping import why
from encoders.posing.wide_columns import Region, WideColumns
from encoders.problem.problem import OnBounds
from portfolio.solving.join import Answer, cut_short, join

Ask = Callable[[Region, Request], Answer]


def in_parts(ask: Ask, wide: WideColumns, request: Request, deadline: float) -> Answer:
    """Ask about regions that part all classes, each cut off at the best answer so far.

    Once there is an answer, classes that can't be part of anything cheaper are left out; as long
    as there is none, every class is asked about, so that each claim that there is none is checked
    as any other.

    Parameters
    ----------
    ask : solves within a region; the request has the cutoff
    wide : knows the classes
    request : its cutoff is that of the whole
    deadline : ``time.perf_counter()`` at which to stop
    """
    request = replace(request, on_bounds=_uppers(request.on_bounds))
    joint: Answer | None = None
    cutoff, waiting = request.cutoff, [wide.everything]
    while waiting:
        region = waiting.pop()
        if joint is not None:
            narrowed = wide.narrowed(region, cutoff) if cutoff < inf else region
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
    return joint


def _uppers(on_bounds: OnBounds) -> OnBounds:
    """Tell costs alone: what bounds a part from below is no bound on the whole."""
    return lambda upper, lower: on_bounds(upper, 0.0)
