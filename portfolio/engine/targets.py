"""Queries with one or several goals: the cheapest verified answer wins."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

import numpy as np

from encoders.backends.attempt import RunBackend, SolveReported
from encoders.backends.interface import Request, StopReason
from encoders.backends.stopping import why
from encoders.core.arrays import IntArray, evenly
from encoders.core.errors import OutOfTimeError
from encoders.formulation.goal_rows import has_room
from encoders.formulation.nearby import Nearby
from encoders.formulation.pose import Posed, pose
from encoders.formulation.starting_points import cells_of
from encoders.formulation.wide_columns import Region, WideColumns, wide_columns
from encoders.problem.problem import OnBounds
from encoders.query.goal import ClassGoal, Goal
from encoders.query.query import Query
from portfolio.engine.certificate import Certificate, join_all
from portfolio.engine.certify import certify
from portfolio.engine.findings import PosedQuery
from portfolio.engine.goal_parts import certify_goal_parts
from portfolio.engine.near_first import VERY_MANY_LEAVES, NearFirst, cut_off, near_first
from portfolio.engine.progress import Progress
from portfolio.engine.strategies import Strategy, others
from portfolio.engine.verify import verify
from portfolio.engine.witness import Witnesses
from portfolio.model.explained_model import ClassView, ExplainedModel

AskRegion = Callable[[Region, Request], Certificate]

# Share of the time for first turns. Searches take seconds, and a proof for the answer of one goal
# is faster after all others have been searched.
FIRST_TURNS = 0.5

# Returns the answer to a goal, given a clock time to stop at and the best answer so far.
Ask = Callable[[Goal, float, Certificate | None], Certificate]

ROWS = 500  # per goal; more take longer at every query

PROVED_MARGIN = 1e-7  # in the user's score unit; appendix D of the paper

# Rejected cells. A larger limit takes longer if many rows tie; see docs/explanation/rounding.md.
MOST_REFUSED = 200

EVERYWHERE: Region = MappingProxyType({})

MANY_TIES = (
    "The model's own predict rejected more than {} cells near a tie, so the proof covers only rows "
    "whose score {} by {:g}."
)


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


def in_turns(
    ask: Ask, goals: Sequence[Goal], deadline: float, over: Callable[[], bool]
) -> Certificate:
    """Return the cheapest answer to any of the goals; each gets a share of the time."""
    solved: dict[Goal, Certificate] = {}
    began = time.perf_counter()
    until, waiting = began + FIRST_TURNS * (deadline - began), list(goals)
    while waiting:
        # The goal with the weakest bound limits the joint bound.
        waiting.sort(key=lambda goal: solved[goal].lower if goal in solved else 0.0)
        for at, goal in enumerate(waiting):
            now = time.perf_counter()
            if goal in solved and over():
                break
            share = max(now, until) - now
            best = join_all(solved.values()) if solved else None
            certificate = ask(goal, now + share / (len(waiting) - at), best)
            solved[goal] = solved[goal].then(certificate) if goal in solved else certificate
        until = deadline
        waiting = [] if over() else [goal for goal in goals if is_open(solved[goal], solved)]
    return join_all(solved.values())


def is_open(certificate: Certificate, solved: Mapping[Goal, Certificate]) -> bool:
    """Return whether more time may find a cheaper answer to a goal than the best one of all."""
    if certificate.stop_reason != "time_limit" or certificate.message:
        return False
    cheapest = min(each.distance for each in solved.values())
    return cheapest == math.inf or certificate.lower < cheapest


def nearest_first(reading: ExplainedModel, query: Query, goals: Sequence[Goal]) -> list[Goal]:
    """Return the goals in ascending distance of the nearest training row that reaches each.

    Distances are between cells, each column in its unit and weight. This needs no encoded problem,
    and only run time depends on it.
    """
    if len(goals) < 2:
        return list(goals)
    far = {goal: _distance(reading, query, goal) for goal in goals}
    return sorted(goals, key=far.__getitem__)


def _distance(reading: ExplainedModel, query: Query, goal: Goal) -> float:
    """Return the approximate cost of the nearest of a goal's training rows, inf without one."""
    view = reading.views[goal.target]
    rows = view.near(goal)
    rows = rows[evenly(len(rows), ROWS)]
    query_cells = cells_of(view.ensemble, view.cells, reading.space, query.row[None, :])[0]
    total = np.zeros(len(rows))
    add = np.add if query.cost.aggregate == "sum" else np.maximum
    for index, feature in enumerate(reading.space.features):
        unit, weight = query.cost.unit[index], query.cost.weight[index]
        for column in feature.columns:
            there, here, edge = rows[:, column], query_cells[column], view.cells.boundary[column]
            step = weight * (there != here)
            if feature.kind in ("numeric", "ordinal") and edge.size:
                beyond = edge[np.minimum(there - (there > here), edge.size - 1)]
                step *= np.nan_to_num(np.abs(beyond - query.row[column]) / unit, nan=1.0)
            total = add(total, step)
    return float(total.min(initial=np.inf))


@dataclass(frozen=True, eq=False)
class Solver:
    """Settings for solving a query.

    Attributes
    ----------
    reading : the parsed model.
    way : strategy that solves encoded queries.
    run : runner of backends.
    request : limits of the search, with the cutoff of the query.
    deadline : clock time at which the search ends, as :func:`time.perf_counter` returns it.
    near : limited-distance subproblems of the same query, by view.
    """

    reading: ExplainedModel
    way: Strategy
    run: RunBackend
    request: Request
    deadline: float
    near: dict[ClassView, Nearby] = field(default_factory=dict)


def answer(solver: Solver, query: Query, goals: list[Goal], progress: Progress) -> Certificate:
    """Solve each goal, the nearest first, with the best answer so far as cutoff."""
    request, reading = solver.request, solver.reading
    near: dict[ClassView, Nearby] = {}

    def over() -> bool:
        return request.stop.is_set() or time.perf_counter() >= solver.deadline

    def ask(goal: Goal, until: float, best: Certificate | None) -> Certificate:
        bounded = replace(
            request,
            cutoff=request.cutoff if best is None else min(request.cutoff, best.distance),
            on_bounds=partial(progress.report, goal.target),
        )
        of_goal = replace(solver, request=bounded, deadline=until, near=near)
        certificate = _one(of_goal, replace(query, goal=goal))
        progress.report(goal.target, certificate.distance, certificate.lower)
        return certificate

    sizes = [reading.views[goal.target].cells.node.size for goal in goals]
    if len(goals) > 1 and max(sizes) > VERY_MANY_LEAVES and solver.way.in_parts:
        return in_turns(ask, goals, solver.deadline, over)
    joint: Certificate | None = None
    for goal in nearest_first(reading, query, goals):
        if joint is not None and over():
            return joint.cut(why(request))
        certificate = ask(goal, solver.deadline, joint)
        joint = certificate if joint is None else joint.join(certificate)
    assert joint is not None
    return joint


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
