"""Plot of several answers side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from portfolio.results.plots.ink import BLUE, Picture, name_lines, short
from portfolio.results.printing import short as short_number

COLUMN, LINE, MARGIN, NAMES = 1.6, 0.4, 0.8, 2.0  # inches per answer, feature, margin, name
PALEST, SPAN = 0.15, 0.35  # opacity of the cheapest change, and the range above it


@dataclass(frozen=True)
class Answer:
    """Column of the plot."""

    distance: float  # distance of the answer
    proved: bool  # whether it, or all answers together, are proved
    changes: Mapping[str, tuple[str, float]]  # new value in words and its cost, by feature


def draw(answers: Sequence[Answer]) -> Figure:
    """Draw a column per answer and a line per changed feature; darker cells cost more."""
    names = [*dict.fromkeys(name for answer in answers for name in answer.changes)]
    highest = max((cost for a in answers for _, cost in a.changes.values()), default=0.0) or 1.0
    size = (NAMES + COLUMN * len(answers), MARGIN + LINE * len(names))
    figure = Picture(figsize=size, layout="constrained")
    axes = figure.subplots()
    for at, answer in enumerate(answers):
        for line, name in enumerate(names):
            if name in answer.changes:
                words, cost = answer.changes[name]
                dense = PALEST + SPAN * cost / highest
                axes.barh(line, 0.94, 0.9, at - 0.47, color=BLUE, alpha=dense)
                axes.text(
                    at, line, short(words), ha="center", va="center", size=8, parse_math=False
                )
            else:
                axes.text(at, line, "·", ha="center", va="center")
    heads = [
        f"{short_number(each.distance)}{'' if each.proved else ' (not proved)'}" for each in answers
    ]
    axes.set_xticks(range(len(heads)), heads)
    axes.xaxis.tick_top()
    axes.set_xlabel("distance")
    axes.xaxis.set_label_position("top")
    axes.set_xlim(-0.5, len(answers) - 0.5)
    name_lines(axes, names)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return figure
