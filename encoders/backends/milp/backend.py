"""Mixed-integer linear programming, with HiGHS or Gurobi."""

import contextlib
import importlib
import importlib.util
import time
from functools import partial
from typing import cast

import numpy as np

from encoders.backends.best_so_far import BestSoFar
from encoders.backends.interface import Outcome, Request, Solve
from encoders.backends.milp.engine import Engine, EngineRequest, Finish
from encoders.backends.milp.linear_model import LinearModel, Structure, build, levels_of, price
from encoders.backends.prepared import prepared
from encoders.backends.stopping import why
from encoders.core.arrays import FloatArray
from encoders.core.errors import UnavailableBackendError
from encoders.problem.problem import Problem

GAP = 1e-6  # objective units: the optimum is at about 1e3 of them
RELATIVE_GAP = 1e-6  # of the answer, as spec.py declares
ENGINES = {
    "highs": "encoders.backends.milp.highs",
    "gurobi": "encoders.backends.milp.gurobi",
}


def prepare(problem: Problem, request: Request) -> Solve:
    """Build what does not depend on costs; see :class:`encoders.backends.interface.Prepare`."""
    return partial(_solve, build(problem, request.formulation or "tight"))


def solve(problem: Problem, request: Request) -> Outcome:
    """Solve a problem as a mixed-integer linear program.

    The engines compute in float64 within tolerances. Every solution is read as levels and checked
    in exact integers. One that does not hold is cut off, and the search goes on: until then its
    bound is that of a relaxation, and stays valid. "optimal" means a gap of at most 1e-6 of the
    answer, as far as the engine's arithmetic goes.
    """
    return prepared(prepare, problem, request)


def _solve(structure: Structure, problem: Problem, request: Request) -> Outcome:
    began = time.perf_counter()
    engine = _engine(request.engine)
    best = BestSoFar(problem, request, request.cutoff)
    build_s = solve_s = 0.0
    current, cutoff = problem, request.cutoff
    while True:
        built = time.perf_counter()
        model = price(structure, current, cutoff)
        build_s += time.perf_counter() - built
        remaining_s = request.time_limit_s - (time.perf_counter() - began)
        if remaining_s <= 0 or request.stop.is_set():
            return best.ended(why(request), build_s, solve_s, "not started")
        finish = engine(model, _asked(current, model, request, cutoff, best, remaining_s))
        solve_s += finish.seconds
        if finish.end != "infeasible":
            _take_bound(best, model, request, finish.bound)
        if finish.end != "optimal" or finish.x is None:
            break
        levels = levels_of(current, finish.x)
        if not current.admits(levels):
            current = current.without(levels)
            structure = build(current, request.formulation or "tight")
            continue
        best.found(levels)
        # Tolerances are absolute: the answer must be large in the model's units.
        if RELATIVE_GAP * best.upper * model.scale >= GAP or cutoff <= best.upper:
            break
        cutoff = best.upper
    if finish.end == "optimal" or finish.end == "infeasible":
        return best.proved(build_s, solve_s, finish.raw)
    return best.ended(finish.end, build_s, solve_s, finish.raw)


def _engine(name: str) -> Engine:
    """Gurobi where there is a licence that fits the model, unless an engine is asked for."""
    if name in ("", "auto"):
        return _gurobi_or_highs
    return cast(Engine, importlib.import_module(ENGINES[name]).run)


def _gurobi_or_highs(model: LinearModel, request: EngineRequest) -> Finish:
    if importlib.util.find_spec("gurobipy") is not None:
        with contextlib.suppress(UnavailableBackendError):
            return _engine("gurobi")(model, request)
    return _engine("highs")(model, request)


def _asked(
    problem: Problem,
    model: LinearModel,
    request: Request,
    cutoff: float,
    best: BestSoFar,
    time_limit_s: float,
) -> EngineRequest:
    def on_solution(x: FloatArray) -> None:
        levels = levels_of(problem, x)
        if problem.admits(levels):
            best.found(levels)

    return EngineRequest(
        time_limit_s=time_limit_s,
        threads=request.threads,
        seed=request.seed,
        cutoff=cutoff * model.scale + GAP,
        gap=GAP,
        stop=request.stop,
        on_solution=on_solution,
        on_bound=lambda bound: _take_bound(best, model, request, bound),
    )


def _take_bound(best: BestSoFar, model: LinearModel, request: Request, bound: float) -> None:
    """Record a bound on the model's objective as a lower bound on the problem's cost."""
    if np.isfinite(bound):
        best.at_least(min((bound - GAP) / model.scale, request.cutoff))
