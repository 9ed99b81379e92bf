"""Largest number of rows that groups without conflicts can contain, as a problem of levels."""

from collections.abc import Sequence

import numpy as np

from encoders.arrays import IntArray, starts
from encoders.backends.interface import Request
from encoders.backends.registry import find_backend
from encoders.problem.problem import LevelRow, Problem
from portfolio.solving.ask import Asker

MOST_WEIGHTS = 2**26  # weights of all rows of a problem: half a gigabyte
BACKEND = "maxsat"  # the fastest on such problems if there are many conflicts


def most_rows(
    n_rows: int,
    n_groups: int,
    conflicts: Sequence[frozenset[int]],
    asker: Asker,
    request: Request,
) -> IntArray | None:
    """Return the group of each row, int64 (n_rows,), 0 for none; None if not proved optimal."""
    if len(conflicts) * n_rows * n_groups**2 > MOST_WEIGHTS:
        return None
    problem = _problem(n_rows, n_groups, conflicts)
    outcome = asker.workers.run(find_backend(BACKEND), problem, request)
    if outcome.status != "optimal" or not problem.admits(outcome.choices[0]):
        return None
    return outcome.choices[0]


def _problem(n_rows: int, n_groups: int, conflicts: Sequence[frozenset[int]]) -> Problem:
    """Return a problem with an axis per row, whose level 0 costs 1; level g is group g."""
    none = np.zeros(0, dtype=np.int64)
    size = np.minimum(np.arange(n_rows) + 1, n_groups) + 1
    start = starts(size)
    cost = np.zeros(int(start[-1]))
    cost[start[:-1]] = 1.0
    rows = []
    for members in conflicts:
        places = np.array(sorted(members))
        for group in range(1, n_groups + 1):
            inside = places[size[places] > group]
            if inside.size < places.size:
                continue  # one of these rows is never in this group
            weight = np.zeros(cost.size, dtype=np.int64)
            weight[start[places] + group] = 1
            rows.append(LevelRow(weight, places.size - 1))
    return Problem(
        level_start=start,
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
