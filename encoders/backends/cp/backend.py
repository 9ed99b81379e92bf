"""Constraint programming with CP-SAT (section 3 of the paper)."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from ortools.sat.python import cp_model

from encoders.backends.best_so_far import BestSoFar
from encoders.backends.cp.formulations import Formulation, UnfinishedError, build
from encoders.backends.integer_cost import IntegerCost, integer_cost, solve_within_gap
from encoders.backends.interface import Outcome, Request, Solve, Status, StopReason
from encoders.backends.prepared import prepared
from encoders.backends.stopping import StopRepeater, why
from encoders.problem.problem import Problem

PUBLISHED = "published"


def prepare(problem: Problem, request: Request) -> Solve:
    """Build what does not depend on costs; see :class:`encoders.backends.interface.Prepare`."""
    return _prepared(lambda: False, problem, request)  # kept for queries that have more time


def solve(problem: Problem, request: Request) -> Outcome:
    """Solve a problem with CP-SAT; thread safe.

    Costs are rounded to integers. If that leaves a gap above 1e-9 of the answer, the problem is
    solved again with the costs magnified around the answer. So "optimal" means a real gap of at
    most 1e-9.

    ``published`` is the plain formulation under CP-SAT's default parameters, as the paper's code
    runs it. With OR-tools 9.15 their presolve sometimes cuts off optima, so its answer is never
    called a proof: stop reason "error", lower bound 0.
    """
    deadline = time.perf_counter() + request.time_limit_s

    def over() -> bool:
        return request.stop.is_set() or time.perf_counter() >= deadline

    try:
        return prepared(partial(_prepared, over), problem, request)
    except UnfinishedError:
        spent = time.perf_counter() - deadline + request.time_limit_s
        return BestSoFar(problem, request).ended(why(request), spent, 0.0, "not started")


def _prepared(over: Callable[[], bool], problem: Problem, request: Request) -> Solve:
    return partial(_solve, build(problem, request.formulation or "order", over))


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
    best = BestSoFar(problem, request)
    model, objective = formulation.priced(costs.cost, problem.aggregate)
    if np.isfinite(request.cutoff):
        model.add(objective <= costs.upper(request.cutoff))
    build_s = time.perf_counter() - began
    remaining_s = request.time_limit_s - build_s
    if remaining_s <= 0 or request.stop.is_set():
        return best.ended(why(request), build_s, 0.0, "not started")
    solver = _solver(request, remaining_s)
    solver.best_bound_callback = lambda bound: best.at_least(costs.lower(bound))
    with StopRepeater(request.stop.is_set, solver.stop_search):
        code = solver.solve(model, _Recorder(formulation, best))
    solve_s = time.perf_counter() - began - build_s
    raw = str(getattr(code, "name", code))
    if code == cp_model.OPTIMAL:
        return best.proved(build_s, solve_s, raw, costs.lower(solver.best_objective_bound))
    if code == cp_model.INFEASIBLE:
        return best.nothing(build_s, solve_s, raw)
    best.lower = max(best.lower, costs.lower(solver.best_objective_bound))
    reason: StopReason = "error" if code == cp_model.MODEL_INVALID else why(request)
    return best.ended(reason, build_s, solve_s, raw)


def _solver(request: Request, time_limit_s: float) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = time_limit_s
    solver.parameters.num_workers = request.threads
    solver.parameters.random_seed = request.seed
    solver.parameters.catch_sigint_signal = False
    # Presolve costs more than it saves on the order encoding, and on the plain formulation that
    # of OR-tools 9.15 cuts off optima: it would make a wrong proof, so it is off for both.
    solver.parameters.cp_model_presolve = request.formulation == PUBLISHED
    return solver


class _Recorder(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
    """Hands on the solutions found; called under the solver's own lock."""

    def __init__(self, formulation: Formulation, best: BestSoFar) -> None:
        super().__init__()
        self._formulation, self._best = formulation, best

    def on_solution_callback(self) -> None:
        values = np.array([self.value(v) for v in self._formulation.tracked], dtype=np.int64)
        self._best.found(self._formulation.read(values))
