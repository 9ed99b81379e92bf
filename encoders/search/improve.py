"""Iterated local search for a better incumbent, once a search turns out to be hard.

Some changes of the best choice are undone, and a greedy walk satisfies the rows again. An iteration
takes as long as some ten nodes. A poor cutoff costs many more: if it is a tenth too high, proofs
for the hardest rows of BC take five times as long.
"""

from collections.abc import Callable

import numpy as np

from encoders.core.arrays import IntArray
from encoders.core.errors import Over, never
from encoders.presolve.bounds.prices import Prices
from encoders.presolve.incumbent import WALKS, descend_all, polish_all
from encoders.problem.flat_problem import Tables
from encoders.problem.problem import Problem

ITERATIONS = 60  # most improvements come within 40
UNDONE = (0.3, 0.5, 0.7)  # shares of the changes that are undone; one is drawn in each iteration
# Choices that cost less than this factor of the best one are polished, which is slower than a walk.
NEAR = 1.05

# Records a choice that satisfies all rows, with its cost.
Take = Callable[[IntArray, float], object]


def improve(
    problem: Problem,
    t: Tables,
    prices: Prices,
    take: Take,
    seed: int = 0,
    over: Over = never,
) -> None:
    """Walk from the query, from the levels of a Lagrangian bound, and from the best choice found.

    Deterministic for a seed, unless ``over`` ends it.
    """
    rng = np.random.default_rng(seed)
    best, cheapest = t.best, np.inf
    for start in (t.best, _lowest(t, prices)):
        for power in WALKS:
            choice, cost = _walk(problem, t, start, power, np.inf, over)
            take(choice, cost)
            if cost < cheapest:
                best, cheapest = choice, cost
    for _ in range(ITERATIONS):
        changed = np.flatnonzero((best != t.best) & (t.group_of < 0))
        if over() or not np.isfinite(cheapest) or not changed.size:
            return
        start = best.copy()
        reset = changed[rng.random(changed.size) < rng.choice(UNDONE)]
        start[reset] = t.best[reset]
        power = float(rng.choice(WALKS))
        choice, cost = _walk(problem, t, start, power, NEAR * cheapest, over)
        take(choice, cost)
        if cost < cheapest:
            best, cheapest = choice, cost


def _lowest(t: Tables, prices: Prices) -> IntArray:
    """Return the level of least reduced cost of each axis outside of one-hot groups."""
    choice = t.best.copy()
    for a in np.flatnonzero(t.group_of < 0):
        choice[a] = prices.level[t.level_start[a] : t.level_start[a + 1]].argmin()
    return choice


def _walk(
    problem: Problem, t: Tables, start: IntArray, power: float, limit: float, over: Over
) -> tuple[IntArray, float]:
    """Return the choice where a walk ends, and its cost, inf if a row does not hold there."""
    choice = start.copy()
    if not descend_all(t, choice, power, over) or not problem.admits(choice):
        return choice, np.inf
    cost = problem.distance(choice)
    if cost < limit:
        shorter = choice.copy()
        polish_all(problem, t, shorter, over)
        if problem.admits(shorter):
            choice, cost = shorter, problem.distance(shorter)
    return choice, cost
