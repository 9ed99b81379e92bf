"""Costs that come in whole steps: what costs less than something costs a step less.

Changes are counted with norm 0, and differ by thirds or twentieths on grades: then every choice
costs a whole multiple of a unit, and a lower bound of 2.1 is as good as one of 3.
"""

import numpy as np

from encoders.problem.problem import Problem

FINEST = 1e-3  # of the largest cost: finer units rule out nothing
NOTHING = 1e-3  # of the finest unit: a remainder below it is rounding
PRECISION = 1e-10  # of a unit: what the costs of a choice may be off by together
SAME = 1e-9  # of a unit: costs that differ by less are equal


def unit_of(problem: Problem) -> float:
    """The largest cost of which every choice costs a whole multiple, up to float rounding.

    0 if there is none, or none that is of use; inf if all choices cost nothing.
    """
    if problem.aggregate != "sum":
        return 0.0
    distinct = np.unique(problem.cost[problem.cost > 0])
    if distinct.size == 0:
        return np.inf
    finest, unit, rest = FINEST * distinct[-1], 0.0, distinct
    while rest.size:  # Euclid's algorithm: a remainder is at most half a unit
        unit = rest.min()
        if unit < finest:
            return 0.0
        rest = np.abs(distinct - np.rint(distinct / unit) * unit)
        rest = rest[rest > NOTHING * finest]
    off = np.abs(problem.cost - np.rint(problem.cost / unit) * unit)
    worst = float(np.maximum.reduceat(off, problem.level_start[:-1]).sum())
    return float(unit) if worst <= PRECISION * unit else 0.0


def ceiling_below(upper: float, unit: float) -> float:
    """Return a limit below ``upper`` that all choices cheaper than ``upper`` stay below.

    It lies half a unit above the most expensive of them, so that rounding does not matter. It is
    ``upper`` itself without a unit. Only choices that cost nothing are cheaper than a small part
    of a unit, which need not be a cost of this problem.
    """
    if not 0.0 < unit < np.inf or not np.isfinite(upper):
        return upper
    cheaper = np.ceil(upper / unit - SAME) - 1
    if upper > 0:
        cheaper = max(0.0, cheaper)
    return float(min(upper, (cheaper + 0.5) * unit))
