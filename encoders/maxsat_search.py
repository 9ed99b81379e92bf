"""Two ways to the optimum of soft clauses: by cores from below, by models from above."""

import threading
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
from pysat.examples.rc2 import RC2Stratified
from pysat.formula import WCNF
from pysat.solvers import Solver

from encoders.arrays import IntArray
from encoders.at_least import Item, add_up, compare
from encoders.backend import Outcome, Request, Status, StopReason
from encoders.cnf import TRUE, Clauses, Soft
from encoders.integral import IntegerCost
from encoders.problem import Problem

POLL_S = 0.02
ENGINES = {"glucose": "g4", "minisat": "m22", "cadical": "cd19"}
NO_INTERRUPT = "cd19"


class Interruptible(Protocol):
    """What a watcher stops."""

    def interrupt(self) -> None: ...


class State:
    """Best choice and bound so far."""

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
        self.choices: list[IntArray] = []
        self.upper = np.inf
        self.lower = 0.0
        self.cost = 0

    def found(self, true: set[int]) -> None:
        """Take a model."""
        levels = self._clauses.levels(true)
        distance = self._problem.distance(levels)
        if distance < self.upper and distance <= self._request.cutoff:
            self.choices.append(levels)
            self.upper = distance
            self._request.on_choice(levels)
            self._request.on_bounds(self.upper, min(self.lower, self.upper))

    def at_least(self, cost: int) -> None:
        """Take a bound on the cost of the soft clauses."""
        lower = self._costs.lower(cost + self._soft.constant)
        if lower > self.lower:
            self.cost, self.lower = cost, lower
            self._request.on_bounds(self.upper, min(lower, self.upper))

    @property
    def worth(self) -> int | None:
        """The largest cost of the soft clauses that is of interest by now, None for any."""
        worth = self._request.worth(self._problem)
        if not np.isfinite(worth):
            return None
        return self._costs.upper(worth) - self._soft.constant

    @property
    def asked_to_stop(self) -> bool:
        return self._request.stop.is_set()

    @property
    def hopeless(self) -> bool:
        """The bound alone costs too much."""
        return self.lower > self._request.worth(self._problem)

    @property
    def beaten(self) -> bool:
        """A rival's choice is better."""
        return self.upper > self._request.worth(self._problem)

    def stopped(self, build_s: float, solve_s: float) -> Outcome:
        """The outcome without a proof."""
        reason: StopReason = "interrupted" if self.asked_to_stop else "time_limit"
        return self.outcome("feasible" if self.choices else "unknown", reason, build_s, solve_s)

    def outcome(
        self, status: Status, reason: StopReason, build_s: float, solve_s: float
    ) -> Outcome:
        """The outcome as it stands."""
        held = status in ("optimal", "feasible")
        lower = self._costs.lower(self.cost + self._soft.constant)
        if status == "infeasible":
            lower = np.inf
        return Outcome(
            status=status,
            stop_reason=reason,
            choices=tuple(reversed(self.choices)) if held else (),
            upper=self.upper if held else np.inf,
            lower=min(lower, self.upper) if held else lower,
            build_s=build_s,
            solve_s=solve_s,
            raw=f"cost {self.cost}, {self._soft.n_variables} variables",
        )


def search_by_cores(
    state: State, clauses: Clauses, soft: Soft, engine: str, time_limit_s: float
) -> Outcome:
    """Stratified RC2, which proves from below."""
    began = time.perf_counter()
    formula = WCNF()
    formula.extend(clauses.hard)
    formula.extend(soft.hard)
    for literal, weight in soft.soft or [(TRUE, 1)]:  # RC2 fails where nothing costs
        formula.append([literal], weight=weight)
    with _Reporting(state.found, formula, engine) as solver:
        build_s = time.perf_counter() - began
        deadline = began + time_limit_s
        watcher = _Watcher(
            solver, state, deadline, engine != NO_INTERRUPT, lambda: state.at_least(solver.cost)
        )
        watcher.start()
        try:
            model = solver.compute(expect_interrupt=engine != NO_INTERRUPT)
        finally:
            watcher.end()
    solve_s = time.perf_counter() - began - build_s
    if model is not None:
        state.found({v for v in model if v > 0})
    if watcher.reason == "hopeless":
        return state.outcome("infeasible", "proved", build_s, solve_s)
    if watcher.interrupted:  # what it says after that proves nothing
        return state.stopped(build_s, solve_s)
    if model is None:
        return state.outcome("infeasible", "proved", build_s, solve_s)
    state.cost = solver.cost
    status: Status = "optimal" if state.choices else "infeasible"
    return state.outcome(status, "proved", build_s, solve_s)


