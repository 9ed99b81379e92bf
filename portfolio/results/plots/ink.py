"""Colours, markers and labels of plots, distinguishable without colours on any background.

Background and text colour are those of matplotlib's ``rcParams``, so that plots fit light and dark
themes. Names are never parsed as formulas, even with a dollar sign.
"""

import io
from collections.abc import Sequence

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Colours of Okabe and Ito, which colour-blind people can distinguish on black and on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

MARKS = "o^sDvP"

HATCHES = ("", "///", "...", "xxx", "---", "ooo")

LINES = ("-", "--", ":", "-.", (0, (5, 1)), (0, (1, 3)))

BLUE, RED = COLOURS[0], COLOURS[1]

LONGEST = 40  # most letters of a name


class Picture(Figure):
    """Matplotlib figure that is not registered with pyplot and need not be closed."""

    def _repr_png_(self) -> bytes:
        """Return a PNG for notebooks."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def ink() -> str:
    """Return the colour of text."""
    return str(rcParams["text.color"])


def ground() -> str:
    """Return the background colour."""
    return str(rcParams["axes.facecolor"])


def short(name: str) -> str:
    """Return a name, shortened if it is too long for a plot."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def name_lines(axes: Axes, names: Sequence[str]) -> None:
    """Label a line for each name, the first one at the top."""
    axes.set_yticks(range(len(names)), [*map(short, names)], parse_math=False)
    axes.set_ylim(max(1, len(names)) - 0.5, -0.5)


def explain_marks(axes: Axes) -> None:
    """Add a legend if there are several labels."""
    if len(axes.get_legend_handles_labels()[1]) > 1:
        for text in axes.legend(frameon=False).get_texts():
            text.set_parse_math(False)
