"""Starting trees, probabilities for labels, votes with gaps: by every row of a table."""

import math

import numpy as np
import pytest
from catboost import CatBoostClassifier
from lightgbm import Dataset, LGBMClassifier, train
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from xgboost import XGBClassifier

from encoders.core.errors import UnsupportedModelError
from portfolio import AtLeast, Explainer, HardVotingClassifier, Probability
from portfolio.model.open_file import open_model
from tests.support.whole_grids import (
    check_classes,
    check_gaps,
    check_predictions,
    compare,
    costs,
    every_row,
    whole_table,
    with_gaps,
)

STARTS = {
    "tree": (DecisionTreeClassifier(max_depth=3, random_state=0), "log_loss"),
    "pure tree": (DecisionTreeClassifier(random_state=0), "log_loss"),
    "extra tree": (ExtraTreeClassifier(max_depth=3, random_state=0), "log_loss"),
    "exponential": (DecisionTreeClassifier(max_depth=2, random_state=0), "exponential"),
}


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", STARTS)
def test_a_classifier_that_starts_from_a_tree(name, n_classes):
    init, loss = STARTS[name]
    if loss == "exponential" and n_classes == 3:
        pytest.skip("exponential loss is for two classes")
    X, score = whole_table(n_classes)
    y = np.digitize(score, np.quantile(score, [0.5] if n_classes == 2 else [0.3, 0.7]))
    model = GradientBoostingClassifier(n_estimators=3, max_depth=2, init=init, loss=loss)
    assert check_classes(model.fit(X, y), X, 1) == 3 * (n_classes - 1)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared_error", "huber", "quantile"])
@pytest.mark.parametrize(
    "init",
    [
        DecisionTreeRegressor(max_depth=3),
        ExtraTreeRegressor(max_depth=3, random_state=0),
        RandomForestRegressor(3, max_depth=3, random_state=0),
    ],
    ids=lambda own: type(own).__name__,
)
def test_a_regressor_that_starts_from_trees(init, loss):
    X, score = whole_table(5)
    model = GradientBoostingRegressor(n_estimators=3, max_depth=2, init=init, loss=loss)
    assert check_predictions(model.fit(X, score), X, 1, 1) == 4


def test_starts_that_are_no_sum_of_leaves_are_refused_by_name():
    X, score = whole_table(5)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    for init, words in ((LogisticRegression(), "LogisticRegression"), (forest, "RandomForest")):
        model = GradientBoostingClassifier(n_estimators=2, init=init).fit(X, score > 3)
        with pytest.raises(UnsupportedModelError, match=f"starts from a {words}.* DecisionTreeCla"):
            Explainer(model, X)


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize(
    "below",
    [
        GradientBoostingClassifier(n_estimators=3, max_depth=2),
        HistGradientBoostingClassifier(max_iter=3, max_depth=2),
        RandomForestClassifier(3, max_depth=3, random_state=0),
        LGBMClassifier(n_estimators=3, num_leaves=4, verbose=-1),
        XGBClassifier(n_estimators=3, max_depth=2),
        CatBoostClassifier(iterations=3, depth=2, verbose=0, allow_writing_files=False),
    ],
    ids=lambda own: type(own).__name__,
)
def test_temperature_calibration_of_text_labels(below, ensemble):
    if "temperature" not in CalibratedClassifierCV._parameter_constraints["method"][0].options:
        pytest.skip("scikit-learn 1.8 and later have it")
    X, score = whole_table(6)
    y = np.where(score > 3, "yes", "no")
    model = CalibratedClassifierCV(below, method="temperature", ensemble=ensemble, cv=2)
    assert check_classes(model.fit(X, y), X, 3) == 3


def test_calibration_of_catboost_with_a_threshold_of_its_own_is_refused():
    X, score = whole_table(6)
    below = CatBoostClassifier(iterations=3, depth=2, verbose=0, allow_writing_files=False)
    below.fit(X, (score > 3).astype(int)).set_probability_threshold(0.7)
    model = CalibratedClassifierCV(FrozenEstimator(below)).fit(X, (score > 3).astype(int))
    with pytest.raises(UnsupportedModelError, match="not over this CatBoostClassifier"):
        Explainer(model, X)


def test_a_classifier_of_lightgbm_with_cross_entropy_has_classes():
    X, score = whole_table(7)
    y = np.where(score > 3, "yes", "no")
    model = LGBMClassifier(objective="cross_entropy", n_estimators=4, num_leaves=5, verbose=-1)
    assert check_classes(model.fit(X, y), X, 3) == 3
    rows, goal = every_row(X), Probability("yes", at_least=0.55)
    best = costs(rows, X.iloc[0])[model.predict_proba(rows)[:, 1] >= 0.55].min(initial=math.inf)
    compare(Explainer(model, X).explain(X.iloc[[0]], target=goal), best)
    booster = train({"objective": "cross_entropy", "verbose": -1}, Dataset(X, score > 3), 4)
    best = costs(rows, X.iloc[0])[booster.predict(rows) >= 0.55].min(initial=math.inf)
    compare(Explainer(booster, X).explain(X.iloc[[0]], target=AtLeast(0.55)), best)


@pytest.mark.parametrize("shares", [False, True])
def test_a_classifier_of_catboost_with_cross_entropy_has_classes(shares, tmp_path):
    X, score = whole_table(8)
    chance = 1 / (1 + np.exp(3 - score)) if shares else (score > 3).astype(int)
    model = CatBoostClassifier(
        iterations=4, depth=2, loss_function="CrossEntropy", verbose=0, allow_writing_files=False
    ).fit(X, chance)
    model.save_model(str(tmp_path / "model.cbm"))
    assert check_classes(open_model(tmp_path / "model.cbm"), X, 3) == 3


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("seed", range(3))
def test_votes_of_a_forest_that_was_fitted_with_gaps(kind, seed):
    X, score = whole_table(seed)
    X = with_gaps(X, seed)
    forest = kind(5, max_depth=4, random_state=seed)
    model = HardVotingClassifier(forest).fit(X, (score > 3).astype(int))
    assert check_gaps(model, X) == 2


def test_votes_by_option_are_those_of_the_class():
    X, score = whole_table(1)
    X = X.astype(float)
    X.loc[::5, "a"] = np.nan
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, score > 3)
    row, model = X.iloc[[1]], HardVotingClassifier.from_fitted(forest)
    one, two = Explainer(forest, X, voting="hard"), Explainer(model, X)
    assert one.explain(row).distance == two.explain(row).distance
