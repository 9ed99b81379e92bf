"""Pipelines against brute force over raw rows.

Where inputs cross the thresholds of the model is found by halving between raw values. Nothing here
uses the project's way of reading pipelines.
"""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBClassifier

from portfolio import Explainer
from tests.support.brute_tables import Raw, cheapest, cuts

N = 150
PARTS = 64  # a step of a pipeline takes about as long for all of them as for one


def loans(seed, gaps=True):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": random.integers(20, 70, N),
            "income": random.gamma(2.0, 1500, N).round(2),
            "job": random.choice(["cook", "nurse", "pilot", "smith"], N),
            "owns": random.random(N) < 0.4,
        }
    )
    y = (X.income > 2800) ^ X.job.isin(["cook", "pilot"]) ^ (X.owns & (X.age > 50))
    if gaps:
        X.loc[random.random(N) < 0.1, "income"] = np.nan
        X.loc[random.random(N) < 0.1, "job"] = np.nan
    return X, np.where(y, "granted", "refused")


def order(number):
    """Return the rank of a float64 among all of them."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & 2**63 - 1)


def number(place):
    """Return the float64 of a rank."""
    return math.copysign(float(np.int64(abs(place)).view(np.float64)), place)


def parted(low, high):
    """Return floats from one to another that part the ranks between them evenly."""
    first, last = order(low), order(high)
    return [number(first + (last - first) * part // PARTS) for part in range(PARTS + 1)]


def differing(grid, marks):
    """Return the neighbours in a grid whose marks differ."""
    pairs = zip(grid, grid[1:], marks, marks[1:], strict=False)
    return [(a, b) for a, b, own, other in pairs if own != other]


def change_points(model, X, name, more=()):
    """Return both sides of every number of a column at which a split changes its direction.

    ``more`` are thresholds of every input in addition to those of the model.
    """
    steps, last = model[:-1], model[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = steps.transform(X.iloc[[0]])
        names = getattr(start, "columns", range(start.shape[1]))
        found, dtype = cuts(last, pd.DataFrame(columns=names))
        found = [own | set(more) for own in found]

        kept = [j for j, t in enumerate(found) if t]  # others may hold text

        def signature(values):
            rows = X.iloc[[0] * len(values)].reset_index(drop=True)
            rows[name] = np.asarray(values, dtype=float)
            inputs = steps.transform(rows)
            inputs = inputs.toarray() if hasattr(inputs, "toarray") else np.asarray(inputs)
            inputs = inputs[:, kept].astype(float)
            # What a sparse matrix does not hold, 0, XGBoost takes for missing.
            parts = [inputs < 0, inputs <= 0]
            inputs = inputs.astype(dtype)
            parts += [inputs[:, [j]] < np.array(sorted(found[k])) for j, k in enumerate(kept)]
            parts += [inputs[:, [j]] <= np.array(sorted(found[k])) for j, k in enumerate(kept)]
            return [part.tobytes() for part in np.hstack(parts)]

        grid = sorted({float(value) for value in X[name].dropna()})
        places, ends = differing(grid, signature(grid)), {grid[0], grid[-1]}
        while any(order(b) - order(a) > 1 for a, b in places):
            grid = [value for pair in places for value in parted(*pair)]
            places = differing(grid, signature(grid))
    return sorted(ends.union(*places))


def raws(model, X, by_value=(), more=()):
    found = []
    for name in X.columns:
        own = X[name].dropna()
        if name in by_value or not pd.api.types.is_numeric_dtype(own.dtype):
            found.append(Raw(name, tuple(sorted(own.unique())), number=False))
        elif own.dtype == bool:
            found.append(Raw(name, (False, True), number=False))
        else:
            whole = own.dtype.kind == "i"
            if whole:
                values = range(own.min(), own.max() + 1)
            else:
                values = change_points(model, X, name, more)
            spread = float(own.max()) - float(own.min())
            found.append(Raw(name, tuple(values), spread=spread))
    return found


def check(model, X, y, seed, queries=3, by_value=(), fit=None, more=(), **options):
    """Fit and read a model, and return the number of compared queries."""
    labels = (y == "granted").astype(int) if isinstance(model[-1], XGBClassifier) else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, labels, **(fit or {}))
        explainer = Explainer(model, X, **options)
        return check_queries(explainer, model, X, seed, queries, by_value, more)


def check_queries(explainer, model, X, seed, queries, by_value=(), more=()):
    """Compare answers with brute force over raw rows; return the number of queries."""
    parts, tried = raws(model, X, by_value, more), 0
    for place in np.random.default_rng(seed).choice(len(X), queries, replace=False):
        own = model.predict(X.iloc[[place]])[0]
        target = next(label for label in model.classes_ if label != own)
        best = cheapest(parts, X.iloc[place], X, lambda rows, t=target: model.predict(rows) == t)
        result = explainer.explain(X.iloc[[place]], target=target)
        if best is None:
            continue
        tried += 1
        if math.isinf(best):
            assert result.status == "infeasible", (place, best, result)
            continue
        assert result.status == "optimal", (place, best, result)
        assert result.distance == pytest.approx(best, rel=1e-9, abs=1e-12), (
            place,
            best,
            dict(X.dtypes),
            result,
        )
        assert model.predict(result.counterfactual)[0] == target
        assert list(result.counterfactual.columns) == list(X.columns)
    return tried
