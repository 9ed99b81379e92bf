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

# Seconds of each goal's first turn, without presolve, and the factor between rounds. After short
# turns the best answer limits the cost for all goals; without it, long searches are often in vain.
FIRST_TURN_S, LONGER = 0.2, 4.0

# Returns the answer to a goal, given a clock time to stop at, the seconds for solving after
# presolve, and the best answer so far.
Ask = Callable[[Goal, float, float, Certificate | None], Certificate]

ROWS = 500  # per goal; more take longer at every query


def split_goals(task: QueryTask, rest: Solve) -> Certificate:
    """Solve each goal, the nearest first, with the best answer so far as cutoff."""

    def ask(goal: Goal, until: float, turn_s: float, best: Certificate | None) -> Certificate:
        report = partial(task.progress.report, goal.target)
        cutoff = task.request.cutoff if best is None else min(task.request.cutoff, best.distance)
        request = replace(task.request, cutoff=cutoff, on_bounds=report, turn_s=turn_s)
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
        certificate = ask(goal, task.deadline, math.inf, joint)
        joint = certificate if joint is None else joint.join(certificate)
    assert joint is not None
    return joint


def in_turns(ask: Ask, goals: Sequence[Goal], task: QueryTask) -> Certificate:
    """Return the cheapest answer to any of the goals, in rounds of ever longer turns.

    A turn searches from the start, with the best answer of all goals as cutoff. It takes no more
    than an equal share of the remaining time, so that each goal has a lower bound in the end.
    """
    solved: dict[Goal, Certificate] = {}
    waiting, turn_s = list(goals), FIRST_TURN_S
    while waiting:
        for at, goal in enumerate(waiting):
            if solved and task.over():
                break
            now = time.perf_counter()
            share = max(task.deadline - now, 0.0) / (len(waiting) - at)
            best = join_all(solved.values()) if solved else None
            certificate = ask(goal, now + share, turn_s, best)
            solved[goal] = solved[goal].then(certificate) if goal in solved else certificate
        waiting = [] if task.over() else [goal for goal in goals if is_open(solved[goal], solved)]
        turn_s = LONGER * turn_s if len(waiting) > 1 else math.inf
        # The goal of the best answer comes first: a better one would limit the others further.
        # Goals with strong bounds are soon proved, and leave their time to the others.
        waiting.sort(key=lambda goal: (solved[goal].distance, -solved[goal].lower))
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
