"""First reduction of a problem that several queries share: drop what is too expensive for all."""

import numpy as np

from encoders.presolve.compress import Lift, compress, identity
from encoders.presolve.reduction import BUDGET
from encoders.presolve.tighten import NOTHING_LEFT, tighten
from encoders.problem.cost_unit import ceiling_below, unit_of
from encoders.problem.flat_problem import Tables
from encoders.problem.problem import Problem

# Share of levels and leaves: where no more can go, rebuilding takes longer than it saves.
FEW = 0.2
EFFORT = 0  # of tighten; what more of it would drop takes longer to find than to search


def shrink_quickly(problem: Problem, tables: Tables, upper: float) -> tuple[Problem, Lift] | None:
    """Return a smaller problem with all feasible choices below a limit, and its lift.

    A choice may be replaced by an equivalent one, which costs at most as much and has the same sum
    in every leaf row. Return None if all choices are excluded, and the given problem if few levels
    and leaves can be dropped.
    """
    keep = np.ones(problem.cost.size, dtype=np.bool_)
    alive = np.ones(problem.n_leaves, dtype=np.bool_)
    limit = ceiling_below(upper, unit_of(problem))
    dropped, _ = tighten(tables, limit, keep, alive, EFFORT, BUDGET)
    if 0 <= dropped <= FEW * (keep.size + alive.size):
        return problem, identity(problem)
    smaller = None if dropped == NOTHING_LEFT else compress(problem, keep, alive)
    return None if smaller is None else (smaller.problem, smaller.lift)
