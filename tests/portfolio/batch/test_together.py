"""Rows whose answers are put to the model at once have the records that they have alone."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from xgboost import XGBClassifier

from portfolio import Explainer, Plausibility
from portfolio.api.variants import asker_of
from portfolio.model.lent import Loans, lending
from portfolio.model.native import NativeModel
from tests.support.answers import here
from tests.support.gathered import contrary, gathered, picky


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.integers(0, 6, (200, 4)).astype(float), columns=list("abcd"))
    return X, (X["a"] + X["b"] * X["c"] / 3 + rng.normal(0, 1, 200) > 5).astype(int)


def alike(explainer, rows, **asked):
    """The batch, the same as row by row but for its seconds."""
    alone = explainer.explain_batch(rows, executor=here, **asked)
    frame = explainer.explain_batch(rows, executor=gathered, **asked)
    pd.testing.assert_frame_equal(
        frame.drop(columns="seconds"), alone.drop(columns="seconds"), check_exact=True
    )
    return frame


@pytest.fixture
def asked(monkeypatch):
    """How many rows a model was asked about in each call."""
    counts = []
    own = NativeModel.predict

    def counted(native, rows, clear=False):
        counts.append(len(rows))
        return own(native, rows, clear)

    monkeypatch.setattr(NativeModel, "predict", counted)
    monkeypatch.setattr(NativeModel, "likeliest", False)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(12, max_depth=4, random_state=0),
        XGBClassifier(n_estimators=12, max_depth=3),
        LGBMClassifier(n_estimators=12, num_leaves=6, verbose=-1),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("plausible", [False, True])
def test_records_are_those_of_single_rows(table, model, plausible, asked):
    X, y = table
    forest = IsolationForest(
        n_estimators=12, max_samples=64, contamination=0.1, random_state=0
    ).fit(X)
    plausibility = Plausibility(forest) if plausible else None
    explainer = Explainer(model.fit(X, y), X, plausibility=plausibility)
    asked.clear()
    frame = alike(explainer, X.drop_duplicates().iloc[:21])
    assert set(frame["status"]) == {"optimal"}
    # Three times seven answers in one call, of the model and of its isolation forests each.
    assert sum(count >= 7 for count in asked) >= (6 if plausible else 3)


@pytest.mark.slow
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_rows_near_ties_are_asked_at_once(table, voting, asked):
    """Two trees that disagree tie: what the trees are not sure of is never lent."""
    X, y = table
    model = RandomForestClassifier(2, max_depth=3, random_state=1).fit(X, y)
    explainer = Explainer(model, X, voting=voting)
    loans = Loans()
    lent = lending(asker_of(explainer).model, loans).native
    for row in X.to_numpy()[:60]:
        votes = {int(tree.predict(row[None, :])[0]) for tree in model.estimators_}
        loans.take()
        lent.predict(row[None, :])
        if voting == "hard":
            assert bool(loans.claims) == (len(votes) == 1)
    alike(explainer, X.iloc[:40])
    asked.clear()
    explainer.explain_batch(X.iloc[:40], executor=gathered)
    if voting == "hard":
        assert min(asked) <= 2  # an answer near a tie, perhaps with its query


@pytest.mark.slow
@pytest.mark.parametrize("told", [contrary, picky])
def test_what_the_model_refuses_is_asked_alone(table, told, monkeypatch):
    """A model that changed after it was read: it contradicts, or refuses, answers with a 2."""
    X, y = table
    explainer = Explainer(RandomForestClassifier(12, max_depth=4, random_state=0).fit(X, y), X)
    own = NativeModel.predict
    monkeypatch.setattr(NativeModel, "likeliest", False)
    monkeypatch.setattr(
        NativeModel,
        "predict",
        lambda native, rows, clear=False: told(own(native, rows, clear), rows[:, 0] == 2),
    )
    frame = alike(explainer, X[X["a"] != 2].iloc[:28])
    assert {"optimal"} < set(frame["status"])
    assert (frame["message"] != "").any()
