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

UNDONE = (0.3, 0.5, 0.7)  # shares of the changes that are undone; one is drawn in each iteration
# Choices that cost less than this factor of the best one are polished, which is slower than a walk.
NEAR = 1.05

# Records a choice that satisfies all rows, with its cost.
Take = Callable[[IntArray, float], object]


class Improver:
    """Walks from the query, from the levels of a Lagrangian bound, and from the best choice found.

    Deterministic for a seed, unless ``over`` ends it. Used by one thread.
    """

    def __init__(
        self,
        problem: Problem,
        t: Tables,
        prices: Prices,
        take: Take,
        seed: int = 0,
        over: Over = never,
    ) -> None:
        self._problem, self._t, self._take, self._over = problem, t, take, over
        self._rng = np.random.default_rng(seed)
        self._best, self._cheapest = t.best, np.inf
        for start in (t.best, _lowest(t, prices)):
            for power in WALKS:
                self._keep(*_walk(problem, t, start, power, np.inf, over))

    def iterate(self, iterations: int) -> None:
        """Undo some changes of the best choice and walk from there, so many times."""
        t, rng = self._t, self._rng
        for _ in range(iterations):
            changed = np.flatnonzero((self._best != t.best) & (t.group_of < 0))
            if self._over() or not np.isfinite(self._cheapest) or not changed.size:
                return
            start = self._best.copy()
            reset = changed[rng.random(changed.size) < rng.choice(UNDONE)]
            start[reset] = t.best[reset]
            power = float(rng.choice(WALKS))
            limit = NEAR * self._cheapest
            self._keep(*_walk(self._problem, t, start, power, limit, self._over))

    def _keep(self, choice: IntArray, cost: float) -> None:
        """Offer a choice to the search, and walk on from it if it is the cheapest."""
        self._take(choice, cost)
        if cost < self._cheapest:
            self._best, self._cheapest = choice, cost


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
