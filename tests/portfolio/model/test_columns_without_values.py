"""Columns without any value in the training frame: fixed, whatever the model was trained on."""

import itertools

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from counterfolio import Explainer, InputError

N = 200


def forest():
    return RandomForestClassifier(6, max_depth=4, random_state=0)


def encoded():
    towns = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(
        make_column_transformer((towns, ["gap"]), remainder="passthrough"), forest()
    )


MODELS = {
    "forest": forest,
    "lightgbm": lambda: LGBMClassifier(n_estimators=5, max_depth=3, verbose=-1),
    "xgboost": lambda: XGBClassifier(n_estimators=5, max_depth=3),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=5, max_depth=3),
    "scaled": lambda: make_pipeline(StandardScaler(), forest()),
    "imputed": lambda: make_pipeline(SimpleImputer(), forest()),
}


def table(trained):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"x": rng.integers(0, 21, N), "k": rng.integers(0, 4, N), "gap": rng.normal(size=N)}
    )
    y = ((X.x > 9) & (X.k > 1) ^ (X.gap > 0.7)).astype(int)
    if trained == "gaps":
        X.loc[::3, "gap"] = np.nan
    return X, y


def check(model, X, values, seen):
    """Compare answers with the least cost over all rows that differ in x and k; how many."""
    explainer = Explainer(model, X.assign(gap=seen))
    assert explainer.features.named("gap").action == "fixed"
    tried = 0
    for at, value in enumerate(values):
        row = X.iloc[[at * 7 + 4]].assign(gap=pd.Series([value], index=[at * 7 + 4]))
        result = explainer.explain(row)
        grid = pd.DataFrame(itertools.product(range(21), range(4)), columns=["x", "k"])
        rows = grid.assign(gap=[value] * len(grid))
        cost = (rows.x - row.x.iloc[0]).abs() / 20 + (rows.k - row.k.iloc[0]).abs() / 3
        reached = model.predict(rows) != model.predict(row)[0]
        tried += 1
        if not reached.any():
            assert result.status == "infeasible"
            continue
        assert result.status == "optimal"
        assert result.distance == pytest.approx(cost[reached].min(), abs=1e-12)
        assert result.counterfactual["gap"].equals(row["gap"])
    return tried


@pytest.mark.slow
@pytest.mark.parametrize("trained", ["whole", "gaps"])
@pytest.mark.parametrize("kind", MODELS)
def test_a_column_that_broke_after_training_is_fixed(kind, trained):
    X, y = table(trained)
    model = MODELS[kind]().fit(X, y)
    assert check(model, X, [np.nan, 0.3, 1.0, -5.0], np.nan) == 4


@pytest.mark.parametrize("kind", ["scaled", "imputed"])
def test_numbers_that_are_all_none_are_numbers_to_a_pipeline(kind):
    X, y = table("whole")
    assert check(MODELS[kind]().fit(X, y), X, [np.nan, 0.3], None) == 2


@pytest.mark.parametrize("kind", ["forest", "lightgbm", "xgboost", "imputed"])
def test_a_column_that_never_had_a_value_is_fixed(kind):
    X, y = table("whole")
    X = X.assign(gap=np.nan)
    assert check(MODELS[kind]().fit(X, y), X, [np.nan, 0.3, 1.0], np.nan) == 3


def test_a_number_that_the_steps_lose_is_refused():
    X, y = table("whole")
    X = X.assign(gap=np.nan)
    explainer = Explainer(MODELS["scaled"]().fit(X, y), X)
    assert explainer.explain(X.iloc[[4]]).status == "optimal"
    with pytest.raises(InputError, match=r"gap is 0\.3, but no training row has a value"):
        explainer.explain(X.iloc[[4]].assign(gap=0.3))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [object, "string", "category"])
def test_text_without_any_value_is_fixed(dtype):
    X, y = table("whole")
    town = np.where(X.gap > 0, "a", "b").astype(object)
    model = encoded().fit(X.assign(gap=town), y)
    seen = pd.Series([None] * N).astype(dtype)
    assert check(model, X.assign(gap=town), [None, "new"], seen) == 2
    with pytest.raises(InputError, match=r"gap is 'a'.*\. Leave it missing"):
        Explainer(model, X.assign(gap=seen)).explain({"x": 3, "k": 1, "gap": "a"})


def test_bounds_make_a_column_without_values_free():
    X, y = table("whole")
    model = MODELS["xgboost"]().fit(X, y)
    described = {"gap": {"bounds": [-2, 2]}}
    explainer = Explainer(model, X.assign(gap=np.nan), features=described)
    right = Explainer(model, X, features=described)
    for at in range(0, 40, 9):
        assert explainer.explain(X.iloc[at]).distance == right.explain(X.iloc[at]).distance
