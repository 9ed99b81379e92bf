"""Gurobi as an engine for linear models.

The package brings a licence for models of up to 2,000 columns and rows; larger ones need one of
the user's own.
"""

import time
from collections.abc import Callable

import gurobipy as gp
import numpy as np

from encoders.backends.milp.engine import End, EngineRequest, Finish
from encoders.backends.milp.linear_model import LinearModel
from encoders.core.errors import UnavailableBackendError

TOLERANCE = 1e-9  # absolute; appendix D of the paper, and the tightest that Gurobi takes
SIZE_LIMIT = 2000  # columns, and rows, of the licence that comes with the package
TOO_LARGE = 10010  # Gurobi's error code for a model over the size limit


def run(model: LinearModel, request: EngineRequest) -> Finish:
    """Solve with Gurobi; see :class:`encoders.backends.milp.engine.Engine`."""
    began = time.perf_counter()
    try:
        with _environment(request) as env, gp.Model(env=env) as native:
            columns = _pass(native, model)
            native.optimize(_callback(columns, request))
            return _finish(native, columns, time.perf_counter() - began)
    except gp.GurobiError as error:
        raise _refused(model, error) from error


def licence() -> str:
    """Start Gurobi and return a description of what its licence allows."""
    try:
        with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as native:
            native.addMVar(SIZE_LIMIT + 1)
            native.optimize()
    except gp.GurobiError as error:
        if error.errno == TOO_LARGE:
            return f"size-limited licence, models up to {SIZE_LIMIT} x {SIZE_LIMIT}"
        return f"no licence ({_words(error)})"
    return "full licence"


def _environment(request: EngineRequest) -> gp.Env:
    parameters: dict[str, float | int] = {
        "OutputFlag": 0,
        "TimeLimit": max(request.time_limit_s, 0.0),
        "Threads": request.threads,
        "Seed": request.seed,
        "MIPGap": 0.0,
        "MIPGapAbs": request.gap,
        "FeasibilityTol": TOLERANCE,
        "IntFeasTol": TOLERANCE,
        "OptimalityTol": TOLERANCE,
        "IntegralityFocus": 1,
    }
    if np.isfinite(request.cutoff):
        parameters["Cutoff"] = request.cutoff
    return gp.Env(params=parameters)


def _pass(native: gp.Model, model: LinearModel) -> gp.MVar:
    kinds = np.where(model.integer, gp.GRB.INTEGER, gp.GRB.CONTINUOUS)
    columns = native.addMVar(model.cost.size, lb=0.0, ub=model.ceiling, obj=model.cost, vtype=kinds)
    native.ObjCon = model.offset
    equal = model.lower == model.upper
    for mask, sense, bound in (
        (equal, "=", model.lower),
        (~equal & np.isfinite(model.lower), ">", model.lower),
        (~equal & np.isfinite(model.upper), "<", model.upper),
    ):
        rows = np.flatnonzero(mask)
        if rows.size:
            native.addMConstr(model.matrix[rows], columns, sense, bound[rows])
    return columns


def _callback(columns: gp.MVar, request: EngineRequest) -> Callable[[gp.Model, int], None]:
    def call(native: gp.Model, where: int) -> None:
        if where == gp.GRB.Callback.MIPSOL:
            request.on_solution(np.array(native.cbGetSolution(columns)))
        elif where == gp.GRB.Callback.MIP:
            request.on_bound(float(native.cbGet(gp.GRB.Callback.MIP_OBJBND)))
        if request.stop.is_set():
            native.terminate()

    return call


def _finish(native: gp.Model, columns: gp.MVar, seconds: float) -> Finish:
    ends: dict[int, End] = {
        gp.GRB.OPTIMAL: "optimal",
        gp.GRB.INFEASIBLE: "infeasible",
        gp.GRB.INF_OR_UNBD: "infeasible",
        gp.GRB.CUTOFF: "infeasible",
        gp.GRB.TIME_LIMIT: "time_limit",
        gp.GRB.INTERRUPTED: "interrupted",
        gp.GRB.MEM_LIMIT: "memory_limit",
    }
    end = ends.get(native.Status, "error")
    x = np.array(columns.X) if end == "optimal" else None
    bound = float(native.ObjBound) if end != "infeasible" else np.inf
    version = ".".join(str(part) for part in gp.gurobi.version())
    raw = f"Gurobi {version}: status {native.Status}, {native.NodeCount:.0f} nodes"
    return Finish(end, x, bound, seconds, raw)


def _refused(model: LinearModel, error: gp.GurobiError) -> Exception:
    if error.errno == TOO_LARGE:
        rows, columns = model.matrix.shape
        return UnavailableBackendError(
            f"a model of {columns} columns and {rows} rows is over the {SIZE_LIMIT} x "
            f"{SIZE_LIMIT} of Gurobi's size-limited licence; install a licence, or use "
            "backend='milp/highs'."
        )
    return UnavailableBackendError(f"Gurobi can't be used: {_words(error)}.")


def _words(error: gp.GurobiError) -> str:
    return str(error).rstrip(".")
