"""Brute force over raw rows, through the native predict of whatever takes the user's frame.

Nothing here uses the project's reading of trees, its codes, cells, costs or constraints.
"""

import itertools
import math
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Raw:
    """One raw column as the test sees it: candidate values besides the query's own."""

    name: str
    values: tuple = ()
    spread: float = 1.0  # change that costs 1, for numbers
    number: bool = True
    missing_cost: float = 1.0


def missing(value):
    return value is None or value is pd.NA or value != value


def cheapest(raws, row, frame, decide, limit=200_000):
    """Least cost of a row that ``decide`` takes, inf without one; None if there are too many."""
    choices = [_choices(raw, row[raw.name]) for raw in raws]
    if math.prod(map(len, choices)) > limit:
        return None
    combos = list(itertools.product(*choices))
    cost = np.array([sum(price for _, price in combo) for combo in combos])
    held = {
        raw.name: _column([combo[at][0] for combo in combos], frame[raw.name].dtype)
        for at, raw in enumerate(raws)
    }
    rows = pd.DataFrame(held)[list(frame.columns)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        good = np.asarray(decide(rows))
    return float(cost[good].min()) if good.any() else math.inf


def _column(values, dtype):
    if isinstance(dtype, pd.CategoricalDtype):
        return pd.Categorical([None if missing(v) else v for v in values], dtype=dtype)
    if getattr(dtype, "kind", "") == "b":
        return np.array(values, dtype=bool)
    if all(isinstance(v, int | float | np.number) for v in values):
        return np.array(values, dtype=float)
    return pd.Series(values, dtype=object)


def _choices(raw, own):
    if missing(own):
        return [(own, 0.0), *((v, raw.missing_cost) for v in raw.values)]

    def price(value):
        return abs(value - own) / raw.spread if raw.number else 1.0

    return [(own, 0.0), *((v, price(v)) for v in raw.values if v != own)]


def around(cuts, low, high, single):
    """Values at, just below and just above every cut, within bounds."""
    found = {float(low), float(high)}
    for cut in cuts:
        near = [float(cut), np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf)]
        if single:
            one = np.float32(cut)
            for way in (-np.inf, np.inf):
                middle = (float(one) + float(np.nextafter(one, np.float32(way)))) / 2
                near += [middle, np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf)]
            near.append(float(one))
        found.update(float(v) for v in near)
    return tuple(sorted(v for v in found if low <= v <= high))
