"""Quality of answers over time: the paper's normalised error of the best choice so far."""

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray
from portfolio.bench.traces import error_at, traces_of, worst_of

GRID_S = np.geomspace(0.01, 10.0, 61)


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
