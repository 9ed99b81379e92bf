"""Constraint programming with CP-SAT (section 3 of the paper)."""

import threading
import time
from dataclasses import replace
from functools import partial

import numpy as np
from ortools.sat.python import cp_model

from encoders.arrays import IntArray
from encoders.backend import Outcome, Request, Solve, Status, StopReason
from encoders.cp_formulations import Formulation, build
from encoders.integral import IntegerCost, integer_cost, solve_within_gap
from encoders.kept import prepared
from encoders.problem import Problem

STOP_POLL_S = 0.02
KEPT_CHOICES = 20
PUBLISHED = "published"


def prepare(problem: Problem, request: Request) -> Solve:
    """Build what does not depend on costs; see :class:`encoders.backend.Prepare`."""
    formulation = build(problem, request.formulation or "order")
    return partial(_solve, formulation)


def solve(problem: Problem, request: Request) -> Outcome:
    """Solve a problem with CP-SAT.

    Costs are rounded to integers. Should that leave a gap above 1e-9 of the answer, the problem
    is solved again with the costs magnified around the answer, so "optimal" means a real gap of
    at most 1e-9.

    ``published`` is the plain formulation under CP-SAT's default parameters, as the paper's code
    runs it. With OR-tools 9.15 their presolve cuts off optima now and then, so its answer is never
    called a proof: stop reason "error", lower bound 0.
    """
    return prepared(prepare, problem, request)


def _solve(formulation: Formulation, problem: Problem, request: Request) -> Outcome:
    attempt = partial(_solve_rounded, formulation)
    if request.formulation == PUBLISHED:
        return _unproved(attempt(problem, request, integer_cost(problem, request.cutoff)))
    return solve_within_gap(problem, request, attempt)


def _unproved(outcome: Outcome) -> Outcome:
    reason: StopReason = "error" if outcome.stop_reason == "proved" else outcome.stop_reason
    status: Status = "feasible" if outcome.choices else "unknown"
    return replace(outcome, status=status, stop_reason=reason, lower=0.0)


def _solve_rounded(
    formulation: Formulation, problem: Problem, request: Request, costs: IntegerCost
) -> Outcome:
    began = time.perf_counter()
    model, objective = formulation.priced(costs.cost, problem.aggregate)
    if np.isfinite(request.cutoff):
        model.add(objective <= costs.upper(request.cutoff))
    if request.hint is not None:
        values = formulation.hint(request.hint).tolist()
        for variable, value in zip(formulation.tracked, values, strict=True):
            model.add_hint(variable, value)
    build_s = time.perf_counter() - began
    left = request.time_limit_s - build_s
    if left <= 0 or request.stop.is_set():
        reason: StopReason = "interrupted" if request.stop.is_set() else "time_limit"
        return Outcome("unknown", reason, (), np.inf, 0.0, build_s, 0.0, "not started")
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = left
    solver.parameters.num_workers = request.threads
    solver.parameters.random_seed = request.seed
    solver.parameters.catch_sigint_signal = False
    # Presolve costs more than it saves on the order encoding, and on the plain formulation that
    # of OR-tools 9.15 cuts off optima: it would make a wrong proof, so it is off for both.
    solver.parameters.cp_model_presolve = request.formulation == PUBLISHED
    recorder = _Recorder(problem, formulation, costs, request)
    solver.best_bound_callback = recorder.on_lower
    watcher = _StopWatcher(solver, request.stop)
    watcher.start()
    try:
        code = solver.solve(model, recorder)
    finally:
        watcher.end()
    return _outcome(solver, code, recorder, costs, request, build_s, began)


def _outcome(
    solver: cp_model.CpSolver,
    code: object,
    recorder: "_Recorder",
    costs: IntegerCost,
    request: Request,
    build_s: float,
    began: float,
) -> Outcome:
    status: Status
    reason: StopReason = "proved"
    if code == cp_model.OPTIMAL:
        status = "optimal"
    elif code == cp_model.INFEASIBLE:
        status = "infeasible"
    else:
        status = "feasible" if recorder.choices else "unknown"
        reason = "interrupted" if request.stop.is_set() else "time_limit"
        if code == cp_model.MODEL_INVALID:
            reason = "error"
    lower = np.inf if status == "infeasible" else costs.lower(solver.best_objective_bound)
    return Outcome(
        status=status,
        stop_reason=reason,
        choices=tuple(reversed(recorder.choices)),
        upper=recorder.upper,
        lower=min(lower, recorder.upper) if status != "infeasible" else lower,
        build_s=build_s,
        solve_s=time.perf_counter() - began - build_s,
        raw=str(getattr(code, "name", code)),
    )


class _Recorder(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
    """Keeps the solutions found and passes bounds on; called under the solver's own lock."""

    def __init__(
        self, problem: Problem, formulation: Formulation, costs: IntegerCost, request: Request
    ) -> None:
        super().__init__()
        self._problem = problem
        self._formulation = formulation
        self._costs = costs
        self._on_choice = request.on_choice
        self._on_bounds = request.on_bounds
        self._lower = 0.0
        self.choices: list[IntArray] = []
        self.upper = float("inf")

    def on_solution_callback(self) -> None:
        values = np.array([self.value(v) for v in self._formulation.tracked], dtype=np.int64)
        levels = self._formulation.read(values)
        distance = self._problem.distance(levels)
        if distance <= self.upper:
            self.choices = [*self.choices[1 - KEPT_CHOICES :], levels]
            self.upper = distance
            self._on_choice(levels)
            self._on_bounds(self.upper, min(self._lower, self.upper))

    def on_lower(self, bound: float) -> None:
        lower = self._costs.lower(bound)
        if lower > self._lower:
            self._lower = lower
            self._on_bounds(self.upper, min(lower, self.upper))


class _StopWatcher(threading.Thread):
    """Repeats the stop until the solve is over: one sent before it has begun is lost."""

    def __init__(self, solver: cp_model.CpSolver, stop: threading.Event) -> None:
        super().__init__(daemon=True, name="counterfolio-cp-stop")
        self._solver = solver
        self._stop_asked = stop
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(STOP_POLL_S):
            if self._stop_asked.is_set():
                self._solver.stop_search()

    def end(self) -> None:
        self._over.set()
        self.join()
