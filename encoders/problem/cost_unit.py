"""Units of costs: if every cost is a multiple of a unit, bounds can be rounded up to a multiple.

Norm 0 counts changes, and distances on grades are thirds or twentieths. Every choice then costs a
whole multiple of a unit: with unit 1, a lower bound of 2.1 is as good as one of 3.
"""

import numpy as np

from encoders.problem.problem import Problem

FINEST = 1e-3  # smallest useful unit, as a share of the largest cost
NOTHING = 1e-3  # remainders below this share of the smallest useful unit are rounding
PRECISION = 1e-10  # largest error of the cost of a choice, as a share of the unit
SAME = 1e-9  # costs that differ by less than this share of the unit are equal
EQUAL = 1e-12  # share by which costs may differ and be equal, far below the gap of "optimal"


def unit_of(problem: Problem) -> float:
    """Return the largest unit of which every choice costs a whole multiple, up to rounding.

    Return 0 if no useful unit exists, inf if all choices cost nothing.
    """
    if problem.aggregate != "sum":
        return 0.0
    distinct = np.unique(problem.cost[problem.cost > 0])
    if distinct.size == 0:
        return np.inf
    finest, unit, rest = FINEST * distinct[-1], 0.0, distinct
    while rest.size:  # Euclid's algorithm: each remainder is at most half of the unit
        unit = rest.min()
        if unit < finest:
            return 0.0
        rest = np.abs(distinct - np.rint(distinct / unit) * unit)
        rest = rest[rest > NOTHING * finest]
    off = np.abs(problem.cost - np.rint(problem.cost / unit) * unit)
    worst = float(np.maximum.reduceat(off, problem.level_start[:-1]).sum())
    return float(unit) if worst <= PRECISION * unit else 0.0


def ceiling_below(upper: float, unit: float) -> float:
    """Return a limit of at most ``upper`` that every choice cheaper than ``upper`` stays below.

    The limit is half a unit above the most expensive of these choices, so that rounding does not
    matter; without a unit it is ``upper``. ``upper`` need not be a multiple of the unit: if it is
    a small part of one, only choices that cost nothing are cheaper.
    """
    if not 0.0 < unit < np.inf or not np.isfinite(upper):
        return upper
    cheaper = np.ceil(upper / unit - SAME) - 1
    if upper > 0:
        cheaper = max(0.0, cheaper)
    return float(min(upper, (cheaper + 0.5) * unit))


def below(upper: float, unit: float) -> float:
    """Return a limit such that choices below it are cheaper by more than rounding."""
    equal = EQUAL * abs(upper) if np.isfinite(upper) else 0.0
    return min(upper - equal, ceiling_below(upper, unit))
