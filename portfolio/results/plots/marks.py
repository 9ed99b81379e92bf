"""Plot of the features that matter, with a mark and words for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from portfolio.results.plots.ink import BLUE, Picture, ground, ink, name_lines, short

WIDTH, LINE, MARGIN = 6.0, 0.35, 0.6  # inches of the plot, of a line, and of the margins
WORDS = 0.08  # position of the words as a share of the width


@dataclass(frozen=True)
class Line:
    """Line of the plot."""

    name: str  # name of the feature
    counts: bool | None  # whether the feature matters, None if that is not known
    words: str = ""  # text beside the mark


def draw(lines: Sequence[Line], meaning: Mapping[bool | None, str]) -> Figure:
    """Draw full marks for features that matter, hollow ones if unknown, else a stroke."""
    height = MARGIN + LINE * (len(lines) + len(meaning))
    figure = Picture(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots()
    looks = {True: ("o", BLUE, BLUE), None: ("o", BLUE, ground()), False: ("_", ink(), ink())}
    for counts, words in meaning.items():
        places = [at for at, line in enumerate(lines) if line.counts is counts]
        if places:
            mark, colour, inside = looks[counts]
            axes.plot([0.0] * len(places), places, mark, color=colour, mfc=inside, label=words)
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
