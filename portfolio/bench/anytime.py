"""Quality of answers over time: the paper's normalised error of the best choice so far."""

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray

GRID_S = np.geomspace(0.01, 10.0, 61)
Trace = tuple[FloatArray, FloatArray]  # seconds since the call, and the best costs at these times


def traces_of(
    runs: pd.DataFrame, name: str, before_s: "pd.Series[float]"
) -> Iterator[tuple[str, Trace]]:
    """Yield a column and the trace of each run; ``before_s`` is added to its seconds."""
    for label, text, before in zip(runs[name], runs["trace"], before_s, strict=True):
        points = [(at + before, cost) for at, cost, _ in json.loads(text) if cost is not None]
        times, costs = np.array(points).reshape(-1, 2).T
        yield label, (times, np.minimum.accumulate(costs))


def worst_of(traces: dict[str, Trace], best: float) -> float:
    """Return the largest cost of all traces, ``best`` without any."""
    return max((float(costs[0]) for _, costs in traces.values() if costs.size), default=best)


def error_at(grid: FloatArray, trace: Trace, best: float, worst: float) -> FloatArray:
    """Return the error at some times: 1 before the first answer and at the worst, 0 at the best."""
    times, costs = trace
    scale = worst - best
    error = np.clip((costs - best) / scale, 0, 1) if scale > 0 else np.zeros(costs.size)
    return np.asarray(np.r_[1.0, error][np.searchsorted(times, grid, side="right")])


def errors(
    runs: pd.DataFrame, first: str, second: str, optima: dict[str, float]
) -> dict[str, FloatArray]:
    """Return the errors of two backends on the grid, for each common query with a proved optimum.

    The error of a query is 1 until the first answer and for the worst cost of the two backends. It
    is 0 at the optimum. Time counts from the call.
    """
    pairs = {}
    for query, group in runs[runs["backend"].isin((first, second))].groupby("query"):
        traces = dict(traces_of(group, "backend", group["before_s"]))
        if len(traces) == 2 and query in optima:
            best = optima[str(query)]
            worst = worst_of(traces, best)
            pairs[str(query)] = np.array(
                [error_at(GRID_S, traces[name], best, worst) for name in (first, second)]
            )
    return pairs


def optima_of(runs: pd.DataFrame) -> dict[str, float]:
    """Return the least cost of each query with a proved optimum."""
    proved = runs[runs["status"] == "optimal"]
    return {
        str(query): float(cost) for query, cost in proved.groupby("query")["upper"].min().items()
    }
