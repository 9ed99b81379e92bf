"""Quality of answers over time: the paper's normalised error of the best choice so far."""

import json
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray

GRID_S = np.geomspace(0.01, 10.0, 61)
Trace = tuple[FloatArray, FloatArray]  # seconds, and the best costs at these times


def errors(runs: pd.DataFrame, first: str, second: str, optima: dict[str, float]) -> dict[str, Any]:
    """Return the errors of two backends on the grid, for each common query with a proved optimum.

    The error of a query is 1 until the first answer and for the worst cost of the two backends. It
    is 0 at the optimum. Time counts from the call.
    """
    pairs = {}
    for query, group in runs[runs["backend"].isin((first, second))].groupby("query"):
        traces = {
            backend: _trace(text, before)
            for backend, text, before in zip(
                group["backend"], group["trace"], group["before_s"], strict=True
            )
        }
        if len(traces) == 2 and query in optima:
            pair = [traces[first], traces[second]]
            pairs[str(query)] = _normalised(pair, optima[str(query)])
    return pairs


def optima_of(runs: pd.DataFrame) -> dict[str, float]:
    """Return the least cost of each query with a proved optimum."""
    proved = runs[runs["status"] == "optimal"]
    return {
        str(query): float(cost) for query, cost in proved.groupby("query")["upper"].min().items()
    }


def _trace(text: str, before_s: float) -> Trace:
    points = [
        (seconds + before_s, cost) for seconds, cost, _ in json.loads(text) if cost is not None
    ]
    times, costs = np.array(points).reshape(-1, 2).T
    return times, np.minimum.accumulate(costs) if costs.size else costs


def _normalised(pair: list[Trace], optimum: float) -> FloatArray:
    worst = max((float(costs[0]) for _, costs in pair if costs.size), default=optimum)
    scale = worst - optimum
    rows = []
    for times, costs in pair:
        error = np.clip((costs - optimum) / scale, 0, 1) if scale > 0 else np.zeros(costs.size)
        rows.append(np.r_[1.0, error][np.searchsorted(times, GRID_S, side="right")])
    return np.array(rows)
