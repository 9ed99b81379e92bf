"""Traces of runs: the best cost over time, and its normalised error."""

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray

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
