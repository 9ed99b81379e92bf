"""Forests of whole votes tie often: what the model refuses is asked about as it is found."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from portfolio import Explainer
from portfolio.data.collection import wide_table
from portfolio.data.trained_models import train
from portfolio.engine.findings import Findings

COLUMNS = list("abcdefgh")
ALL = np.array(list(itertools.product([0.0, 1.0, 2.0], repeat=len(COLUMNS))))
WEIGHTS = np.array([1.0, 1.25, 0.75, 1.5, 1.0, 0.5, 2.0, 1.0])


@pytest.fixture(scope="module", params=[12, 20])
def tied(request):
    """A forest of an even number of trees with pure leaves, its rows, and all that it says."""
    rng = np.random.default_rng(request.param)
    X = pd.DataFrame(rng.integers(0, 3, (80, len(COLUMNS))).astype(float), columns=COLUMNS)
    y = (X.sum(axis=1) + rng.normal(0, 2, len(X)) > 8).astype(int)
    model = RandomForestClassifier(request.param, random_state=0).fit(X, y)
    return model, X, model.predict(pd.DataFrame(ALL, columns=COLUMNS))


@pytest.fixture
def early(monkeypatch):
    """Whether each choice that the model was asked about before a round's end was refused."""
    own, told = Findings.refuses, []

    def refuses(findings, choice):
        assert findings.answer is not None  # which limits what is looked at
        told.append(own(findings, choice))
        return told[-1]

    monkeypatch.setattr(Findings, "refuses", refuses)
    return told


def cheapest(row, said, target, power):
    moved = np.abs(ALL[said == target] - row) / 2  # of the range
    return (moved**power @ WEIGHTS).min()


@pytest.mark.slow
@pytest.mark.parametrize("power", [1, 2])
def test_answers_are_those_of_looking_at_every_row(tied, power, early):
    model, X, said = tied
    explainer = Explainer(model, X)
    weights = dict(zip(COLUMNS, WEIGHTS.tolist(), strict=True))
    for at, row in X.iterrows():
        target = 1 - int(model.predict(row.to_frame().T)[0])
        threads = 1 + at % 2
        found = explainer.explain(row, target, norm=power, weights=weights, threads=threads)
        assert (found.status, found.margin) == ("optimal", 0.0)
        assert found.distance == pytest.approx(cheapest(row.to_numpy(), said, target, power))
        assert found.lower_bound == pytest.approx(found.distance)
        assert model.predict(found.counterfactual.to_frame().T)[0] == target
    assert any(early) and not all(early)


def test_many_ties_take_few_rounds(early):
    """Each round would find some twenty of a hundred; nothing is left to say of leads."""
    table = wide_table("digits-3-8")
    explainer = Explainer(train(table, "forest", 20, 8, 1), table.X, table.space)
    found = explainer.explain(table.X.iloc[10], norm=2, threads=1)
    assert (found.status, found.margin, found.message) == ("optimal", 0.0, "")
    assert sum(early) > 20
    assert len(found.attempts) <= 4
