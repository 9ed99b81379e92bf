"""Several models over one raw frame, against brute force over the values next to all their cuts."""

import math
import warnings

import numpy as np
import pandas as pd

from tests.support.brute import thresholds
from tests.support.brute_tables import Raw, around, cheapest


def joined(*parts):
    """Columns with the candidate values of several models."""
    found = []
    for same in zip(*parts, strict=True):
        values = {value for raw in same for value in raw.values}
        first = same[0]
        found.append(Raw(first.name, tuple(sorted(values)), first.spread, first.number))
    return found


def by_default(forest, X):
    """Candidates of a forest as it is fitted by default: numbers get to it as they are."""
    alone = not hasattr(forest, "steps")
    last = forest if alone else forest[-1]
    names = [f"__{name}" for name in X.columns] if alone else forest[0].get_feature_names_out()
    found = dict(zip(names, thresholds(last, len(names))[0], strict=True))
    parts = []
    for name in X.columns:
        own = X[name].dropna()
        if isinstance(own.dtype, pd.CategoricalDtype) or own.dtype.kind not in "if":
            parts.append(Raw(name, tuple(sorted(own.unique())), number=False))
            continue
        low, high = float(own.min()), float(own.max())
        mine = [cut for key, cuts in found.items() if key.endswith(f"__{name}") for cut in cuts]
        values = around(mine, low, high, True)
        if own.dtype.kind == "i":
            values = tuple(range(int(low), int(high) + 1))
        parts.append(Raw(name, values, high - low))
    return parts


def said(model, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.ravel(model.predict(rows))


def compare(explainer, parts, X, place, target, decide, backend):
    """What a query came to; its answer is the cheapest row that ``decide`` takes."""
    best = cheapest(parts, X.iloc[place], X, decide, limit=60_000)
    if best is None:
        return "too many"
    result = explainer.explain(X.iloc[[place]], target=target, threads=1, strategy=backend)
    epsilon = 1e-3 if result.stop_reason == "gap" else 0.0
    if math.isinf(best):
        assert result.status == "infeasible", (place, result)
        return "infeasible"
    assert result.status == ("feasible" if epsilon else "optimal"), (place, best, result)
    assert best * (1 - 1e-9) <= result.distance <= best * (1 + 1e-9) + epsilon + 1e-12, (
        place,
        best,
        result,
    )
    assert np.all(decide(result.counterfactual)), (place, result)
    return "optimal"
