"""Numbers of columns around those that a byte holds."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from counterfolio import Explainer, Fixed


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [254, 255, 256, 257])
def test_splits_on_the_last_columns_are_read_as_such(n_columns):
    rng = np.random.default_rng(n_columns)
    X = np.zeros((120, n_columns))
    X[:, [0, 1, -2, -1]] = rng.integers(0, 4, (120, 4))
    y = X[:, -1] + X[:, 0] > X[:, -2] + X[:, 1]
    model = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, y)
    explainer = Explainer(model, X)
    fixed = [Fixed(f.name) for f in explainer.features.features if f.column < n_columns - 2]
    values = [(a, b) for a in range(4) for b in range(4)]
    for row in X[:20]:
        rows = np.repeat(row[None], len(values), axis=0)
        rows[:, -2:] = values
        moved = np.abs(rows - row).sum(axis=1)
        wanted = model.predict(rows) != model.predict(row[None])
        result = explainer.explain(row, scale="none", constraints=fixed)
        least = moved[wanted].min(initial=np.inf)
        assert result.status == ("optimal" if wanted.any() else "infeasible")
        assert result.distance == pytest.approx(least)
