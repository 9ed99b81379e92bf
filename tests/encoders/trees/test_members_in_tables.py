"""Models made of models over tables with values missing, and behind a pipeline's steps."""

import math
import os
from functools import partial

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
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from encoders.core.errors import InputError, UnsupportedModelError
from portfolio import Explainer
from tests.support.brute import thresholds
from tests.support.brute_tables import Raw, around, cheapest
from tests.support.category_members import model_of, raws, table

Tree = DecisionTreeClassifier
HISTOGRAMS = HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=6)
MODELS = int(os.environ.get("MEMBER_MODELS", "1"))  # per kind
FIRST = int(os.environ.get("MEMBER_FIRST", "0"))
QUERIES, MOST_ROWS, CODED = 1, 20_000, {"job", "size"}
NEAR_1 = (np.nextafter(np.float32(1), np.float32(0)), np.float32(1))
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


@pytest.mark.slow
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
    with pytest.raises(InputError, match="does not accept missing values"):
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


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [False, True], ids=["text", "numbers"])
@pytest.mark.parametrize("kind", ["soft", "hard", "calibrated", "folds", "bagging"])
def test_categories_go_where_each_member_sends_them(kind, numbers):
    if kind == "bagging" and not numbers:
        return  # it makes an array of the frame, in which text is no number
    asked = 0
    for seed in range(FIRST, FIRST + MODELS):
        random = np.random.default_rng(seed)
        X, y = table(seed, numbers)
        model = model_of(kind, random, X, y, numbers)
        explainer = Explainer(model, X)
        columns = raws(model, X, CODED)
        for place in random.integers(0, len(X), QUERIES):
            own = model.predict(X.iloc[[place]]).item()
            target = next(label for label in np.unique(model.predict(X)) if label != own)
            reached = partial(_are, model, target)
            best = cheapest(columns, X.iloc[place], X, reached, MOST_ROWS)
            if best is None:
                continue
            result = explainer.explain(X.iloc[[place]], target=target)
            where = f"{kind} {numbers} {seed} {place} {model}"
            assert result.status == ("infeasible" if math.isinf(best) else "optimal"), where
            assert result.distance == pytest.approx(best, rel=1e-9, abs=1e-12), where
            asked += 1
    assert asked >= MODELS


def _are(model, target, rows):
    return model.predict(rows) == target


def test_a_column_of_categories_that_a_bagging_draws_twice_is_refused():
    X, y = table(0, True)
    below = HistGradientBoostingClassifier(max_iter=1, categorical_features=[2, 3])
    model = BaggingClassifier(below, 2, bootstrap_features=True, random_state=0).fit(X, y)
    with pytest.raises(
        UnsupportedModelError, match=r"a column twice\. Set bootstrap_features=False"
    ):
        Explainer(model, X)


def test_numbers_that_one_member_takes_for_missing_are_numbers_to_another(data):
    X, _, y = data
    whole = X.assign(debt=X.debt.round()).abs().round(1)
    members = [
        ("a", XGBClassifier(n_estimators=2, max_depth=2, missing=1.0)),
        ("b", Tree(max_depth=2)),
    ]
    model = VotingClassifier(members, voting="soft").fit(whole, y)
    cuts, _ = thresholds(model, 2)
    columns = [
        Raw(name, around([*cuts[at], *NEAR_1], *whole[name].agg(["min", "max"]), True),
            spread=whole[name].max() - whole[name].min())
        for at, name in enumerate(whole.columns)
    ]  # fmt: skip
    explainer = Explainer(model, whole, {"debt": "numeric"})
    for place in range(3):
        own = model.predict(whole.iloc[[place]])[0]
        best = cheapest(
            columns, whole.iloc[place], whole, lambda rows, o=own: model.predict(rows) != o
        )
        result = explainer.explain(whole.iloc[place])
        assert result.status == "optimal"
        assert result.distance == pytest.approx(best, rel=1e-9, abs=1e-12)
