"""Queries with one or several goals: the cheapest verified answer wins."""

import math
import time
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from encoders.backends.attempt import RunBackend, SolveReported
from encoders.backends.interface import Request
from encoders.backends.stopping import why
from encoders.errors import OutOfTimeError
from encoders.posing.goal_rows import has_room
from encoders.posing.nearby import Nearby
from encoders.posing.pose import Posed, pose
from encoders.posing.wide_columns import Region, WideColumns, wide_columns
from encoders.query.goal import ClassGoal, Goal
from encoders.query.query import Query
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.solving.certificate import Certificate
from portfolio.solving.certify import certify
from portfolio.solving.findings import PosedQuery
from portfolio.solving.goal_order import nearest_first
from portfolio.solving.goal_parts import certify_goal_parts
from portfolio.solving.in_turns import in_turns
from portfolio.solving.near_first import VERY_MANY_LEAVES, NearFirst, cut_off, near_first
from portfolio.solving.parts import in_parts
from portfolio.solving.progress import Progress
from portfolio.solving.strategies import Strategy, others
from portfolio.solving.verify import verify
from portfolio.solving.witness import Witnesses

PROVED_MARGIN = 1e-7  # in the user's score unit; appendix D of the paper
# Rejected cells. A larger limit takes longer if many rows tie; see docs/explanation/rounding.md.
MOST_REFUSED = 200
EVERYWHERE: Region = MappingProxyType({})
MANY_TIES = (
    "The model's own predict rejected more than {} cells near a tie, so the proof covers only rows "
    "whose score {} by {:g}."
)


def answer(
    reading: ExplainedModel,
    query: Query,
    goals: list[Goal],
    way: Strategy,
    run: RunBackend,
    request: Request,
    deadline: float,
    progress: Progress,
) -> Certificate:
    """Solve each goal, the nearest first, with the best answer so far as cutoff."""
    near: dict[ClassView, Nearby] = {}

    def over() -> bool:
        return request.stop.is_set() or time.perf_counter() >= deadline

    def ask(goal: Goal, until: float, best: Certificate | None) -> Certificate:
        bounded = replace(
            request,
            cutoff=request.cutoff if best is None else min(request.cutoff, best.distance),
            on_bounds=partial(progress.report, goal.target),
        )
        solver = Solver(reading, way, run, bounded, until, near)
        certificate = _one(solver, replace(query, goal=goal))
        progress.report(goal.target, certificate.distance, certificate.lower)
        return certificate

    sizes = [reading.views[goal.target].cells.node.size for goal in goals]
    if len(goals) > 1 and max(sizes) > VERY_MANY_LEAVES and way.in_parts:
        return in_turns(ask, goals, deadline, over)
    joint: Certificate | None = None
    for goal in nearest_first(reading, query, goals):
        if joint is not None and over():
            return joint.cut(why(request))
        certificate = ask(goal, deadline, joint)
        joint = certificate if joint is None else joint.join(certificate)
    assert joint is not None
    return joint


@dataclass(frozen=True, eq=False)
class Solver:
    """Settings for solving one target, except the query.

    Attributes
    ----------
    reading : model as in :func:`answer`.
    way : strategy as in :func:`answer`.
    run : runner of backends as in :func:`answer`.
    request : request with the cutoff of this target.
    deadline : clock time as in :func:`answer`.
    near : limited-distance subproblems of the same query, by view.
    """

    reading: ExplainedModel
    way: Strategy
    run: RunBackend
    request: Request
    deadline: float
    near: dict[ClassView, Nearby] = field(default_factory=dict)


def _one(solver: Solver, query: Query) -> Certificate:
    """Solve one target; if too many rows are near a tie, solve for rows with some lead."""
    first = _posed(solver, query, most_refused(solver.reading, query))
    if not first.gave_up:
        return first
    lead = _lead(solver.reading, query.goal)
    clear = _posed(solver, replace(query, margin=lead), math.inf)
    words = "leads" if isinstance(query.goal, ClassGoal) else "clears its limits"
    return first.clear_of_ties(clear, MANY_TIES.format(MOST_REFUSED, words, clear.margin))


