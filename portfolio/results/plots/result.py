"""Choice of the plot of a result."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from encoders.core.errors import InputError
from portfolio.results.plots.ink import BLUE, RED, Picture, ink, name_lines
from portfolio.results.printing import short

WIDTH, LINE, MARGIN = 6.0, 0.45, 0.9  # inches of the plot, of a change, and of the margins

THICK = 0.6  # height of a bar as a share of its line

SIZE = (6.0, 3.2)  # inches


@dataclass(frozen=True)
class Step:
    """Bar of the plot.

    Attributes
    ----------
    words : label of the bar.
    begin, end : costs at which the bar begins and ends.
    """

    words: str
    begin: float
    end: float


def steps(changes: Sequence[tuple[str, float]], distance: float) -> list[Step]:
    """Return the bars, each of which begins where the previous one ended; the last is the distance.

    If the distance is the largest cost and not the sum, all bars begin at 0. The part of the
    distance beyond the costs is the joint cost of pairs.
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


def draw_changes(
    changes: Sequence[tuple[str, float]], distance: float, lower_bound: float
) -> Figure:
    """Draw a waterfall of costs; a dashed line marks a lower bound below the distance."""
    bars = steps(changes, distance)
    figure = Picture(figsize=(WIDTH, MARGIN + LINE * len(bars)), layout="constrained")
    axes = figure.subplots()
    for at, bar in enumerate(bars):
        last = at == len(bars) - 1
        colour = ink() if last else BLUE
        axes.barh(at, bar.end - bar.begin, THICK, bar.begin, color=colour, alpha=1 - 0.4 * last)
        axes.annotate(
            f" {short(bar.end - bar.begin)}", (bar.end, at), va="center", fontsize="small"
        )
        if not last and _leads_on(bar, bars[at + 1]):
            axes.plot([bar.end] * 2, [at, at + 1], color=ink(), linewidth=0.5, alpha=0.5)
    if lower_bound < distance:
        axes.axvline(lower_bound, color=RED, linestyle="--", label="lower bound (proved)")
        axes.legend(frameon=False)
    name_lines(axes, [bar.words for bar in bars])
    axes.set_xlabel("cost")
    axes.set_xlim(0, 1.15 * max(bar.end for bar in bars) or 1.0)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _leads_on(bar: Step, following: Step) -> bool:
    """Return whether the next bar begins where this one ends, or is the sum that ends there."""
    return any(math.isclose(bar.end, end) for end in (following.begin, following.end))


def draw_bounds(trace: Sequence[tuple[float, float, float]]) -> Figure:
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


def draw(result: Any, what: str) -> Figure:
    """Draw a result; see :meth:`portfolio.results.result.Result.plot`."""
    if what == "bounds":
        end = (result.timings.total, result.distance, result.lower_bound)
        return draw_bounds([*result.trace, end])
    if what != "changes":
        raise InputError(f"unknown plot {what!r}. Use one of 'changes', 'bounds'.")
    if result.row is None:
        raise InputError(
            "plot('changes') needs a counterfactual, and none was found. Use plot('bounds')."
        )
    lines = [
        (f"{shown.feature}\n{shown.origin} → {shown.reached}", change.cost)
        for shown, change in zip(result.told, result.changed, strict=True)
    ]
    proved = result.distance if result.status == "optimal" else result.lower_bound
    return draw_changes(lines, result.distance, proved)
