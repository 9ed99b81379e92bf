"""Explainers without training rows, where every column is described."""

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from counterfolio import Explainer, InputError

KNOWN = {
    "age": {"kind": "ordinal", "bounds": [17, 90]},
    "gain": {"kind": "numeric", "bounds": [0, 9]},
    "city": {"kind": "categorical", "labels": ["a", "b", "c"]},
    "member": "binary",
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(17, 91, 300), "gain": rng.uniform(0, 9, 300).round(2)}
    columns |= {"city": rng.choice(list("abc"), 300), "member": rng.integers(0, 2, 300)}
    X = pd.DataFrame(columns)
    X.loc[0, ["age", "gain"]], X.loc[1, ["age", "gain"]] = (17, 0.0), (90, 9.0)
    return X, ((X.age > 40) & (X.city != "b") | (X.gain > 7)).astype(int)


def described(model, X, features):
    row = X.iloc[[5]]
    full = Explainer(model, X)
    wanted = full.explain(row).distance
    for rows in (None, X.head(0)):
        assert Explainer(model, rows, features=features).explain(row).distance == wanted
    assert Explainer(model, None, features=full.features).explain(row).distance == wanted


@pytest.mark.slow
def test_answers_are_those_with_training_rows_of_the_same_bounds(table):
    X, y = table
    steps = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    described(make_pipeline(steps, RandomForestClassifier(5, max_depth=4)).fit(X, y), X, KNOWN)
    typed = X.astype({"city": "category"})
    boosting = xgboost.XGBClassifier(n_estimators=5, enable_categorical=True)
    described(boosting.fit(typed, y), typed, KNOWN)
    histogram = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    described(histogram.fit(typed, y), typed, KNOWN)
    dummies = pd.get_dummies(X, columns=["city"])
    group = KNOWN | {"city": "categorical"}
    described(RandomForestClassifier(5, max_depth=4).fit(dummies, y), dummies, group)


def test_columns_that_are_not_described_are_named(table):
    X, y = table
    model = RandomForestClassifier(3).fit(X[["age", "gain", "member"]], y)
    with pytest.raises(InputError, match="does not describe 'gain', 'member'"):
        Explainer(model, None, features={"age": KNOWN["age"]})
    with pytest.raises(InputError, match="does not describe 'age'"):
        Explainer(model, X[["age", "gain", "member"]].head(0), features=KNOWN | {"age": "ordinal"})


def test_scales_of_training_rows_are_refused_without_any(table):
    X, y = table
    numbers = X[["age", "gain"]]
    model = RandomForestClassifier(3).fit(numbers, y)
    explainer = Explainer(model, features={name: KNOWN[name] for name in numbers})
    with pytest.raises(InputError, match="scale 'std' needs training rows"):
        explainer.explain(numbers.iloc[0], scale="std")
