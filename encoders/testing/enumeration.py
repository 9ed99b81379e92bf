"""The optimum of a small problem by enumeration."""

import numpy as np

from encoders.core.arrays import IntArray
from encoders.problem.problem import Problem


def optimum(problem: Problem) -> tuple[float, IntArray | None]:
    """Return the cheapest choice by enumerating all of them.

    The time is proportional to the product of the axes' sizes, so use it for small problems only.

    Parameters
    ----------
    problem : Problem
        A small problem.

    Returns
    -------
    cost : float
        The optimal cost, inf if the problem is infeasible.
    levels : ndarray of int64, shape (n_axes,), or None
        The first choice of this cost, None if the problem is infeasible.

    See Also
    --------
    random_problem : Generate a small problem.

    Examples
    --------
    >>> from encoders.testing import NAMED, optimum
    >>> cost, levels = optimum(NAMED[0].problem)
    >>> cost, levels.tolist()
    (0.25, [1])
    """
    best: tuple[float, IntArray | None] = (float("inf"), None)
    for index in np.ndindex(*problem.size.tolist()):
        levels = np.array(index, dtype=np.int64)
        if problem.distance(levels) < best[0] and problem.admits(levels):
            best = (problem.distance(levels), levels)
    return best
