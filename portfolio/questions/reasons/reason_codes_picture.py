"""A picture of the principal reasons of a decision."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from portfolio.plots.ink import BLUE, name_lines
from portfolio.plots.picture import Picture

WIDTH, LINE, MARGIN = 5.0, 0.4, 0.8  # inches: of the picture, of a reason, above and below


def draw(reasons: Sequence[tuple[str, float, bool]]) -> Figure:
    """A bar per reason, as long as the cost of its change: the shorter, the weightier.

    Parameters
    ----------
    reasons : feature, cost, and whether its change alone is enough; the first one first
    """
    figure = Picture(figsize=(WIDTH, MARGIN + LINE * len(reasons)), layout="constrained")
    axes = figure.subplots()
    for at, (_, cost, alone) in enumerate(reasons):
        inside, hatch = (BLUE, "") if alone else ("none", "///")
        axes.barh(at, cost, height=0.6, facecolor=inside, edgecolor=BLUE, hatch=hatch)
    name_lines(axes, [f"{at}. {name}" for at, (name, _, _) in enumerate(reasons, 1)])
    axes.set_xlabel("distance (hatched: only together with others)")
    axes.set_xlim(left=0)
    axes.grid(axis="x", alpha=0.3)
    return figure
