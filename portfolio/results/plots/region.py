"""Plot of a region."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from portfolio.results.plots.ink import BLUE, Picture, ink, name_lines

WIDTH, LINE, MARGIN = 6.0, 0.32, 0.7  # inches: of the picture, of a feature, above and below
THICK = 0.5  # of a bar, as a share of its line
LEAST = 0.02  # share of a range that is drawn if the region contains a single number


@dataclass(frozen=True)
class Bar:
    """Feature of the plot.

    Attributes
    ----------
    name : str, name of the feature.
    words : str, description of its values inside the region, "" for any value.
    share : (lower, upper) of the region as shares of the feature's range; None for categories.
    row_value : float, value of the row as a share of that range; None for categories and missing.
    """

    name: str
    words: str
    share: tuple[float, float] | None
    row_value: float | None


def draw(bars: Sequence[Bar]) -> Figure:
    """Draw a line per feature: its range, the part inside the region, and the row."""
    figure = Picture(figsize=(WIDTH, MARGIN + LINE * len(bars)), layout="constrained")
    axes = figure.subplots()
    for at, bar in enumerate(bars):
        axes.barh(at, 1.0, height=THICK, color=ink(), alpha=0.1)
        low, high = bar.share or (0.0, 1.0)
        part = 1.0 if bar.share is not None or not bar.words else 0.4
        low = min(low, 1 - LEAST)
        seen = max(high - low, LEAST)
        axes.barh(at, seen, left=low, height=THICK, color=BLUE, alpha=0.55 * part)
        if bar.row_value is not None:
            axes.plot(bar.row_value, at, "o", color=ink(), markersize=4, clip_on=False)
        axes.annotate(
            bar.words or "any value",
            (1.02, at),
            va="center",
            fontsize=8,
            annotation_clip=False,
            parse_math=False,
        )
    name_lines(axes, [bar.name for bar in bars])
    axes.set_xticks([0, 1], ["least", "most"])
    axes.set_xlim(0, 1)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return figure
