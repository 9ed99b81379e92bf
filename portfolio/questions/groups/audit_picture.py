"""Plot of an audit."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from portfolio.questions.groups.audit_statistics import Estimate
from portfolio.results.plots.ink import BLUE, Picture, name_lines

WIDTH, HEIGHT, PER_GROUP = 7.0, 1.2, 0.35  # inches


def draw(
    names: Sequence[str], means: Sequence[Estimate | None], shares: Sequence[Estimate | None]
) -> Figure:
    """Draw mean costs and shares without recourse; thick lines are ranges of unproved numbers."""
    figure = Picture(figsize=(WIDTH, HEIGHT + PER_GROUP * len(names)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, estimates, words in (
        (left, means, "mean cost of recourse"),
        (right, shares, "share without recourse"),
    ):
        for at, estimate in enumerate(estimates):
            if estimate is not None:
                _draw(axes, at, estimate)
        axes.set_xlabel(words)
        axes.set_xlim(left=0)
        axes.grid(axis="x", alpha=0.3)
    name_lines(left, names)
    return figure


def _draw(axes: Axes, at: int, estimate: Estimate) -> None:
    if estimate.ci_low is not None and estimate.ci_high is not None:
        axes.plot([estimate.ci_low, estimate.ci_high], [at, at], "-", color=BLUE, alpha=0.5)
    if estimate.exact:
        axes.plot([estimate.low], [at], "o", color=BLUE)
    else:
        axes.plot([estimate.low, estimate.high], [at, at], "-", color=BLUE, linewidth=4)
