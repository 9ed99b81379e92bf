"""Training rows as starting points: some of a large table, which change no answer."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from counterfolio import Explainer
from encoders.posing import starting_points


@pytest.fixture
def large():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3)).round(2), columns=["a", "b", "c"])
    return RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, X["a"] > X["b"]), X


def test_of_a_large_table_some_rows_are_kept_from_all_over_it(large, monkeypatch):
    model, X = large
    plain = Explainer(model, X)
    monkeypatch.setattr(starting_points, "MOST_ROWS", 40)
    own = Explainer(model, X)
    view, every = own._asker.model.views[0], plain._asker.model.views[0]
    kept = [len(rows) for rows in view.reference.rows]
    assert sum(kept) <= 40 < sum(len(rows) for rows in every.reference.rows) and min(kept) > 0
    for at in range(0, 400, 80):
        assert own.explain(X.iloc[at]).distance == plain.explain(X.iloc[at]).distance
