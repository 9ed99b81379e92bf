"""Weighted partial MaxSAT with PySAT (appendix B of the paper).

``cores``
    Core-guided search, stratified RC2: unsatisfiable cores raise the lower bound, the model of
    every finished stratum may lower the upper bound.
``linear``
    Linear SAT-UNSAT search: every model found must be undercut by the next one; when there is
    none, the last one is optimal. Starts from the incumbent's cost; no lower bound before the end.
"""

import time
from dataclasses import replace
from functools import partial

from encoders.backends.integer_cost import IntegerCost, solve_within_gap
from encoders.backends.interface import Outcome, Request, Solve
from encoders.backends.maxsat.clauses import Clauses, write_clauses, write_soft
from encoders.backends.maxsat.cores import search_by_cores
from encoders.backends.maxsat.linear import search_linearly
from encoders.backends.maxsat.state import ENGINES, State
from encoders.backends.prepared import prepared
from encoders.problem.problem import Problem


def prepare(problem: Problem, request: Request) -> Solve:
    """Write what does not depend on costs; see :class:`encoders.backends.interface.Prepare`."""
    return partial(_solve, write_clauses(problem))


def solve(problem: Problem, request: Request) -> Outcome:
    """Solve a problem as weighted partial MaxSAT.

    The engine is the SAT solver. Costs are rounded to whole numbers; "optimal" means a real gap of
    at most 1e-9. CaDiCaL can't be interrupted: run it in a worker.

    Thread safe.
    """
    return prepared(prepare, problem, request)


def _solve(clauses: Clauses, problem: Problem, request: Request) -> Outcome:
    return solve_within_gap(problem, request, partial(_solve_rounded, clauses))


def _solve_rounded(
    clauses: Clauses, problem: Problem, request: Request, costs: IntegerCost
) -> Outcome:
    began = time.perf_counter()
    soft = write_soft(clauses, problem, costs.cost)
    state = State(problem, request, clauses, soft, costs)
    build_s = time.perf_counter() - began
    if request.stop.is_set() or build_s >= request.time_limit_s:
        return state.stopped(build_s, 0.0)
    if not all(clauses.hard):
        return state.nothing(build_s, 0.0)
    search = search_linearly if request.formulation == "linear" else search_by_cores
    remaining_s = request.time_limit_s - build_s
    outcome = search(state, clauses, soft, ENGINES[request.engine or "glucose"], remaining_s)
    return replace(outcome, build_s=build_s + outcome.build_s)
