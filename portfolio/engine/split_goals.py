"""Stage for several goals: the cheapest answer to any of them wins."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from encoders.backends.stopping import why
from encoders.core.arrays import evenly
from encoders.formulation.starting_points import cells_of
from encoders.query.goal import Goal
from encoders.query.query import Query
from portfolio.engine.certificate import Certificate
from portfolio.engine.goal_turns import GoalTurn, GoalTurns
from portfolio.engine.task import QueryTask, Solve, TurnMemo
from portfolio.model.explained_model import ExplainedModel

ROWS = 500  # per goal; more take longer at every query


def split_goals(task: QueryTask, rest: Solve) -> Certificate:
    """Solve each goal, the nearest first, with the best answer so far as cutoff."""

    def ask(goal: Goal, turn: GoalTurn) -> Certificate:
        report = partial(task.progress.report, goal.target)
        request = replace(
            task.request,
            threads=turn.threads,
            cutoff=min(task.request.cutoff, turn.cutoff),
            on_bounds=report,
            turn_s=turn.seconds,
        )
        goal_task = replace(
            task,
            query=replace(task.query, goal=goal),
            request=request,
            deadline=turn.deadline,
            memo=turns.get(goal),
        )
        certificate = rest(goal_task)
        report(certificate.distance, certificate.lower)
        return certificate

    goals = nearest_first(task.model, task.query, task.goals)
    turns: dict[Goal, TurnMemo] = {}
    if len(goals) > 1 and task.strategy.in_parts:
        turns = {goal: TurnMemo() for goal in goals}
        return GoalTurns(ask, goals, task).run()
    joint: Certificate | None = None
    for goal in goals:
        if joint is not None and task.over():
            return joint.cut(why(task.request))
        cutoff = math.inf if joint is None else joint.distance
        turn = GoalTurn(task.deadline, math.inf, task.request.threads, cutoff)
        certificate = ask(goal, turn)
        joint = certificate if joint is None else joint.join(certificate)
    assert joint is not None
    return joint


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
