"""Training rows as starting points: some of a large table, which change no answer."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from counterfolio import Explainer
from encoders.formulation import starting_points
from portfolio.api.variants import asker_of


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
    view, every = asker_of(own).model.views[0], asker_of(plain).model.views[0]
    kept = [len(rows) for rows in view.reference.rows]
    assert sum(kept) <= 40 < sum(len(rows) for rows in every.reference.rows) and min(kept) > 0
    for at in range(0, 400, 80):
        assert own.explain(X.iloc[at]).distance == plain.explain(X.iloc[at]).distance


def kept(explainer):
    reference = asker_of(explainer).model.views[0].reference
    return [set(map(bytes, rows)) for rows in reference.rows], [len(r) for r in reference.rows]


def test_parts_of_a_table_are_classified_until_each_class_has_enough(large, monkeypatch):
    model, X = large
    (every, sizes), classified = kept(Explainer(model, X)), []
    scores = starting_points.Ensemble.scores

    def counted(self, rows):
        classified.append(len(rows))
        return scores(self, rows)

    monkeypatch.setattr(starting_points, "SOME_ROWS", 50)
    monkeypatch.setattr(starting_points.Ensemble, "scores", counted)
    assert kept(Explainer(model, X)) == (every, sizes)  # no class has 2000: all parts, each once
    assert len(classified) >= 8 and max(classified[:8]) <= 50
    monkeypatch.setattr(starting_points, "LARGEST_CLASS", 30)
    classified.clear()
    some, few = kept(Explainer(model, X))
    assert few == [30, 30] and all(own <= all_of for own, all_of in zip(some, every, strict=True))
    assert sum(classified) < len(X) / 2
