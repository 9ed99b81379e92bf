"""Minimum hitting sets and maximum coverings, as problems without trees."""

from collections.abc import Sequence

import numpy as np

from encoders.backends.interface import Request
from encoders.backends.registry import find_backend
from encoders.core.arrays import BoolArray, FloatArray, IntArray, starts
from encoders.problem.problem import LevelRow, Problem
from portfolio.engine.ask import Asker

BACKEND = "maxsat"  # the fastest on such problems, especially with many rows


def problem_of_rows(level_start: IntArray, cost: FloatArray, rows: Sequence[LevelRow]) -> Problem:
    """Return the problem of choosing a level of each axis under some rows."""
    none = np.zeros(0, dtype=np.int64)
    return Problem(
        level_start=level_start,
        cost=cost,
        aggregate="sum",
        one_hot=(),
        tree_start=np.array([0, 1]),
        leaf_start=np.array([0, 0]),
        axis=none,
        lo=none,
        hi=none,
        leaf_rows=(),
        level_rows=tuple(rows),
    )


def hitting_sets(sets: Sequence[BoolArray]) -> Problem:
    """Return a problem with an axis per member: level 1 costs 1, and each set has a level 1."""
    n, rows = sets[0].size, []
    for members in sets:
        weight = np.zeros((n, 2), dtype=np.int64)
        weight[members, 0] = 1
        rows.append(LevelRow(weight.ravel(), int(members.sum()) - 1))
    return problem_of_rows(starts(np.full(n, 2)), np.tile([0.0, 1.0], n), rows)


def cheapest_levels(problem: Problem, asker: Asker, request: Request) -> IntArray | None:
    """Return the cheapest level of each axis; None if none is proved optimal."""
    outcome = asker.workers.run(find_backend(BACKEND), problem, request)
    if outcome.status != "optimal" or not problem.admits(outcome.choices[0]):
        return None
    return outcome.choices[0]
