"""Answers for one classifier per class, compared with all rows by the model's own predict."""

import math

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder
from xgboost import XGBClassifier

from encoders.core.errors import InputError, UnsupportedModelError
from portfolio import Explainer, Fixed, Probability
from tests.portfolio.model.test_thresholds import MODELS, SEEDS
from tests.support.whole_grids import (
    BLUR,
    check_classes,
    check_gaps,
    compare,
    costs,
    every_row,
    whole_table,
    with_gaps,
)

LIMITS = {2: [3], 3: [1, 5]}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_classes", LIMITS)
@pytest.mark.parametrize("name", MODELS)
def test_classes_are_those_of_the_largest_number(name, n_classes, seed):
    X, score = whole_table(seed)
    model = OneVsRestClassifier(MODELS[name]()).fit(X, np.digitize(score, LIMITS[n_classes]))
    assert check_classes(model, X, seed, 2) == 2 * (n_classes - 1)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", LIMITS)
@pytest.mark.parametrize("name", ["forest", "xgboost"])
def test_members_and_owners_may_be_pipelines(name, n_classes):
    X, score = whole_table(4, categories=True)
    y = np.digitize(score, LIMITS[n_classes])
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    inner, outer = make_pipeline(columns, MODELS[name]()), OneVsRestClassifier(MODELS[name]())
    for model in (OneVsRestClassifier(inner), make_pipeline(columns, outer)):
        assert check_classes(model.fit(X, y), X, 4, 2) == 2 * (n_classes - 1)


@pytest.mark.slow
def test_rows_with_gaps_and_thresholds_around_are_answered():
    X, score = whole_table(5)
    y, gaps = (score > 3).astype(int), with_gaps(X, 5)
    model = OneVsRestClassifier(XGBClassifier(n_estimators=4, max_depth=3)).fit(gaps, y)
    assert check_gaps(model, gaps) == 2
    for name in ("forest", "xgboost", "boosting"):
        inner = OneVsRestClassifier(MODELS[name]())
        around = FixedThresholdClassifier(inner, threshold=0.45, response_method="predict_proba")
        assert check_classes(around.fit(X, y), X, 5, 2) == 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["boosting", "histograms", "adaboost"])
def test_thresholds_of_members_are_ignored(name, seed):
    """Members compare their decision_function, which does not contain the threshold."""
    X, score = whole_table(seed)
    member = TunedThresholdClassifierCV(MODELS[name](), cv=2, random_state=seed)
    model = OneVsRestClassifier(member).fit(X, np.digitize(score, [1, 5]))
    assert check_classes(model, X, seed, 2) == 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_classes", [3, 9])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "votes"])
def test_probabilities_are_divided_by_their_sum(name, n_classes, seed):
    X, score = whole_table(seed)
    cuts = [1, 5] if n_classes == 3 else np.quantile(score, np.arange(1, 9) / 9)
    model = OneVsRestClassifier(MODELS[name]()).fit(X, np.digitize(score, cuts))
    assert check_shares(model, X, seed, [0, n_classes - 1]) == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["forest", "xgboost", "bagged boosting"])
def test_probabilities_behind_steps_and_of_rows_with_gaps(name):
    X, score = whole_table(4, categories=True)
    y = np.digitize(score, [1, 5])
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    inner, outer = make_pipeline(columns, MODELS[name]()), OneVsRestClassifier(MODELS[name]())
    for model in (OneVsRestClassifier(inner), make_pipeline(columns, outer)):
        assert check_shares(model.fit(X, y), X, 4, [1]) == 2
    gaps = with_gaps(X[["a", "b", "c"]], 4)
    model = OneVsRestClassifier(MODELS[name]()).fit(gaps, y)
    explainer = Explainer(model, gaps)
    place = int(np.flatnonzero(gaps["a"].isna())[0])
    rows = every_row(whole_table(4)[0]).astype(float)
    rows = rows[rows["a"] == 0].assign(a=np.nan)
    shares = model.predict_proba(rows)[:, 2]
    good = shares >= np.quantile(shares, 0.8) + BLUR
    cost = costs(rows.fillna(-1), gaps.iloc[place].fillna(-1))
    target = Probability(2, at_least=float(np.quantile(shares, 0.8)) + BLUR)
    answer = explainer.explain(gaps.iloc[[place]], target=target, constraints=[Fixed("a")])
    compare(answer, cost[good].min(initial=math.inf))


def check_shares(model, X, seed, classes):
    """Compare answers that reach a probability, to the last bit, with the best of all rows."""
    rows, explainer, query = every_row(X), Explainer(model, X), X.iloc[[seed]]
    cost, tried = costs(rows, X.iloc[seed]), 0
    for at in classes:
        shares = model.predict_proba(rows)[:, at].astype(float)
        limit = float(np.quantile(shares, 0.8, method="nearest"))
        near = np.flatnonzero(np.abs(shares - limit) < 1e-6)
        shares[near] = [model.predict_proba(rows.iloc[[row]])[0, at] for row in near]
        for target, good in (
            (Probability(at, at_least=limit), shares >= limit),
            (Probability(at, at_most=limit), shares <= limit),
        ):
            best = cost[good].min(initial=math.inf)
            compare(explainer.explain(query, target=target), best)
            tried += 1
    return tried


def test_what_has_no_probabilities_or_sums_is_refused():
    X, score = whole_table(5)
    y = np.digitize(score, [1, 5])
    by_score = make_pipeline(KBinsDiscretizer(3), RidgeClassifier())
    explainer = Explainer(OneVsRestClassifier(by_score).fit(X, y), X)
    with pytest.raises(InputError, match="a OneVsRestClassifier has no probabilities"):
        explainer.explain(X.iloc[[0]], target=Probability(0, at_least=0.4))
    for model, words in (
        (OneVsRestClassifier(RandomForestRegressor(3)), "not a supported function of its leaves"),
        (OneVsRestClassifier(MODELS["forest"]()), "several outputs"),
        (OutputCodeClassifier(MODELS["forest"]()), "OutputCodeClassifier cannot be read exactly"),
    ):
        many = words == "several outputs"
        model.fit(X, np.c_[y > 0, y > 1].astype(int) if many else y)
        with pytest.raises(UnsupportedModelError, match=words):
            Explainer(model, X)
    with pytest.raises(UnsupportedModelError, match="is not fitted"):
        Explainer(OneVsRestClassifier(MODELS["forest"]()), X)
