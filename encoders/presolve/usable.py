"""Leaves that a choice below a cutoff may use, by the cheap rules alone."""

import numpy as np

from encoders.core.arrays import BoolArray
from encoders.presolve.bounds.lagrange import bound_by_prices, drop_by_prices
from encoders.presolve.tighten import NOTHING_LEFT, tighten
from encoders.problem.cost_unit import ceiling_below, unit_of
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import Problem

# Leaves looked at, about 2 ms; with more, finding out takes longer than it saves.
BUDGET = 20_000


def usable(problem: Problem, cutoff: float) -> BoolArray | None:
    """Leaves that may be active in a choice that keeps every row and costs less than ``cutoff``.

    Pure and thread safe.
    """
    tables, limit, looked = tabulate(problem), ceiling_below(cutoff, unit_of(problem)), 0
    keep = np.ones(problem.cost.size, dtype=np.bool_)
    alive = np.ones(problem.n_leaves, dtype=np.bool_)
    for effort in (0, 1):
        dropped, more = tighten(tables, limit, keep, alive, effort, BUDGET - looked)
        looked += more
        if dropped == NOTHING_LEFT:
            return None
        alive &= _reachable(problem, keep)
    if problem.aggregate == "sum" and limit < np.inf:
        drop_by_prices(tables, bound_by_prices(tables, limit), limit, keep, alive)
        alive &= _reachable(problem, keep)
    left = np.add.reduceat(alive, problem.tree_start[:-1], dtype=np.int64)
    return alive if left.all() else None


def _reachable(problem: Problem, keep: BoolArray) -> BoolArray:
    """Leaves with a level that is kept on every axis that they look at."""
    before = np.concatenate([[0], np.cumsum(keep)])
    first = problem.level_start[problem.axis]
    none = before[first + problem.hi + 1] == before[first + problem.lo]
    reachable = np.ones(problem.n_leaves, dtype=np.bool_)
    reachable[problem.leaf_of[none]] = False
    return reachable
