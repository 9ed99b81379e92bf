"""Accuracy of decision diagrams, the paper's and learned ones, in naming the fastest backend."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from encoders.core.arrays import BoolArray
from portfolio.bench.paper.estimates import Estimate, share
from selector.diagram import load_diagram
from selector.diagram_places import PAPER
from selector.learning.examples import METRIC_OF_MODE, Examples, examples
from selector.learning.policies import hits, picked_backends
from selector.learning.train import Recipe
from selector.logs.record import PROOFS

PARADIGMS = ("cp", "maxsat", "milp")  # backends of the paper's diagram
# The paper's objective; splits and thresholds as for the shipped diagram.
RECIPE = Recipe(objective="accuracy", thresholds=6, alpha=0.01)


@dataclass(frozen=True)
class Judged:
    """Accuracy of a diagram on logs.

    Attributes
    ----------
    diagram, runs : descriptions of the diagram and of the runs.
    accuracy : share of queries and metrics on which it names the fastest backend.
    """

    diagram: str
    runs: str
    accuracy: Estimate


@dataclass(frozen=True)
class Leaf:
    """Leaves of the paper's diagram with the same backend."""

    backend: str
    reached: float  # share of the rows that reach these leaves
    fastest: float  # share of all rows on which the backend is the fastest


def leaves(frame: pd.DataFrame) -> list[Leaf]:
    """Return the leaves of the paper's diagram on its formulations; none without such logs."""
    data = _published(frame)
    if data is None:
        return []
    best = data.penalised().argmin(axis=1)
    chosen = np.array(picked_backends(data, load_diagram(PAPER)))
    return [
        Leaf(name, float((chosen == name).mean()), float((best == place).mean()))
        for place, name in enumerate(data.backends)
    ]


def judged(frame: pd.DataFrame) -> list[Judged]:
    """Return the accuracy of diagrams on the paper's formulations and after presolve."""
    paper = load_diagram(PAPER)
    results = []
    for words, data in (
        ("whole problem, published formulations", _published(frame)),
        ("reduced, and models that are kept", _reduced(frame)),
    ):
        if data is not None:
            by_diagram = {
                "the paper's": hits(data, paper),
                "learned from them": hits(data, RECIPE.diagram(data)),
                "learned from other data sets": _left_out(data),
            }
            results += [
                Judged(name, words, share(int(hit.sum()), hit.size))
                for name, hit in by_diagram.items()
            ]
    return results


def _published(frame: pd.DataFrame) -> Examples | None:
    """Return each query twice, as in the paper: with all seconds and with the solver's seconds."""
    plain = frame[(frame["mode"] == "plain") & frame["backend"].isin(PARADIGMS)]
    by_name = plain.assign(engine="", formulation="")  # each paradigm has one formulation
    twice = [by_name.assign(mode=mode) for mode in METRIC_OF_MODE]
    return _examples(pd.concat(twice, ignore_index=True))


def _reduced(frame: pd.DataFrame) -> Examples | None:
    return _examples(frame[frame["mode"].isin(METRIC_OF_MODE)])


def _examples(runs: pd.DataFrame) -> Examples | None:
    """Return examples; None if no backend proved anything or one of them never ran."""
    runs = runs[runs["left_options"].notna()]
    proved = runs["status"].isin(PROOFS) & runs["backend"].isin(PARADIGMS)
    usable = proved.any() and set(PARADIGMS) <= set(runs["backend"])
    return examples(runs, PARADIGMS) if usable else None


def _left_out(data: Examples) -> BoolArray:
    """Return the hits of diagrams that were trained without the data set of the query."""
    hit = np.zeros(len(data), dtype=bool)
    for group in np.unique(data.groups).tolist():
        out = data.groups == group
        if not out.all():
            hit[out] = hits(data.of(out), RECIPE.diagram(data.of(~out)))
    return hit
