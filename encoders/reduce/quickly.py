"""A first look at a problem that several questions share: what is dear for all of them goes."""

import numpy as np

from encoders.problem.cost_unit import ceiling_below, unit_of
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import Problem
from encoders.reduce.compress import Lift, compress, identity
from encoders.reduce.reduction import BUDGET
from encoders.reduce.tighten import NOTHING_LEFT, tighten

EFFORTS = (0, 1)  # of tighten, in turn; what a third round drops takes as long as to search it


def shrink_quickly(problem: Problem, tables: Tables, upper: float) -> tuple[Problem, Lift] | None:
    """The choices that keep every row and cost less than a limit, or their equivalents.

    An equivalent costs no more, and every leaf row sums up to the same.

    Parameters
    ----------
    problem : as posed; stays as it is
    tables : its own
    upper : the limit

    Returns
    -------
    the smaller problem and the way back; None if there are no such choices
    """
    lift, small = identity(problem), problem
    for effort in EFFORTS:
        keep = np.ones(small.cost.size, dtype=np.bool_)
        alive = np.ones(small.n_leaves, dtype=np.bool_)
        limit = ceiling_below(upper, unit_of(small))
        dropped, _ = tighten(tables, limit, keep, alive, effort, BUDGET)
        smaller = None if dropped == NOTHING_LEFT else compress(small, keep, alive)
        if smaller is None:
            return None
        small, lift = smaller.problem, lift.then(smaller.lift)
        if small.n_leaves == 0:
            break
        tables = tabulate(small)
    return small, lift
