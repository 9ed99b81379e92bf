"""Questions with a cutoff against all rows that there are, each asked of the model itself."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from portfolio import Explainer
from portfolio.api.variants import asker_of
from portfolio.engine import near_first
from portfolio.engine.question import Options, Question

SHARES = (0.4, 0.9, 1 - 1e-7, 1.0, 1 + 1e-7, 1.5)  # of the least cost


def cheapest(model, X, x, norm):
    """The least cost of a row that is decided otherwise, by plain enumeration."""
    every = [np.arange(X[name].min(), X[name].max() + 1) for name in X]
    rows = pd.DataFrame(list(itertools.product(*every)), columns=X.columns)
    change = (rows - x).abs().to_numpy() / (X.max() - X.min()).to_numpy()
    cost = change.max(axis=1) if norm == "inf" else (change**norm).sum(axis=1)
    other = model.predict(rows) != model.predict(x.to_frame().T)[0]
    return cost[other].min(initial=math.inf)


@pytest.mark.slow
@pytest.mark.parametrize("leaves", ["few", "many", "very many"])
@pytest.mark.parametrize("seed", [1, 3, 17])
def test_nothing_is_called_optimal_that_a_cutoff_hides_better_rows_from(seed, leaves, monkeypatch):
    monkeypatch.setattr(near_first, "MANY_LEAVES", math.inf if leaves == "few" else 0)
    monkeypatch.setattr(near_first, "MANY_WITHIN", 3)
    very_many = 0 if leaves == "very many" else math.inf
    monkeypatch.setattr(near_first, "VERY_MANY_LEAVES", very_many)
    rng = np.random.default_rng(seed)
    n_columns, n_levels, n_classes = (int(rng.integers(*ends)) for ends in ((3, 5), (4, 7), (2, 4)))
    X = pd.DataFrame(rng.integers(0, n_levels, (80, n_columns)).astype(float)).add_prefix("f")
    y = rng.integers(0, n_classes, 80)
    trees, depth = int(rng.integers(2, 6)), int(rng.integers(2, 6))
    model = RandomForestClassifier(trees, max_depth=depth, random_state=seed).fit(X, y)
    explainer = Explainer(model, X, features=dict.fromkeys(X, "ordinal"))
    x, norm = X.iloc[int(rng.integers(80))], (2, "inf", 1)[seed % 3]
    least = cheapest(model, X, x, norm)
    assert math.isfinite(least)
    question = Question(None, norm, "range", None, [], None)
    for share in SHARES:
        options = Options("auto", 20.0, 1, 0, cutoff=share * least)
        asker = asker_of(explainer)
        result = asker.ask(question, options, x, asker.strategy(question, options))
        if result.status == "optimal":
            assert result.distance == pytest.approx(least, rel=1e-9)
        else:
            assert result.status == "infeasible" and share <= 1.0
            assert result.lower_bound >= share * least * (1 - 1e-9)
