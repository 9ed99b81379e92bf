"""Most rows that some groups can hold, given sets of rows that can't be in one: levels alone."""

from collections.abc import Sequence

import numpy as np

from encoders.arrays import IntArray, starts
from encoders.backends.interface import Request
from encoders.backends.registry import find_backend
from encoders.problem.problem import LevelRow, Problem
from portfolio.solving.ask import Asker

MOST_WEIGHTS = 2**26  # of the levels of a problem, in all of its rows: half a gigabyte
BACKEND = "maxsat"  # proves such problems in the least time where there are many conflicts


def most_rows(
    n_rows: int,
    n_groups: int,
    conflicts: Sequence[frozenset[int]],
    asker: Asker,
    request: Request,
) -> IntArray | None:
    """Put as many rows as there can be into groups of which none holds a whole conflict."""
    if len(conflicts) * n_rows * n_groups**2 > MOST_WEIGHTS:
        return None
    problem = _problem(n_rows, n_groups, conflicts)
    outcome = asker.workers.run(find_backend(BACKEND), problem, request)
    if outcome.status != "optimal" or not problem.admits(outcome.choices[0]):
        return None
    return outcome.choices[0]


def _problem(n_rows: int, n_groups: int, conflicts: Sequence[frozenset[int]]) -> Problem:
    """An axis per row, whose level 0 costs 1; groups are numbered by their first rows."""
    none = np.zeros(0, dtype=np.int64)
    size = np.minimum(np.arange(n_rows) + 1, n_groups) + 1
    start = starts(size)
    cost = np.zeros(int(start[-1]))
    cost[start[:-1]] = 1.0
    rows = []
    for members in conflicts:
        own = np.array(sorted(members))
        for group in range(1, n_groups + 1):
            inside = own[size[own] > group]
            if inside.size < own.size:
                continue  # one of them is never in this group
            weight = np.zeros(cost.size, dtype=np.int64)
            weight[start[own] + group] = 1
            rows.append(LevelRow(weight, own.size - 1))
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
