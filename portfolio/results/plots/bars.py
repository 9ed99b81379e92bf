"""Bar chart of a few numbers with labels."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from portfolio.results.plots.ink import BLUE, RED, Picture, name_lines
from portfolio.results.printing import short

WIDTH, LINE, MARGIN = 6.0, 0.4, 0.8  # inches of the plot, of a bar, and of the margins


@dataclass(frozen=True)
class Bar:
    """Bar of the chart."""

    words: str  # label of the bar
    length: float  # value of the bar
    full: bool = True  # whether the bar is filled or hatched
    instead: str = ""  # text in the place of the number, "" to print the number


def draw(bars: Sequence[Bar], unit: str, bound: float | None = None) -> Figure:
    """Draw a bar for each number, the first one at the top."""
    figure = Picture(figsize=(WIDTH, MARGIN + LINE * len(bars)), layout="constrained")
    axes = figure.subplots()
    for at, bar in enumerate(bars):
        inside, hatch = (BLUE, "") if bar.full else ("none", "///")
        axes.barh(at, bar.length, height=0.6, facecolor=inside, edgecolor=BLUE, hatch=hatch)
        text = bar.instead or short(bar.length)
        axes.annotate(f" {text}", (bar.length, at), va="center", fontsize="small")
    if bound is not None:
        axes.axvline(bound, color=RED, linestyle="--", label="upper bound (proved)")
        axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    name_lines(axes, [bar.words for bar in bars])
    axes.set_xlabel(unit)
    axes.set_xlim(0, 1.15 * max(bound or 0.0, *(bar.length for bar in bars)) or 1.0)
    axes.grid(axis="x", alpha=0.3)
    return figure
