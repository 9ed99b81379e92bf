"""Targets that name a row to beat, compared with all rows by the model's own scores."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import xgboost
from lightgbm import LGBMRanker
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from portfolio import Beat, Explainer, InputError
from portfolio.questions.codec import decode_settings, encode_settings
from tests.support.whole_grids import compare, costs, every_row, whole_table

FEW = {"n_estimators": 5, "max_depth": 3, "n_jobs": 1}
LIGHT = {"n_estimators": 5, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
GROUP = 10  # rows
SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(2, 12))]


def rankings(score):
    return np.clip(np.round(score), 0, 4).astype(int)


def xgb_ranker(X, score):
    qid = np.arange(len(X)) // GROUP
    return xgboost.XGBRanker(objective="rank:ndcg", **FEW).fit(X, rankings(score), qid=qid)


def lgbm_ranker(X, score):
    return LGBMRanker(**LIGHT).fit(X, rankings(score), group=[GROUP] * (len(X) // GROUP))


MODELS = {
    "XGBRanker": (xgb_ranker, lambda model, rows: model.predict(rows)),
    "LGBMRanker": (lgbm_ranker, lambda model, rows: model.predict(rows)),
    "regressor": (
        lambda X, score: RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, score),
        lambda model, rows: model.predict(rows),
    ),
    "hazards": (
        lambda X, score: xgboost.XGBRegressor(objective="survival:cox", **FEW).fit(
            X, np.exp(score / 4)
        ),
        lambda model, rows: model.predict(rows),
    ),
    "classifier": (
        lambda X, score: xgboost.XGBClassifier(**FEW).fit(X, score > 3),
        lambda model, rows: model.predict(rows, output_margin=True),
    ),
    "forest": (
        lambda X, score: RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, score > 3),
        lambda model, rows: model.predict_proba(rows)[:, 1],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", MODELS)
def test_answers_beat_a_row_at_the_least_cost(name, seed):
    fit, numbers = MODELS[name]
    X, score = whole_table(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(X, score)
        rows, explainer = every_row(X), Explainer(model, X)
        scores = np.asarray(numbers(model, rows), dtype=np.float64)
        for place, other in np.random.default_rng(seed).choice(len(X), (6, 2)):
            own = scores[(rows == X.iloc[other]).all(axis=1).to_numpy()][0]
            cost = costs(rows, X.iloc[place])[scores > own]
            result = explainer.explain(X.iloc[[place]], target=Beat(X.iloc[other]))
            compare(result, cost.min(initial=np.inf))
            assert result.status == "infeasible" or result.score > own


@pytest.fixture(scope="module")
def houses():
    """A frame with a column of text, and a regressor of it."""
    X, score = whole_table(3, categories=True)
    X["kind"] = X["kind"].astype("category")
    model = xgboost.XGBRegressor(enable_categorical=True, **FEW).fit(X, score)
    return model, Explainer(model, X), X


def test_rows_in_all_forms_are_the_same_target(houses):
    model, explainer, X = houses
    best = X.iloc[[int(np.argsort(model.predict(X))[-20])]]
    row = best.iloc[0]
    forms = [best, row, dict(row), list(row), row.to_numpy(dtype=object)]
    results = [explainer.explain(X.iloc[[5]], target=Beat(form)) for form in forms]
    assert results[0].distance > 0 and results[0].score > float(model.predict(best)[0])
    assert {result.distance for result in results} == {results[0].distance}
    assert len({Beat(form) for form in forms[:3]}) == len({Beat(form) for form in forms[3:]}) == 1
    assert "a score above that of the given row" in str(results[0])


def test_a_row_to_beat_comes_back_from_json(houses):
    _, explainer, X = houses
    target = Beat(X.iloc[7])
    sent = json.loads(json.dumps(encode_settings({"target": target})))
    assert decode_settings(sent)["target"] == target
    written = decode_settings({"target": {"Beat": {"a": 1, "b": 2, "c": 3, "kind": "oak"}}})
    assert written["target"] == Beat([("a", 1), ("b", 2), ("c", 3), ("kind", "oak")])
    assert decode_settings({"target": {"Beat": {"row": [1, 2]}}})["target"] == Beat([1, 2])
    batch = explainer.explain_batch(X.iloc[:4], target=target)
    single = [explainer.explain(X.iloc[[at]], target=target).distance for at in range(4)]
    assert batch["distance"].tolist() == single


def test_missing_values_of_a_row_to_beat_are_kept():
    X, score = whole_table(4)
    X = X.astype(float)
    X.loc[::7, "a"] = np.nan
    model = xgboost.XGBRegressor(**FEW).fit(X, score)
    row = X.iloc[14]
    assert Beat(row) == Beat({**row, "a": None})
    result = Explainer(model, X).explain(X.iloc[[3]], target=Beat(row))
    assert result.score > float(model.predict(X.iloc[[14]])[0])


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("age", "needs a row such as a dict or a list"),
        ({}, "needs a row such as a dict or a list"),
        (pd.DataFrame({"a": [1, 2]}), "got a table of 2 rows"),
        ({"a": np.inf}, "contains inf"),
    ],
)
def test_what_is_not_a_row_cannot_be_beaten(row, words):
    with pytest.raises(InputError, match=words):
        Beat(row)


def test_a_row_to_beat_is_read_as_queries_are(houses):
    _, explainer, X = houses
    with pytest.raises(InputError, match=r"the row of Beat: .*kind"):
        explainer.explain(X.iloc[[0]], target=Beat({"a": 1, "b": 2, "c": 3}))


def test_models_of_several_scores_cannot_beat_a_row():
    X, score = whole_table(5)
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(
        X, np.digitize(score, [2, 5])
    )
    with pytest.raises(InputError, match="Beat supports models with one score; this one has 3"):
        Explainer(model, X).explain(X.iloc[[0]], target=Beat(X.iloc[1]))
