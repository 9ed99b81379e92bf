"""Incumbent, then tighten and compress to a fixpoint."""

from dataclasses import dataclass

import numpy as np

from encoders.arrays import IntArray
from encoders.problem import Problem
from encoders.reduce.compress import Lift, compress, identity
from encoders.reduce.incumbent import find_incumbent
from encoders.reduce.tighten import NOTHING_LEFT, tighten
from encoders.tables import tabulate

ROUNDS = 8
BUDGET = 20_000_000  # leaf-against-leaf comparisons over all rounds, about 0.2 s
WORTHWHILE = 0.02


@dataclass(frozen=True, eq=False)
class Reduction:
    """What is left to decide.

    Attributes
    ----------
    problem : choices of the original that satisfy it and cost less than ``upper`` have an
        equivalent here, at most as costly; None if there are none: ``upper`` is proved
    lift : back to the original problem
    incumbent : the best choice of the original known, or None
    upper : its cost, or the cutoff if that is lower
    """

    problem: Problem | None
    lift: Lift
    incumbent: IntArray | None
    upper: float


def reduce(problem: Problem, starts: IntArray, cutoff: float = np.inf) -> Reduction:
    """Shrink a problem to the choices that beat the best one known.

    Parameters
    ----------
    starts : int64 (n_starts, n_axes), choices from which to look for an incumbent
    cutoff : choices that cost at least this are of no interest
    """
    tables = tabulate(problem)
    incumbent = find_incumbent(problem, tables, starts)
    upper = cutoff if incumbent is None else min(cutoff, problem.distance(incumbent))
    lift, small, budget = identity(problem), problem, BUDGET
    for _ in range(ROUNDS):
        keep = np.ones(small.cost.size, dtype=np.bool_)
        alive = np.ones(small.n_leaves, dtype=np.bool_)
        dropped = tighten(tables, upper, keep, alive, budget // 2)
        budget //= 2
        if dropped == NOTHING_LEFT:
            return Reduction(None, lift, incumbent, upper)
        before = small.cost.size + small.n_leaves
        small, step = compress(small, keep, alive)
        if (small.size == 0).any():
            return Reduction(None, lift, incumbent, upper)
        lift = lift.then(step)
        tables = tabulate(small)
        if before - small.cost.size - small.n_leaves <= WORTHWHILE * before:
            break
    return Reduction(small, lift, incumbent, upper)
