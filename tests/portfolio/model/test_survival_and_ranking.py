"""Models of survival and rankers, whose predictions are limited as those of regressors are."""

import numpy as np
import pytest
import xgboost
from catboost import CatBoostRanker, CatBoostRegressor
from lightgbm import LGBMRanker
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from portfolio import AtLeast, Explainer
from portfolio.model.files import load_model
from tests.support.whole_grids import check_predictions, compare, costs, every_row, whole_table

pytestmark = pytest.mark.usefixtures("forked_children")

QUIET = {"iterations": 5, "depth": 3, "verbose": 0, "allow_writing_files": False}
FEW = {"n_estimators": 5, "max_depth": 3, "n_jobs": 1}
LIGHT = {"n_estimators": 5, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
RANKERS = {
    "pairs": lambda: xgboost.XGBRanker(objective="rank:pairwise", **FEW),
    "gains": lambda: xgboost.XGBRanker(objective="rank:ndcg", **FEW),
    "precision": lambda: xgboost.XGBRanker(objective="rank:map", **FEW),
    "lambda": lambda: LGBMRanker(**LIGHT),
    "cross entropy": lambda: LGBMRanker(objective="rank_xendcg", **LIGHT),
    "yeti": lambda: CatBoostRanker(**QUIET),
    "softmax": lambda: CatBoostRanker(loss_function="QuerySoftMax", **QUIET),
}
SURVIVAL = {
    "xgboost": lambda: xgboost.XGBRegressor(objective="survival:cox", **FEW),
    "catboost": lambda: CatBoostRegressor(loss_function="Cox", **QUIET),
}
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(1, 12))]
GROUP = 10  # rows


def ranked(name, seed):
    X, score = whole_table(seed)
    groups, gains = len(X) // GROUP, np.clip(np.round(score), 0, 4).astype(int)
    if name == "precision":
        gains = (gains > 2).astype(int)
    at = np.repeat(np.arange(groups), GROUP)
    given = {"LGBMRanker": {"group": [GROUP] * groups}, "CatBoostRanker": {"group_id": at}}
    model = RANKERS[name]()
    return model.fit(X, gains, **given.get(type(model).__name__, {"qid": at})), X


def times_of(score):
    """Return times, negative for censored rows."""
    return np.exp(score / 4) * np.where(np.arange(len(score)) % 3, 1.0, -1.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", RANKERS)
def test_scores_of_rankers_are_limited(name, seed):
    model, X = ranked(name, seed)
    assert check_predictions(model, X, seed, 2) == 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SURVIVAL)
def test_hazards_are_limited(name, seed):
    X, score = whole_table(seed)
    for model in (SURVIVAL[name](), make_pipeline(StandardScaler(), SURVIVAL[name]())):
        assert check_predictions(model.fit(X, times_of(score)), X, seed, 2) == 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_times_of_a_booster_are_limited(seed):
    X, score = whole_table(seed)
    matrix, times = xgboost.DMatrix(X), times_of(score)
    matrix.set_float_info("label_lower_bound", abs(times))
    matrix.set_float_info("label_upper_bound", np.where(times > 0, times, np.inf))
    booster = xgboost.train({"objective": "survival:aft", "max_depth": 3}, matrix, 5)
    rows, query = every_row(X), X.iloc[[seed]]
    predicted = booster.predict(xgboost.DMatrix(rows)).astype(np.float64)
    limit = float(np.quantile(predicted, 0.8))
    best = costs(rows, query.iloc[0])[predicted >= limit].min()
    compare(Explainer(booster, X).explain(query, target=AtLeast(limit)), best)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ending"), [("gains", "json"), ("lambda", "txt"), ("yeti", "cbm")]
)
def test_rankers_are_loaded_from_files(name, ending, tmp_path):
    model, X = ranked(name, 0)
    path = tmp_path / f"model.{ending}"
    (model.booster_ if ending == "txt" else model).save_model(str(path))
    loaded = load_model(path)
    goal = AtLeast(float(np.quantile(model.predict(X), 0.9)))
    one, two = (Explainer(each, X).explain(X.iloc[[0]], target=goal) for each in (model, loaded))
    assert one.status == two.status == "optimal" and one.distance == two.distance
