"""Plot of a trade-off curve."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from portfolio.results.plots.ink import BLUE, Picture, ground, ink

SIZE = (5.0, 3.2)  # inches
WORDS = {
    "changes": "most changes",
    "probability": "least probability",
    "plausibility": "least score of the isolation forest",
}

Place = tuple[float, float, str]  # level, distance and status of a point


def draw(by: Literal["changes", "probability", "plausibility"], places: Sequence[Place]) -> Figure:
    """Draw cost against level: filled points are proved, crosses are out of reach."""
    figure = Picture(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    level, cost = (np.array([p[at] for p in sorted(places)], dtype=np.float64) for at in (0, 1))
    status = np.array([place[2] for place in sorted(places)])
    found, proved = np.isfinite(cost), status == "optimal"
    axes.step(
        level[found],
        cost[found],
        where="post" if by == "changes" else "pre",
        color=BLUE,
        alpha=0.5,
    )
    axes.plot(level[found & proved], cost[found & proved], "o", color=BLUE, label="proved")
    weaker, out = found & ~proved, level[status == "infeasible"]
    if weaker.any():
        axes.plot(level[weaker], cost[weaker], "o", mfc=ground(), color=BLUE, label="found")
    if out.size:
        axes.plot(out, np.zeros(out.size), "x", color=ink(), label="out of reach")
    if by == "changes":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(WORDS[by])
    axes.set_ylabel("distance")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure
