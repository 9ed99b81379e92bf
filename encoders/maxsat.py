"""Weighted partial MaxSAT with PySAT's RC2 (appendix B of the paper)."""

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from pysat.examples.rc2 import RC2Stratified
from pysat.formula import WCNF

from encoders.arrays import IntArray
from encoders.backend import Outcome, Request, Status, StopReason
from encoders.cnf import TRUE, Clauses, write_clauses
from encoders.integral import IntegerCost, solve_within_gap
from encoders.problem import Problem

POLL_S = 0.02
ENGINES = {"glucose": "g4", "minisat": "m22", "cadical": "cd19"}


def solve(problem: Problem, request: Request) -> Outcome:
    """Core-guided search: stratified RC2 on incremental SAT.

    The formulation names the SAT engine. Unsatisfiable cores raise the lower bound; every stratum
    that is done leaves a model, which may lower the upper bound. Costs are rounded to whole
    numbers; "optimal" means a real gap of at most 1e-9. CaDiCaL can't be interrupted: run it in a
    worker.
    """
    return solve_within_gap(problem, request, _solve_rounded)


def _solve_rounded(problem: Problem, request: Request, costs: IntegerCost) -> Outcome:
    began = time.perf_counter()
    engine = ENGINES[request.formulation or "glucose"]
    clauses = write_clauses(problem, costs.cost)
    formula = WCNF()
    formula.extend(clauses.hard)
    for literal, weight in clauses.soft or [(TRUE, 1)]:  # RC2 fails where nothing costs
        formula.append([literal], weight=weight)
    state = _State(problem, request, clauses, costs)
    build_s = time.perf_counter() - began
    if request.stop.is_set() or build_s >= request.time_limit_s:
        return state.outcome("unknown", _reason(request), build_s, 0.0)
    if not all(clauses.hard):
        return state.outcome("infeasible", "proved", build_s, 0.0)
    with _Reporting(state.found, formula, engine) as solver:
        watcher = _Watcher(solver, state, began + request.time_limit_s, engine != "cd19")
        watcher.start()
        try:
            model = solver.compute(expect_interrupt=engine != "cd19")
        finally:
            watcher.end()
    solve_s = time.perf_counter() - began - build_s
    if model is not None:
        state.found({v for v in model if v > 0})
        state.cost = solver.cost
        status: Status = "optimal" if state.choices else "infeasible"
        return state.outcome(status, "proved", build_s, solve_s)
    if watcher.stopped in (None, "cutoff"):
        return state.outcome("infeasible", "proved", build_s, solve_s)
    status = "feasible" if state.choices else "unknown"
    return state.outcome(status, _reason(request), build_s, solve_s)


def _reason(request: Request) -> StopReason:
    return "interrupted" if request.stop.is_set() else "time_limit"


class _State:
    """Best choice and bound so far."""

    def __init__(
        self, problem: Problem, request: Request, clauses: Clauses, costs: IntegerCost
    ) -> None:
        self._problem, self._request = problem, request
        self._clauses, self._costs = clauses, costs
        self.choices: list[IntArray] = []
        self.upper = np.inf
        self.lower = 0.0
        self.cost = 0

    def found(self, true: set[int]) -> None:
        levels = self._clauses.levels(true)
        distance = self._problem.distance(levels)
        if distance < self.upper and distance <= self._request.cutoff:
            self.choices.append(levels)
            self.upper = distance
            self._request.on_choice(levels)
            self._request.on_bounds(self.upper, min(self.lower, self.upper))

    def cores(self, cost: int) -> None:
        lower = self._costs.lower(cost + self._clauses.constant)
        if lower > self.lower:
            self.cost, self.lower = cost, lower
            self._request.on_bounds(self.upper, min(lower, self.upper))

    @property
    def asked_to_stop(self) -> bool:
        return self._request.stop.is_set()

    @property
    def hopeless(self) -> bool:
        """The cores alone cost more than the cutoff."""
        return self.lower > self._request.cutoff

    def outcome(
        self, status: Status, reason: StopReason, build_s: float, solve_s: float
    ) -> Outcome:
        held = status in ("optimal", "feasible")
        lower = self._costs.lower(self.cost + self._clauses.constant)
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
            raw=f"cost {self.cost}, {self._clauses.n_variables} variables",
        )


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
    """Reads the bound, and repeats the stop until the solve is over."""

    def __init__(self, solver: Any, state: _State, deadline: float, interrupts: bool) -> None:
        super().__init__(daemon=True, name="counterfolio-maxsat-watch")
        self._solver, self._state = solver, state
        self._deadline, self._interrupts = deadline, interrupts
        self._over = threading.Event()
        self.stopped: str | None = None

    def run(self) -> None:
        while not self._over.wait(POLL_S):
            self._state.cores(self._solver.cost)
            if self._state.hopeless:
                self.stopped = "cutoff"
            elif self._state.asked_to_stop or time.perf_counter() >= self._deadline:
                self.stopped = self.stopped or "asked"
            if self.stopped and self._interrupts:
                self._solver.interrupt()

    def end(self) -> None:
        self._over.set()
        self.join()
