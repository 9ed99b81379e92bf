"""Plot of the bounds of an answer over time."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from portfolio.plots.ink import BLUE, RED
from portfolio.plots.picture import Picture

SIZE = (6.0, 3.2)  # inches


def draw(trace: Sequence[tuple[float, float, float]]) -> Figure:
    """Draw the distance of the best answer and the proved lower bound over time."""
    seconds, upper, lower = (np.array(part, dtype=np.float64) for part in zip(*trace, strict=True))
    upper[~np.isfinite(upper)] = np.nan
    none = np.isinf(lower)
    lower[none] = np.nan
    figure = Picture(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    for bound, colour, mark, line, words in (
        (upper, BLUE, "o", "-", "best answer so far"),
        (lower, RED, "^", "--", "lower bound (proved)"),
    ):
        look = f"{mark}{line}"
        axes.step(seconds, bound, look, where="post", color=colour, label=words, markersize=4)
    axes.fill_between(seconds, lower, upper, step="post", color=BLUE, alpha=0.1)
    if none.any():
        axes.axvline(seconds[none][0], color=RED, linestyle=":", label="infeasible (proved)")
    axes.set_xlabel("seconds since the call")
    axes.set_ylabel("distance")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure
