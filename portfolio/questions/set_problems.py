"""Minimum hitting sets and maximum coverings, as problems without trees."""

from collections.abc import Sequence

import numpy as np

from encoders.backends.interface import Request
from encoders.backends.registry import find_backend
from encoders.core.arrays import FloatArray, IntArray
from encoders.problem.problem import LevelRow, Problem
from portfolio.engine.ask import Asker

BACKEND = "maxsat"  # the fastest on such problems, especially with many rows


def cheapest_levels(
    level_start: IntArray,
    cost: FloatArray,
    rows: Sequence[LevelRow],
    asker: Asker,
    request: Request,
) -> IntArray | None:
    """Return the cheapest level of each axis under some rows; None if none is proved optimal."""
    none = np.zeros(0, dtype=np.int64)
    problem = Problem(
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
    outcome = asker.workers.run(find_backend(BACKEND), problem, request)
    if outcome.status != "optimal" or not problem.admits(outcome.choices[0]):
        return None
    return outcome.choices[0]
