"""Accuracy of a diagram: how often it picks the fastest backend."""

import numpy as np

from encoders.arrays import BoolArray
from selector.case import NAMES
from selector.diagram import Diagram
from selector.learning.examples import Examples


def picked(data: Examples, diagram: Diagram) -> list[str]:
    """Return the first backend of the last turn of each row's schedule."""
    rows = [dict(zip(NAMES, values, strict=True)) for values in data.values.tolist()]
    return [diagram.decide(values).leaf.backend for values in rows]


def hits(data: Examples, diagram: Diagram) -> BoolArray:
    """Return whether the picked backend is the fastest, bool (n_rows,)."""
    best = data.penalised().argmin(axis=1).tolist()
    names = picked(data, diagram)
    return np.array([data.backends[k] == name for k, name in zip(best, names, strict=True)])
