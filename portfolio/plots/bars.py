"""A picture of a few numbers: a bar for each, with words."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from portfolio.plots.ink import BLUE, RED, name_lines
from portfolio.plots.picture import Picture

WIDTH, LINE, MARGIN = 6.0, 0.4, 0.8  # inches: of the picture, of a bar, above and below


@dataclass(frozen=True)
class Bar:
    """A bar of the picture.

    Attributes
    ----------
    words : what it is about
    length : the number
    full : bars that are not are hatched
    instead : what is said where there is no number, "" where there is one
    """

    words: str
    length: float
    full: bool = True
    instead: str = ""


def draw(bars: Sequence[Bar], unit: str, bound: float | None = None) -> Figure:
    """A bar for each number, the first one at the top."""
    figure = Picture(figsize=(WIDTH, MARGIN + LINE * len(bars)), layout="constrained")
    axes = figure.subplots()
    for at, bar in enumerate(bars):
        inside, hatch = (BLUE, "") if bar.full else ("none", "///")
        axes.barh(at, bar.length, height=0.6, facecolor=inside, edgecolor=BLUE, hatch=hatch)
        told = bar.instead or f"{bar.length:.4g}"
        axes.annotate(f" {told}", (bar.length, at), va="center", fontsize="small")
    if bound is not None:
        axes.axvline(bound, color=RED, linestyle="--", label="at most so many (proved)")
        axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    name_lines(axes, [bar.words for bar in bars])
    axes.set_xlabel(unit)
    axes.set_xlim(0, 1.15 * max(bound or 0.0, *(bar.length for bar in bars)) or 1.0)
    axes.grid(axis="x", alpha=0.3)
    return figure
