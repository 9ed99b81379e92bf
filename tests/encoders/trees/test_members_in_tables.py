"""Models made of models over tables with values missing, and behind a pipeline's steps."""

import math

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from encoders.errors import InputError, UnsupportedModelError
from portfolio import Explainer
from tests.support.brute import thresholds
from tests.support.brute_tables import Raw, around, cheapest

Tree = DecisionTreeClassifier
HISTOGRAMS = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=6)
MIXED = [("a", Tree(max_depth=2)), ("b", HISTOGRAMS), ("c", Tree(max_depth=3))]


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(5)
    X = pd.DataFrame(
        {"income": random.normal(size=200).round(2), "debt": random.gamma(2, 2, 200).round(1)}
    )
    y = np.where((X.income > 0.2) ^ (X.debt > 5) ^ (random.random(200) < 0.05), "yes", "no")
    gaps = X.mask(np.column_stack([random.random(200) < 0.2, random.random(200) < 0.1]))
    return X, gaps, y


def calibrated(model):
    return CalibratedClassifierCV(model, ensemble=False, cv=2, method="isotonic")


KINDS = {
    "bagging": BaggingClassifier(Tree(max_depth=3), 4, random_state=0),
    "columns": BaggingClassifier(Tree(max_depth=3), 4, max_features=1, random_state=2),
    "soft": VotingClassifier(
        [("a", RandomForestClassifier(3, max_depth=3, random_state=0)), ("b", Tree(max_depth=2))],
        voting="soft",
        weights=[2, 1],
    ),
    "hard": VotingClassifier(MIXED),
    "calibrated": calibrated(HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=5)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_go_where_each_member_sends_them(data, kind):
    _, X, y = data
    model = KINDS[kind].fit(X, y)
    cuts, dtype = thresholds(model, 2)
    raws = [
        Raw(name, around(cuts[at], *X[name].agg(["min", "max"]), dtype is np.float32),
            spread=X[name].max() - X[name].min())
        for at, name in enumerate(X.columns)
    ]  # fmt: skip
    explainer = Explainer(model, X)
    with_gap = np.flatnonzero(X.isna().any(axis=1))
    for place in [*with_gap[:5], 1, 2, 3]:
        own = model.predict(X.iloc[[place]])[0]
        target = "no" if own == "yes" else "yes"
        best = cheapest(raws, X.iloc[place], X, lambda rows, t=target: model.predict(rows) == t)
        result = explainer.explain(X.iloc[place], target=target)
        assert result.status == ("infeasible" if math.isinf(best) else "optimal")
        assert result.distance == pytest.approx(best, rel=1e-9, abs=1e-12)


def test_a_gap_that_the_model_does_not_take_is_told(data):
    X, gaps, y = data
    with pytest.raises(InputError, match="takes no missing values"):
        Explainer(AdaBoostClassifier(n_estimators=3).fit(X, y), gaps)


@pytest.mark.parametrize(
    "last",
    [
        KINDS["columns"],
        AdaBoostClassifier(Tree(max_depth=2), n_estimators=4, random_state=0),
        CatBoostClassifier(iterations=3, depth=2, verbose=0, allow_writing_files=False),
        KINDS["calibrated"],
    ],
    ids=["bagging", "adaboost", "catboost", "calibrated"],
)
def test_a_pipeline_may_end_in_them(data, last):
    X, _, y = data
    model = make_pipeline(StandardScaler(), last).fit(X, y)
    explainer = Explainer(model, X)
    random = np.random.default_rng(0)
    for place in range(3):
        row = X.iloc[place]
        result = explainer.explain(row, norm="inf", scale="none")
        assert result.status == "optimal"
        own = model.predict(row.to_frame().T).item()
        assert model.predict(result.counterfactual.to_frame().T).item() != own
        steps = result.distance * (1 - 1e-6) * random.choice([-1, 0, 1], size=(500, 2))
        near = (X.iloc[[place] * 500] + steps).clip(X.min(), X.max(), axis=1)
        assert (np.ravel(model.predict(near)) == own).all()


def test_members_of_native_categories_are_refused(data):
    X, _, y = data
    frame = X.assign(kind=pd.Categorical(np.where(y == "yes", "u", "v")))
    settings = {"max_iter": 1, "categorical_features": "from_dtype"}
    members = [("a", HistGradientBoostingClassifier(**settings))]
    below = HistGradientBoostingClassifier(**settings).fit(frame, y)
    over = CalibratedClassifierCV(FrozenEstimator(below), ensemble=False).fit(frame, y)
    for model in (VotingClassifier(members).fit(frame, y), over):
        with pytest.raises(UnsupportedModelError, match="native categories"):
            Explainer(model, frame)
