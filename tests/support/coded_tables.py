"""Tables with codes for a missing value, and the cheapest answers among all of their rows."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

CODES: dict[str, tuple[float, ...]] = {"late": (-8.0, -7.0), "open": (99.0,), "age": ()}
BOUNDS = {"late": (0, 6), "open": (-2, 4), "age": (1, 5)}
FEATURES = {"late": {"missing_codes": [-7, -8]}, "open": {"missing_codes": [99]}}
Keeps = Callable[[dict[str, float], dict[str, float]], bool]


def table(seed: int, size: int = 150) -> tuple[pd.DataFrame, Any]:
    """Whole numbers within bounds, a sixth of them replaced by codes, and a label of both.

    Parameters
    ----------
    seed : of the random numbers
    size : rows
    """
    rng = np.random.default_rng(seed)
    columns = {}
    for name, (low, high) in BOUNDS.items():
        own = rng.integers(low, high + 1, size).astype(float)
        own[:2] = low, high
        for code in CODES[name]:
            own[2:][rng.random(size - 2) < 1 / 6] = code
        columns[name] = own
    frame = pd.DataFrame(columns)
    score = frame["late"].isin(CODES["late"]) * 2 - frame["late"] + frame["open"] % 7
    score = score + frame["age"] * (frame["late"] == -7) + rng.normal(0, 1, size)
    return frame, (score > np.median(score)).astype(int).to_numpy()


def rows() -> pd.DataFrame:
    """Every row of the tables: whole numbers within bounds, and codes."""
    sets = [[*range(low, high + 1), *CODES[name]] for name, (low, high) in BOUNDS.items()]
    return pd.DataFrame(list(product(*sets)), columns=list(BOUNDS), dtype=float)


def admitted(row: dict[str, float], into: dict[str, Sequence[float]]) -> Iterator[dict[str, float]]:
    """Rows that an answer may be: numbers, the query's own codes, and the codes of ``into``.

    Parameters
    ----------
    row : the query
    into : codes that each feature may become
    """
    for own in rows().to_dict("records"):
        codes = [(n, v) for n, v in own.items() if v in CODES[n]]
        if all(v in into.get(n, ()) or v == row[n] for n, v in codes):
            yield own


def cost(
    row: dict[str, float], other: dict[str, float], norm: float, price: dict[str, float]
) -> float:
    """The cost of a change: 1 from a code to a number, ``price`` (or 1) to a code.

    Parameters
    ----------
    row, other : the query and an answer
    norm : 0, 1, 2 or inf
    price : of each feature, to become a code
    """
    parts = []
    for name, (low, high) in BOUNDS.items():
        was, becomes = row[name], other[name]
        if was == becomes:
            continue
        if becomes in CODES[name]:
            parts.append(price.get(name, 1.0))
        elif was in CODES[name] or norm == 0:
            parts.append(1.0)
        else:
            share = abs(becomes - was) / (high - low)
            parts.append(share if norm == np.inf else share**norm)
    return max(parts, default=0.0) if norm == np.inf else float(np.sum(parts))


def least(
    model: Any,
    row: dict[str, float],
    norm: float,
    into: dict[str, Sequence[float]],
    price: dict[str, float],
    keeps: Keeps,
) -> float:
    """The least cost of an admissible row that the model predicts as the other class; inf if none.

    Parameters
    ----------
    model : fitted classifier
    row, norm, into, price : as of :func:`admitted` and :func:`cost`
    keeps : whether a row keeps the constraints
    """
    others = [own for own in admitted(row, into) if keeps(row, own)]
    if not others:
        return float("inf")
    now = model.predict(pd.DataFrame([row]))[0]
    flipped = model.predict(pd.DataFrame(others)) != now
    costs = [cost(row, o, norm, price) for o, f in zip(others, flipped, strict=True) if f]
    return min(costs, default=float("inf"))
