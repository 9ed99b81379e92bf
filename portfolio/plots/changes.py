"""A picture of what an answer changes, and what each change costs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from portfolio.plots.ink import BLUE, RED, ink, name_lines
from portfolio.plots.picture import Picture

WIDTH, LINE, MARGIN = 6.0, 0.45, 0.9  # inches: of the picture, of a change, above and below
THICK = 0.6  # of a bar, as a share of its line


@dataclass(frozen=True)
class Step:
    """A bar of the picture.

    Attributes
    ----------
    words : what is changed, or what the bar is
    begin, end : costs that it goes from and to
    """

    words: str
    begin: float
    end: float


def steps(changes: Sequence[tuple[str, float]], distance: float) -> list[Step]:
    """The bars: each begins where the last one ended, and the last of all is the distance.

    Where the distance is the largest cost, and not the sum, all begin at 0. What the distance has
    on top of the costs are joint costs of pairs.
    """
    total = math.fsum(cost for _, cost in changes)
    summed = total <= distance or math.isclose(total, distance)
    bars, at = [], 0.0
    for words, cost in changes:
        bars.append(Step(words, at, at + cost))
        at = at + cost if summed else 0.0
    if summed and not math.isclose(total, distance):
        bars.append(Step("joint costs", total, distance))
    return [*bars, Step("distance", 0.0, distance)]


def draw(changes: Sequence[tuple[str, float]], distance: float, lower_bound: float) -> Figure:
    """Draw a waterfall of costs; a dashed line marks a lower bound below the distance."""
    bars = steps(changes, distance)
    figure = Picture(figsize=(WIDTH, MARGIN + LINE * len(bars)), layout="constrained")
    axes = figure.subplots()
    for at, bar in enumerate(bars):
        last = at == len(bars) - 1
        colour = ink() if last else BLUE
        axes.barh(at, bar.end - bar.begin, THICK, bar.begin, color=colour, alpha=1 - 0.4 * last)
        axes.annotate(f" {bar.end - bar.begin:.4g}", (bar.end, at), va="center", fontsize="small")
        if not last and _leads_on(bar, bars[at + 1]):
            axes.plot([bar.end] * 2, [at, at + 1], color=ink(), linewidth=0.5, alpha=0.5)
    if lower_bound < distance:
        axes.axvline(lower_bound, color=RED, linestyle="--", label="at least so much is needed")
        axes.legend(frameon=False)
    name_lines(axes, [bar.words for bar in bars])
    axes.set_xlabel("cost")
    axes.set_xlim(0, 1.15 * max(bar.end for bar in bars) or 1.0)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _leads_on(bar: Step, following: Step) -> bool:
    """Whether the next bar begins where this one ends, or is the sum that ends there."""
    return any(math.isclose(bar.end, end) for end in (following.begin, following.end))
