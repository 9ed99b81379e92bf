"""A picture of which features count: a mark and words for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from portfolio.plots.ink import BLUE, ground, ink, name_lines, short
from portfolio.plots.picture import Picture

WIDTH, LINE, MARGIN = 6.0, 0.35, 0.6  # inches: of the picture, of a line, above and below
WORDS = 0.08  # where they begin, as a share of the width


@dataclass(frozen=True)
class Line:
    """A feature of the picture.

    Attributes
    ----------
    name : of the feature
    counts : None where that is not known
    words : on it
    """

    name: str
    counts: bool | None
    words: str = ""


def draw(lines: Sequence[Line], meaning: Mapping[bool | None, str]) -> Figure:
    """Full marks for features that count, hollow ones where that is not known, else a stroke."""
    height = MARGIN + LINE * (len(lines) + len(meaning))
    figure = Picture(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots()
    looks = {True: ("o", BLUE, BLUE), None: ("o", BLUE, ground()), False: ("_", ink(), ink())}
    for counts, words in meaning.items():
        own = [at for at, line in enumerate(lines) if line.counts is counts]
        if own:
            mark, colour, inside = looks[counts]
            axes.plot([0.0] * len(own), own, mark, color=colour, mfc=inside, label=words)
    for at, line in enumerate(lines):
        words = short(line.words)
        axes.annotate(words, (WORDS, at), va="center", fontsize="small", parse_math=False)
    name_lines(axes, [line.name for line in lines])
    axes.set_xticks([])
    axes.set_xlim(-WORDS, 1)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    legend = axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure
