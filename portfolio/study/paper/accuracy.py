"""How often decision diagrams name the fastest backend: the paper's, and learned ones."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from encoders.arrays import BoolArray
from portfolio.study.paper.estimates import Estimate, share
from selector.diagram import load_diagram
from selector.diagram_places import PAPER
from selector.learning.accuracy import hits, picked
from selector.learning.examples import METRIC_OF_MODE, Examples, examples
from selector.learning.train import Recipe
from selector.logs.record import PROOFS

PARADIGMS = ("cp", "maxsat", "milp")  # that the paper's diagram chooses among
# The paper's objective; splits and thresholds as for the shipped diagram.
RECIPE = Recipe(objective="accuracy", thresholds=6, alpha=0.01)


@dataclass(frozen=True)
class Judged:
    """A diagram on logs.

    Attributes
    ----------
    diagram, runs : which one, and on what, in words
    accuracy : share of queries and metrics on which it names the fastest backend
    """

    diagram: str
    runs: str
    accuracy: Estimate


@dataclass(frozen=True)
class Leaf:
    """Where the paper's diagram picks one backend.

    Attributes
    ----------
    reached : share of the rows that come there
    fastest : share of all rows on which that backend is the fastest, wherever they come
    """

    backend: str
    reached: float
    fastest: float


def leaves(frame: pd.DataFrame) -> list[Leaf]:
    """The paper's diagram on the paper's formulations, without logs of which there are none."""
    data = _published(frame)
    if data is None:
        return []
    best, comes = data.penalised().argmin(axis=1), np.array(picked(data, load_diagram(PAPER)))
    return [
        Leaf(name, float((comes == name).mean()), float((best == place).mean()))
        for place, name in enumerate(data.backends)
    ]


def judged(frame: pd.DataFrame) -> list[Judged]:
    """Diagrams on the paper's formulations, and on what reduction leaves."""
    paper = load_diagram(PAPER)
    found = []
    for words, data in (
        ("whole problem, published formulations", _published(frame)),
        ("reduced, and models that are kept", _reduced(frame)),
    ):
        if data is not None:
            found.append(Judged("the paper's", words, _share(hits(data, paper))))
            found.append(
                Judged("learned from them", words, _share(hits(data, RECIPE.diagram(data))))
            )
            found.append(Judged("learned from other data sets", words, _share(_left_out(data))))
    return found


def _published(frame: pd.DataFrame) -> Examples | None:
    """Each query twice, as in the paper: with all seconds, and with those of solving alone."""
    plain = frame[(frame["mode"] == "plain") & frame["backend"].isin(PARADIGMS)]
    twice = [plain.assign(mode=mode) for mode in METRIC_OF_MODE]
    return _examples(pd.concat(twice, ignore_index=True))


def _reduced(frame: pd.DataFrame) -> Examples | None:
    return _examples(frame[frame["mode"].isin(METRIC_OF_MODE)])


def _examples(runs: pd.DataFrame) -> Examples | None:
    """None where nobody proved anything that reduction had not, or one of them was never asked."""
    runs = runs[runs["left_options"].notna()]
    proved = runs["status"].isin(PROOFS) & runs["backend"].isin(PARADIGMS)
    known = proved.any() and set(PARADIGMS) <= set(runs["backend"])
    return examples(runs, PARADIGMS) if known else None


def _left_out(data: Examples) -> BoolArray:
    """Hits of diagrams each of which has not seen the data set that it is asked about."""
    hit = np.zeros(len(data), dtype=bool)
    for group in np.unique(data.groups).tolist():
        out = data.groups == group
        if not out.all():
            hit[out] = hits(data.of(out), RECIPE.diagram(data.of(~out)))
    return hit


def _share(hit: BoolArray) -> Estimate:
    return share(int(hit.sum()), hit.size)
