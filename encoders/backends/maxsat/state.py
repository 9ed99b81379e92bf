"""State of a MaxSAT search: the best choice, and bounds in whole and in real costs."""

import time
from collections.abc import Callable
from typing import Protocol

import numpy as np

from encoders.backends.best_so_far import BestSoFar
from encoders.backends.integer_cost import IntegerCost
from encoders.backends.interface import Outcome, Request
from encoders.backends.maxsat.clauses import Clauses, Soft
from encoders.backends.stopping import StopRepeater, why
from encoders.problem.problem import Problem

ENGINES = {"glucose": "g4", "minisat": "m22", "cadical": "cd19"}  # PySAT's names
NO_INTERRUPT = "cd19"  # goes on until it is done


class Interruptible(Protocol):
    """A SAT solver, or RC2."""

    def interrupt(self) -> None:
        """End the call that is under way; may be called from any thread."""
        ...


class State:
    """Best choice and bound so far.

    Attributes
    ----------
    cost : whole-number cost that is proved to be the least, without the constant part
    """

    def __init__(
        self,
        problem: Problem,
        request: Request,
        clauses: Clauses,
        soft: Soft,
        costs: IntegerCost,
    ) -> None:
        self._problem, self._request = problem, request
        self._clauses, self._soft, self._costs = clauses, soft, costs
        self.best = BestSoFar(problem, request, request.cutoff)
        self.best.lower = costs.lower(soft.constant)
        self.cost = 0

    def found(self, true: set[int]) -> None:
        """Take a model, the set of its true variables."""
        self.best.found(self._clauses.levels(true))

    def at_least(self, cost: int) -> None:
        """Take a bound on the cost of the soft clauses."""
        self.cost = max(self.cost, cost)
        self.best.at_least(self._costs.lower(self.cost + self._soft.constant))

    @property
    def cutoff(self) -> int | None:
        """The largest cost of the soft clauses that is of interest by now, None for any."""
        cutoff = self._request.cutoff_now(self._problem)
        if not np.isfinite(cutoff):
            return None
        return self._costs.upper(cutoff) - self._soft.constant

    @property
    def asked_to_stop(self) -> bool:
        """Return whether the request's stop is set."""
        return self._request.stop.is_set()

    @property
    def lower_exceeds_cutoff(self) -> bool:
        """The bound alone costs too much."""
        return self.best.lower > self._request.cutoff_now(self._problem)

    def stopped(self, build_s: float, solve_s: float) -> Outcome:
        """Return the outcome of a search that ended without a proof."""
        return self.best.ended(why(self._request), build_s, solve_s, self._raw)

    def proved(self, build_s: float, solve_s: float) -> Outcome:
        """Return the outcome of a finished search: the incumbent is optimal, or there is none."""
        lower = self._costs.lower(self.cost + self._soft.constant)
        return self.best.proved(build_s, solve_s, self._raw, lower)

    def nothing(self, build_s: float, solve_s: float) -> Outcome:
        """Return the outcome of a proof that no choice is wanted."""
        return self.best.nothing(build_s, solve_s, self._raw)

    @property
    def _raw(self) -> str:
        return f"cost {self.cost}, {self._soft.n_variables} variables"


class Ending:
    """End condition of a search, polled by a :class:`StopRepeater`.

    Attributes
    ----------
    asked : bool, True after a stop or the time limit
    hopeless : bool, True if the bound exceeds the cutoff, which is a proof
    """

    def __init__(self, state: State, deadline: float, look: Callable[[], None]) -> None:
        self._state, self._deadline, self._look = state, deadline, look
        self.asked = self.hopeless = False

    def due(self) -> bool:
        """Return whether to stop; afterwards the bound is no longer read.

        RC2 takes an interrupted call for a core: its cost is then wrong.
        """
        if not (self.asked or self.hopeless):
            self._look()
            self.hopeless = self._state.lower_exceeds_cutoff
            late = time.perf_counter() >= self._deadline
            self.asked = not self.hopeless and (self._state.asked_to_stop or late)
        return self.asked or self.hopeless

    def watch(self, solver: Interruptible, engine: str) -> StopRepeater:
        """Look until the solve is over, and interrupt it where it can be."""
        able = engine != NO_INTERRUPT
        return StopRepeater(self.due, solver.interrupt if able else lambda: None)
