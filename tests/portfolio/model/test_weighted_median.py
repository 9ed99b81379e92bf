"""AdaBoost of regression trees, compared with all rows by the model's own predict."""

import math

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import AdaBoostRegressor, IsolationForest, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from encoders.core.errors import InputError, UnsupportedModelError
from portfolio import AtLeast, Explainer, Plausibility
from tests.support.few import few_of
from tests.support.whole_grids import (
    check_gaps,
    check_predictions,
    check_ranges_and_moves,
    check_smallest_reasons,
    compare,
    costs,
    every_row,
    whole_table,
    with_gaps,
)

Tree = DecisionTreeRegressor
MODELS = {
    "one tree": lambda: AdaBoostRegressor(n_estimators=1),
    "two trees": lambda: AdaBoostRegressor(n_estimators=2),
    "shallow trees": lambda: AdaBoostRegressor(n_estimators=9),
    "stumps": lambda: AdaBoostRegressor(Tree(max_depth=1), n_estimators=30, loss="exponential"),
    "deep trees": lambda: AdaBoostRegressor(Tree(), n_estimators=12, loss="square"),
    "extra trees": lambda: AdaBoostRegressor(ExtraTreeRegressor(max_depth=4), n_estimators=25),
    "slow": lambda: AdaBoostRegressor(n_estimators=7, learning_rate=0.1),
    "steps": lambda: AdaBoostRegressor(
        make_pipeline(StandardScaler(), Tree(max_depth=3)), n_estimators=5
    ),
}
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(1, 9))]


def fitted(name, seed, X, score):
    return MODELS[name]().set_params(random_state=seed).fit(X, score)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "whole"), few_of(MODELS, [False, True]))
def test_predictions_are_limited(name, whole, seed):
    X, score = whole_table(seed)
    score = np.round(score) if whole else score  # many trees predict the same whole number
    model = fitted(name, seed, X, score)
    assert check_predictions(model, X, seed, 2) == 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_equal_weights_tie(seed):
    """An even number of trees of the same weight has two medians, of which predict takes one."""
    X, score = whole_table(seed)
    model = fitted("extra trees", seed, X, np.round(score))
    model.estimators_ = model.estimators_[:6]
    model.estimator_weights_ = np.full(6, [1.0, 0.1][seed % 2])  # sums of 0.1 are rounded
    assert check_predictions(model, X, seed, 2) == 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_ranges_and_moves_are_reached(seed):
    X, score = whole_table(seed)
    model = fitted("shallow trees", seed, X, score)
    check_ranges_and_moves(model, X, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_companions_have_no_votes(seed):
    X, score = whole_table(seed)
    model = fitted("shallow trees", seed, X, score)
    forest = RandomForestRegressor(5, max_depth=3, random_state=seed).fit(X, score)
    outliers = IsolationForest(n_estimators=10, contamination=0.2, random_state=seed).fit(X)
    rows, query = every_row(X), X.iloc[[seed]]
    one, two, inside = model.predict(rows), forest.predict(rows), outliers.predict(rows) == 1
    limit = float(np.quantile(one, 0.8))
    cost = costs(rows, X.iloc[seed])
    plausible = Explainer(model, X, plausibility=Plausibility(outliers))
    best = cost[(one >= limit) & inside].min(initial=math.inf)
    compare(plausible.explain(query, target=AtLeast(limit)), best)
    both = (one >= limit) & (two >= limit)
    for first, second in ((model, forest), (forest, model)):
        explainer = Explainer(first, X, also=[second])
        compare(explainer.explain(query, target=AtLeast(limit)), cost[both].min(initial=math.inf))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_pipelines_fill_gaps_and_encode(seed):
    X, score = whole_table(seed)
    gaps = with_gaps(X, seed)
    filled = make_pipeline(SimpleImputer(), MODELS["shallow trees"]()).fit(gaps, score)
    assert check_gaps(filled, gaps) == 2
    X, score = whole_table(seed, categories=True)
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    search = GridSearchCV(MODELS["shallow trees"](), {"n_estimators": [3, 5]}, cv=2)
    assert check_predictions(make_pipeline(columns, search).fit(X, score), X, seed, 2) == 8


@pytest.mark.slow
def test_what_defines_no_median_is_refused():
    X, score = whole_table(3)
    model = fitted("shallow trees", 3, X, score)
    model.estimator_weights_ = -model.estimator_weights_
    for refused, words in (
        (model, "estimator_weights_ .* do not define a median"),
        (AdaBoostRegressor(), "is not fitted"),
    ):
        with pytest.raises(UnsupportedModelError, match=words):
            Explainer(refused, X)
    with pytest.raises(InputError, match="does not accept missing values"):
        Explainer(fitted("stumps", 3, X, score), X, features={"a": {"missing": True}})


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_smallest_reasons_are_found(seed):
    X, score = whole_table(seed)
    model = fitted("shallow trees", seed, X, score)
    check_smallest_reasons(model, X, seed)