def search_linearly(
    state: State, clauses: Clauses, soft: Soft, engine: str, time_limit_s: float
) -> Outcome:
    """Models of falling cost, the last of which is proved optimal."""
    began = time.perf_counter()
    limit = _Limit(soft)
    with Solver(name=engine, bootstrap_with=[*clauses.hard, *soft.hard, *limit.clauses]) as solver:
        if state.worth is not None:
            solver.append_formula(limit.at_most(state.worth))
        build_s = time.perf_counter() - began
        deadline = began + time_limit_s
        watcher = _Watcher(solver, state, deadline, engine != NO_INTERRUPT, lambda: None)
        watcher.start()
        try:
            cost = _undercut(solver, state, soft, limit, engine != NO_INTERRUPT)
        finally:
            watcher.end()
    solve_s = time.perf_counter() - began - build_s
    if watcher.reason:
        return state.stopped(build_s, solve_s)
    if cost is None:
        return state.outcome("infeasible", "proved", build_s, solve_s)
    state.cost = cost
    status: Status = "infeasible" if state.beaten or not state.choices else "optimal"
    return state.outcome(status, "proved", build_s, solve_s)


def _undercut(
    solver: Solver, state: State, soft: Soft, limit: "_Limit", interrupts: bool
) -> int | None:
    """Cost of the last model that could be found, None without one."""
    cost: int | None = None
    while True:
        found = solver.solve_limited(expect_interrupt=True) if interrupts else solver.solve()
        if not found:
            return cost
        true = {v for v in solver.get_model() if v > 0}
        state.found(true)
        cost = sum(weight for literal, weight in soft.soft if not _holds(literal, true))
        if cost == 0:
            return cost
        worth = state.worth
        solver.append_formula(limit.at_most(cost - 1 if worth is None else min(cost - 1, worth)))


def _holds(literal: int, true: set[int]) -> bool:
    return literal in true if literal > 0 else -literal not in true


class _Limit:
    """The cost as a binary number, and clauses that keep it low."""

    def __init__(self, soft: Soft) -> None:
        self.clauses: list[list[int]] = []
        self._top = soft.n_variables
        self._total = sum(weight for _, weight in soft.soft)
        saved = [[Item(0, [x]), Item(weight, [-x])] for x, weight in soft.soft]
        self._saved = add_up(saved, self._new, self.clauses.append)

    def _new(self) -> int:
        self._top += 1
        return self._top

    def at_most(self, cost: int) -> list[list[int]]:
        """What is saved makes up for the rest."""
        clauses: list[list[int]] = []
        minimum = self._total - cost
        if minimum > 0:
            compare(self._saved, minimum, clauses.append)
        return [clause or [-TRUE] for clause in clauses]


class _Reporting(RC2Stratified):  # type: ignore[misc]
    """RC2 that passes on the model of every finished stratum."""

    def __init__(self, found: Callable[[set[int]], None], formula: WCNF, engine: str) -> None:
        self._found = found
        super().__init__(formula, solver=engine, adapt=True, exhaust=True, minz=True)

    def finish_level(self) -> None:
        inner = self.vmap.i2e
        true = {inner[v] for v in self.oracle.get_model() or [] if v > 0 and v in inner}
        self._found(true)
        super().finish_level()


class _Watcher(threading.Thread):
    """Reads the bound, and repeats the stop until the solve is over.

    Attributes
    ----------
    reason : "asked" or "hopeless" once a stop was sent, else ""
    """

    def __init__(
        self,
        solver: Interruptible,
        state: State,
        deadline: float,
        interrupts: bool,
        look: Callable[[], None],
    ) -> None:
        super().__init__(daemon=True, name="counterfolio-maxsat-watch")
        self._solver, self._state, self._look = solver, state, look
        self._deadline, self._interrupts = deadline, interrupts
        self._over = threading.Event()
        self.reason = ""

    def run(self) -> None:
        while not self._over.wait(POLL_S):
            if not self.reason:  # RC2 takes an interrupted call for a core: its cost is then wrong
                self._look()
                if self._state.hopeless:
                    self.reason = "hopeless"
                elif self._state.asked_to_stop or time.perf_counter() >= self._deadline:
                    self.reason = "asked"
            if self.reason and self._interrupts:
                self._solver.interrupt()

    @property
    def interrupted(self) -> bool:
        """Whether the solver was told to stop."""
        return bool(self.reason) and self._interrupts

    def end(self) -> None:
        self._over.set()
        self.join()
