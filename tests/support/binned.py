"""Models of binned numbers against brute force over the limits of their bins.

Nothing here uses the project's way of reading pipelines.
"""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

from portfolio import Explainer
from tests.support.brute_tables import Raw, around, cheapest

N = 150


def borrowers(seed, gaps=False):
    """Return a frame of numbers and categories, and labels that depend on their bins."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 70, N),
            "income": rng.gamma(2.0, 1500, N).round(2),
            "job": rng.choice(["cook", "nurse", "pilot", "smith"], N),
        }
    )
    middle = X.income.between(*np.quantile(X.income, [0.3, 0.7]))
    y = (middle ^ X.job.isin(["cook", "pilot"]) ^ (X.age.between(30, 40))).astype(int)
    y[rng.random(N) < 0.1] = 1
    if gaps:
        X.loc[rng.random(N) < 0.15, "income"] = np.nan
        X.loc[rng.random(N) < 0.15, "job"] = None
    return X, y


def raws(X, limits, bounds=None):
    """Return the values to try: of categories all, of numbers those around limits of bins."""
    parts = []
    for name in X:
        own = X[name].dropna()
        if name not in limits:
            parts.append(Raw(name, tuple(sorted(own.unique())), number=False))
            continue
        low, high = (bounds or {}).get(name, (own.min(), own.max()))
        values = around(limits[name], low, high, single=True)
        if own.dtype.kind == "i":
            values = range(int(low), int(high) + 1)
        spread = float(own.max()) - float(own.min())
        parts.append(Raw(name, tuple(values), spread=spread))
    return parts


def check_bins(model, X, limits, seed, queries=3, **options):
    """Compare answers with brute force, and return how many were compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer, tried = Explainer(model, X, **options), 0
        parts, labels = raws(X, limits), getattr(model, "classes_", np.unique(model.predict(X)))
        for place in np.random.default_rng(seed).choice(len(X), queries, replace=False):
            now = model.predict(X.iloc[[place]])[0]
            target = next(label for label in labels if label != now)
            best = cheapest(
                parts, X.iloc[place], X, lambda rows, t=target: model.predict(rows) == t
            )
            result = explainer.explain(X.iloc[[place]], target=target)
            assert best is not None, "too many rows to enumerate"
            tried += 1
            if math.isinf(best):
                assert result.status == "infeasible", (place, result)
                continue
            assert result.status == "optimal", (place, best, result)
            assert result.distance == pytest.approx(best, rel=1e-9, abs=1e-12), (
                place,
                best,
                result,
            )
            assert model.predict(result.counterfactual)[0] == target
    return tried
