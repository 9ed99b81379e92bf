"""HiGHS as an engine for linear models."""

import time
from typing import Any

import highspy
import numpy as np

from encoders.backends.milp.engine import End, EngineRequest, Finish
from encoders.backends.milp.linear_model import LinearModel

FEASIBILITY = 1e-9  # absolute, in rows with weights of at most 1; see docs/reference/tolerances.md


def run(model: LinearModel, request: EngineRequest) -> Finish:
    """Solve with HiGHS; see :class:`encoders.backends.milp.engine.Engine`."""
    if model.cost.size == 0:  # HiGHS does not look at the rows of a model without columns
        holds = bool((model.lower <= 0).all() and (model.upper >= 0).all())
        return Finish("optimal" if holds else "infeasible", np.zeros(0), model.offset, 0.0, "empty")
    highs = _highs(request)
    _pass(highs, model)
    _listen(highs, request)
    began = time.perf_counter()
    if highs.run() == highspy.HighsStatus.kError:
        # All solves of a process share threads that are started once: another number of them
        # is refused until they are given up.
        highspy.Highs.resetGlobalScheduler(True)
        highs.run()
    seconds = time.perf_counter() - began
    status = highs.getModelStatus()
    info = highs.getInfo()
    ends: dict[object, End] = {
        highspy.HighsModelStatus.kOptimal: "optimal",
        highspy.HighsModelStatus.kInfeasible: "infeasible",
        highspy.HighsModelStatus.kObjectiveBound: "infeasible",
        highspy.HighsModelStatus.kUnboundedOrInfeasible: "infeasible",
        highspy.HighsModelStatus.kTimeLimit: "time_limit",
        highspy.HighsModelStatus.kInterrupt: "interrupted",
        highspy.HighsModelStatus.kHighsInterrupt: "interrupted",
    }
    end = ends.get(status, "error")
    x = np.array(highs.getSolution().col_value) if end == "optimal" else None
    words = highs.modelStatusToString(status)
    raw = f"HiGHS {highs.version()}: {words}, {info.mip_node_count} nodes"
    return Finish(end, x, float(info.mip_dual_bound), seconds, raw)


def _highs(request: EngineRequest) -> Any:
    """HiGHS with its options set."""
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("time_limit", max(request.time_limit_s, 0.0))
    highs.setOptionValue("threads", request.threads)
    highs.setOptionValue("random_seed", request.seed)
    # With presolve HiGHS 1.12 proves wrong optima on some models (1 in 6,000 small ones).
    highs.setOptionValue("presolve", "off")
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_abs_gap", request.gap)
    highs.setOptionValue("mip_feasibility_tolerance", FEASIBILITY)
    highs.setOptionValue("primal_feasibility_tolerance", FEASIBILITY)
    highs.setOptionValue("dual_feasibility_tolerance", FEASIBILITY)
    if np.isfinite(request.cutoff):
        highs.setOptionValue("objective_bound", request.cutoff)
    return highs


def _pass(highs: Any, model: LinearModel) -> None:
    matrix = model.matrix
    n_rows, n_columns = matrix.shape
    highs.passModel(
        n_columns,
        n_rows,
        matrix.nnz,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        model.offset,
        model.cost,
        np.zeros(n_columns),
        model.ceiling,
        model.lower,
        model.upper,
        matrix.indptr.astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data,
        model.integer.astype(np.int32),
    )


def _listen(highs: Any, request: EngineRequest) -> None:
    def improved(event: Any) -> None:
        request.on_solution(np.array(event.data_out.mip_solution))

    def interrupted(event: Any) -> None:
        request.on_bound(float(event.data_out.mip_dual_bound))
        if request.stop.is_set():
            event.interrupt()

    def simplex(event: Any) -> None:
        if request.stop.is_set():
            event.interrupt()

    highs.cbMipImprovingSolution.subscribe(improved)
    highs.cbMipInterrupt.subscribe(interrupted)
    highs.cbSimplexInterrupt.subscribe(simplex)
