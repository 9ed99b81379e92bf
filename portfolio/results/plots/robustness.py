"""Plot of the distance to the nearest row with a different prediction."""

import math

from matplotlib.figure import Figure

from portfolio.results.plots.ink import BLUE, RED, Picture, ink

SIZE = (6.0, 1.8)  # inches
THICK = 0.5
BEYOND = 1.15  # length of the axis, as a multiple of the largest known distance


def draw(lower_bound: float, distance: float, radius: float | None) -> Figure:
    """Draw the proved part, the undecided part and the nearest row with another prediction."""
    finite = [each for each in (lower_bound, distance, radius or 0.0) if math.isfinite(each)]
    end = BEYOND * max(finite) or 1.0
    figure = Picture(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    safe = min(lower_bound, end)
    axes.barh(
        0, safe, THICK, color=BLUE, edgecolor=BLUE, label="same prediction for all rows (proved)"
    )
    open_to = min(distance, end)
    if open_to > safe:
        rest = axes.barh(0, open_to - safe, THICK, safe, label="undecided", hatch="///")[0]
        rest.set(facecolor="none", edgecolor=ink())
    if math.isfinite(distance):
        axes.plot(distance, 0, "x", color=RED, label="row with another prediction", zorder=3)
    if radius is not None:
        axes.axvline(radius, color=ink(), linestyle="--", label="radius")
    axes.set_xlim(0, end)
    axes.set_ylim(-0.5, 0.5)
    axes.set_yticks([])
    axes.set_xlabel("distance from the row")
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return figure
