"""Stage for several goals: the cheapest answer to any of them wins."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from encoders.backends.stopping import why
from encoders.core.arrays import evenly
from encoders.formulation.starting_points import cells_of
from encoders.query.goal import Goal
from encoders.query.query import Query
from portfolio.engine.certificate import Certificate, join_all
from portfolio.engine.task import QueryTask, Solve
from portfolio.model.explained_model import ExplainedModel

# Share of the time for first turns. Searches take seconds, and a proof for the answer of one goal
# is faster after all others have been searched.
FIRST_TURNS = 0.5

# Returns the answer to a goal, given a clock time to stop at and the best answer so far.
Ask = Callable[[Goal, float, Certificate | None], Certificate]

ROWS = 500  # per goal; more take longer at every query


def split_goals(task: QueryTask, rest: Solve) -> Certificate:
    """Solve each goal, the nearest first, with the best answer so far as cutoff."""

    def ask(goal: Goal, until: float, best: Certificate | None) -> Certificate:
        report = partial(task.progress.report, goal.target)
        cutoff = task.request.cutoff if best is None else min(task.request.cutoff, best.distance)
        request = replace(task.request, cutoff=cutoff, on_bounds=report)
        query = replace(task.query, goal=goal)
        certificate = rest(replace(task, query=query, request=request, deadline=until))
        report(certificate.distance, certificate.lower)
        return certificate

    goals = nearest_first(task.model, task.query, task.goals)
    if len(goals) > 1 and task.strategy.in_parts:
        return in_turns(ask, goals, task)
    joint: Certificate | None = None
    for goal in goals:
        if joint is not None and task.over():
            return joint.cut(why(task.request))
        certificate = ask(goal, task.deadline, joint)
        joint = certificate if joint is None else joint.join(certificate)
    assert joint is not None
    return joint


def in_turns(ask: Ask, goals: Sequence[Goal], task: QueryTask) -> Certificate:
    """Return the cheapest answer to any of the goals; each gets a share of the time.

    So each goal has a lower bound after the first turns, and a goal that takes long does not keep
    the others from a better answer.
    """
    solved: dict[Goal, Certificate] = {}
    began = time.perf_counter()
    until, waiting = began + FIRST_TURNS * (task.deadline - began), list(goals)
    while waiting:
        for at, goal in enumerate(waiting):
            if solved and task.over():
                break
            now = time.perf_counter()
            share = max(now, until) - now
            best = join_all(solved.values()) if solved else None
            certificate = ask(goal, now + share / (len(waiting) - at), best)
            solved[goal] = solved[goal].then(certificate) if goal in solved else certificate
        until = task.deadline
        waiting = [] if task.over() else [goal for goal in goals if is_open(solved[goal], solved)]
        # Goals with strong bounds are soon proved, and leave their time to the others.
        waiting.sort(key=lambda goal: -solved[goal].lower)
    joint = join_all(solved.values())
    return joint if len(solved) == len(goals) else joint.cut(why(task.request))


def is_open(certificate: Certificate, solved: Mapping[Goal, Certificate]) -> bool:
    """Return whether more time may find a cheaper answer to a goal than the best one of all."""
    if certificate.stop_reason != "time_limit" or certificate.message:
        return False
    cheapest = min(each.distance for each in solved.values())
    return cheapest == math.inf or certificate.lower < cheapest


def nearest_first(model: ExplainedModel, query: Query, goals: Sequence[Goal]) -> list[Goal]:
    """Return the goals in ascending distance of the nearest training row that reaches each.

    Distances are between cells, each column in its unit and weight. This needs no encoded problem,
    and only run time depends on it.
    """
    if len(goals) < 2:
        return list(goals)
    far = {goal: _distance(model, query, goal) for goal in goals}
    return sorted(goals, key=far.__getitem__)


def _distance(model: ExplainedModel, query: Query, goal: Goal) -> float:
    """Return the approximate cost of the nearest of a goal's training rows, inf without one."""
    view = model.views[goal.target]
    rows = view.near(goal)
    rows = rows[evenly(len(rows), ROWS)]
    query_cells = cells_of(view.ensemble, view.cells, model.space, query.row[None, :])[0]
    total = np.zeros(len(rows))
    add = np.add if query.cost.aggregate == "sum" else np.maximum
    for index, feature in enumerate(model.space.features):
        unit, weight = query.cost.unit[index], query.cost.weight[index]
        for column in feature.columns:
            there, here, edge = rows[:, column], query_cells[column], view.cells.boundary[column]
            step = weight * (there != here)
            if feature.kind in ("numeric", "ordinal") and edge.size:
                beyond = edge[np.minimum(there - (there > here), edge.size - 1)]
                step *= np.nan_to_num(np.abs(beyond - query.row[column]) / unit, nan=1.0)
            total = add(total, step)
    return float(total.min(initial=np.inf))
