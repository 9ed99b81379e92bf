"""Minimum hitting sets of features, as a problem without trees."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from encoders.arrays import BoolArray, starts
from encoders.backends.interface import Request
from encoders.backends.registry import find_backend
from encoders.problem.problem import LevelRow, Problem
from portfolio.solving.ask import Asker

BACKEND = "maxsat"  # the fastest backend for such problems, see the tests


def fewest(
    sets: Sequence[BoolArray], asker: Asker, request: Request, limit_s: float
) -> BoolArray | None:
    """Return the fewest features that intersect every set, bool (n_features,), or None."""
    if limit_s <= 0 or request.stop.is_set():
        return None
    problem = _problem(sets)
    outcome = asker.workers.run(
        find_backend(BACKEND), problem, replace(request, time_limit_s=limit_s)
    )
    if outcome.status != "optimal" or not problem.admits(outcome.choices[0]):
        return None
    return outcome.choices[0].astype(np.bool_)


def _problem(sets: Sequence[BoolArray]) -> Problem:
    """Return a problem with an axis per feature: level 1 costs 1, and each set has a level 1."""
    n = sets[0].size
    none = np.zeros(0, dtype=np.int64)
    rows = []
    for members in sets:
        weight = np.zeros((n, 2), dtype=np.int64)
        weight[members, 0] = 1
        rows.append(LevelRow(weight.ravel(), int(members.sum()) - 1))
    return Problem(
        level_start=starts(np.full(n, 2)),
        cost=np.tile([0.0, 1.0], n),
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
