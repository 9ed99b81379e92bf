"""Stage for columns of very many classes: regions that partition them are solved one by one."""

import time
from collections.abc import Callable
from dataclasses import replace

from encoders.backends.interface import Request, StopReason
from encoders.backends.stopping import why
from encoders.core.arrays import IntArray
from encoders.formulation.wide_columns import Region, WideColumns, wide_columns
from encoders.problem.problem import OnBounds
from portfolio.engine.certificate import Certificate
from portfolio.engine.task import QueryTask, Solve

AskRegion = Callable[[Region, Request], Certificate]


def split_columns(task: QueryTask, rest: Solve) -> Certificate:
    """Solve a task in parts if a categorical column has very many classes."""
    began = time.perf_counter()
    wide = wide_columns_of(task)
    if wide is None:
        return rest(task)
    spent = time.perf_counter() - began

    def ask(region: Region, request: Request) -> Certificate:
        return rest(replace(task, region=region, request=request))

    rows = task.view.near(task.query.goal)
    return in_parts(ask, wide, task.request, task.deadline, rows).encoded(spent)


def wide_columns_of(task: QueryTask) -> WideColumns | None:
    """Return the high-cardinality columns that split a query into parts, or None."""
    if not task.strategy.in_parts or task.query.related is not None:
        return None
    view = task.view
    return wide_columns(view.ensemble, view.cells, task.model.space, task.query)


def in_parts(
    ask: AskRegion, wide: WideColumns, request: Request, deadline: float, rows: IntArray
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
