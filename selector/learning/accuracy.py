"""How often a diagram names the backend that was the fastest."""

import numpy as np

from encoders.arrays import BoolArray
from selector.case import NAMES
from selector.diagram import Diagram
from selector.learning.examples import Examples


def picked(data: Examples, diagram: Diagram) -> list[str]:
    """The backend that has the last word on each row."""
    rows = [dict(zip(NAMES, values, strict=True)) for values in data.values.tolist()]
    return [diagram.decide(values).leaf.backend for values in rows]


def hits(data: Examples, diagram: Diagram) -> BoolArray:
    """Where that is the fastest backend, bool (n_rows,)."""
    best = data.penalised().argmin(axis=1).tolist()
    names = picked(data, diagram)
    return np.array([data.backends[k] == name for k, name in zip(best, names, strict=True)])
