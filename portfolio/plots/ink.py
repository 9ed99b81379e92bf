"""What pictures are drawn with: told apart without colours, too, and on any ground.

The ground and the ink are the user's own (matplotlib's ``rcParams``), so that a picture is right in
light and dark. Names are drawn as they are: a dollar sign in one begins no formula.
"""

from collections.abc import Sequence

from matplotlib import rcParams
from matplotlib.axes import Axes

# Those of Okabe and Ito: colour-blind people tell them apart, on black and on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKS = "o^sDvP"
HATCHES = ("", "///", "...", "xxx", "---", "ooo")
LINES = ("-", "--", ":", "-.", (0, (5, 1)), (0, (1, 3)))
BLUE, RED = COLOURS[0], COLOURS[1]
LONGEST = 40  # letters of a name


def ink() -> str:
    """The colour of text."""
    return str(rcParams["text.color"])


def ground() -> str:
    """The colour behind what is drawn."""
    return str(rcParams["axes.facecolor"])


def short(name: str) -> str:
    """A name that leaves room for the picture."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def name_lines(axes: Axes, names: Sequence[str]) -> None:
    """A line for each name, the first one at the top."""
    axes.set_yticks(range(len(names)), [*map(short, names)], parse_math=False)
    axes.set_ylim(max(1, len(names)) - 0.5, -0.5)


def explain_marks(axes: Axes) -> None:
    """A legend, if there is more than one thing to tell apart."""
    if len(axes.get_legend_handles_labels()[1]) > 1:
        for text in axes.legend(frameon=False).get_texts():
            text.set_parse_math(False)
