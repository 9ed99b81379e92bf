"""The optimum of a small problem, by trying every choice."""

import numpy as np

from encoders.arrays import IntArray
from encoders.problem.problem import Problem


def optimum(problem: Problem) -> tuple[float, IntArray | None]:
    """The cheapest choice by trying all of them: (cost, levels), (inf, None) if there is none.

    Takes time in proportion to the product of the axes' sizes: for small problems only.

    Parameters
    ----------
    problem : small
    """
    best: tuple[float, IntArray | None] = (float("inf"), None)
    for index in np.ndindex(*problem.size.tolist()):
        levels = np.array(index, dtype=np.int64)
        if problem.distance(levels) < best[0] and problem.admits(levels):
            best = (problem.distance(levels), levels)
    return best