def most_refused(reading: ExplainedModel, query: Query) -> float:
    """Return how many cells the model may reject before rows near a tie are left out."""
    return MOST_REFUSED if query.margin == 0 and _lead(reading, query.goal) else math.inf


def _lead(reading: ExplainedModel, goal: Goal) -> float:
    """Return a lead that excludes rejections by rounding; 0 if no rows have it."""
    ensemble = reading.ensemble
    if isinstance(goal, ClassGoal):
        return 1.0 if ensemble.votes else PROVED_MARGIN
    lead = max(PROVED_MARGIN, 4.0 * ensemble.rounding.sums / ensemble.margin_unit)
    return lead if has_room(ensemble, goal, lead) else 0.0


def _posed(solver: Solver, query: Query, most_refused: float) -> Certificate:
    """Solve one target, in parts if a categorical column has very many classes."""
    began = time.perf_counter()
    wide = wide_of(solver, query)
    if wide is None:
        return _part(solver, query, most_refused, EVERYWHERE, solver.request)
    spent = time.perf_counter() - began
    ask = partial(_part, solver, query, most_refused)
    rows = solver.reading.views[query.goal.target].near(query.goal)
    return in_parts(ask, wide, solver.request, solver.deadline, rows).encoded(spent)


def wide_of(solver: Solver, query: Query) -> WideColumns | None:
    """Return the high-cardinality columns that split a query into parts, or None."""
    if not solver.way.in_parts or query.related is not None:
        return None
    view = solver.reading.views[query.goal.target]
    return wide_columns(view.ensemble, view.cells, solver.reading.space, query)


def _part(
    solver: Solver, query: Query, most_refused: float, region: Region, request: Request
) -> Certificate:
    """Solve one target within some classes."""
    began = time.perf_counter()
    reading, goal = solver.reading, query.goal
    view = reading.views[goal.target]

    def prove(posed: Posed, request: Request) -> Certificate:
        solve = solver.way.solve_posed(posed, view, goal)
        return certified(solver, query, posed, solve, most_refused, request, region)

    def over() -> bool:
        return request.stop.is_set() or time.perf_counter() >= solver.deadline

    try:
        near = (
            near_first(reading, query, region, over, solver.near) if solver.way.in_parts else None
        )
        if near is not None:
            oracle = replace(reading.oracle(goal.target), margin=query.margin)
            confirm = partial(verify, query=query, space=reading.space, oracle=oracle)
            certificate = NearFirst(near, view, request, prove, confirm).answer()
        else:
            posed = pose(view.ensemble, view.cells, reading.space, query, region, over)
            certificate = prove(posed, request)
    except OutOfTimeError:
        certificate = cut_off(request, query.margin)
    return certificate.encoded(time.perf_counter() - began - certificate.times.total)


def certified(
    solver: Solver,
    query: Query,
    posed: Posed,
    solve: SolveReported,
    most_refused: float,
    request: Request,
    region: Region = EVERYWHERE,
) -> Certificate:
    """Return the cheapest choice of an encoded query that the native model confirms."""
    reading, goal = solver.reading, query.goal
    view = reading.views[goal.target]
    oracle = replace(reading.oracle(goal.target), margin=query.margin)
    witnesses = Witnesses(posed, query, reading.space, oracle, view)
    posed_query = PosedQuery(posed, query, reading.space, oracle, witnesses)
    request = replace(request, time_limit_s=solver.deadline - time.perf_counter())
    appeal = partial(others, solver.run, posed, view, goal)
    # In a session another query would evict the model that the backend keeps.
    lead = _lead(reading, goal) if query.margin == 0 and solver.way.in_parts else 0.0
    by = partial(certify, clear=partial(_clear, solver, query, lead, region) if lead else None)
    if posed.relaxation is not None:
        by = partial(certify_goal_parts, narrow=solver.way.in_parts and posed.related is None)
    return by(posed_query, solve, request, appeal, most_refused)


def _clear(
    solver: Solver, query: Query, lead: float, region: Region, request: Request
) -> Certificate:
    """Certify the cheapest row that leads, within the time limit."""
    return _part(solver, replace(query, margin=lead), math.inf, region, request)
