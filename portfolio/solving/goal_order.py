"""Order of several goals: a cheap answer to the first one is a cutoff for all others."""

from collections.abc import Sequence

import numpy as np

from encoders.arrays import evenly
from encoders.posing.starting_points import cells_of
from encoders.query.goal import Goal
from encoders.query.query import Query
from portfolio.model.explained_model import ExplainedModel

ROWS = 500  # per goal; more take longer at every query


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
