"""A missing value is a value of its own in relations: optima against brute force."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import encoders.formulation.layout
from encoders.formulation.axes import class_axes
from portfolio import (
    Allowed,
    AllowedPairs,
    AllowMissing,
    Becomes,
    Changes,
    Explainer,
    Forbidden,
    Implies,
    MaxChanges,
    Together,
    Within,
)

JOBS, TOWNS, HOURS = ["a", "b", "c"], ["n", "s"], [0.0, 1.0, 2.0, 3.0]
PRICE = 0.25  # of giving up a value


def imputed():
    text = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = [(text, ["job", "town"]), (SimpleImputer(strategy="median"), ["hours"])]
    return make_pipeline(make_column_transformer(*columns), DecisionTreeClassifier(max_depth=3))


MODELS = {
    "xgboost": lambda: XGBClassifier(
        n_estimators=2, max_depth=2, n_jobs=1, enable_categorical=True
    ),
    "lightgbm": lambda: LGBMClassifier(n_estimators=3, max_depth=2, verbose=-1, n_jobs=1),
    "histograms": lambda: HistGradientBoostingClassifier(
        max_iter=2, max_depth=1, categorical_features="from_dtype"
    ),
    "imputed": imputed,
}
# Each with what it demands of a row: (job, town, hours), None for a missing value.
RULES = [
    (Implies(Within("hours", 0, 9), Changes("job")), lambda r, q: r[2] is None or r[0] != q[0]),
    (Forbidden(Becomes("job", None)), lambda r, q: r[0] is not None),
    (Forbidden(Becomes("hours", None)), lambda r, q: r[2] is not None),
    (Together("job", "hours"), lambda r, q: (r[0] != q[0]) == (r[2] != q[2])),
    (Together("job", "town"), lambda r, q: (r[0] != q[0]) == (r[1] != q[1])),
    (Implies(Changes("hours"), Becomes("job", None)), lambda r, q: r[2] == q[2] or r[0] is None),
    (
        AllowedPairs("job", "town", [(None, "n"), ("b", None), (None, None)]),
        lambda r, q: r[:2] in [(None, "n"), ("b", None), (None, None)],
    ),
    (MaxChanges(2), lambda r, q: sum(a != b for a, b in zip(r, q, strict=True)) <= 2),
]


def frame(rows):
    jobs, towns, hours = zip(*rows, strict=True)
    columns = {"job": pd.Categorical(jobs, JOBS), "town": pd.Categorical(towns, TOWNS)}
    return pd.DataFrame(columns | {"hours": np.array([np.nan if h is None else h for h in hours])})


ALL = list(itertools.product([*JOBS, None], [*TOWNS, None], [*HOURS, None]))


def table():
    random = np.random.default_rng(3)
    X = frame([ALL[at] for at in random.integers(len(ALL), size=300)])
    score = (X.job != "c") * 1.0 + X.hours.fillna(2) + 0.5 * (X.town == "n")
    return X, (score > 2.4).astype(int)


def price(row, query):
    total = 0.0
    for at, (before, after) in enumerate(zip(query, row, strict=True)):
        if before != after:
            far = at == 2 and before is not None and after is not None
            total += abs(after - before) / 3 if far else PRICE if after is None else 1.0
    return total


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_optima_are_those_of_brute_force(name):
    X, y = table()
    model = MODELS[name]().fit(X, y)
    explainer = Explainer(model, X, features={"hours": {"kind": "ordinal"}})
    predicted = model.predict(frame(ALL))
    random, seen = np.random.default_rng(4), set()
    lack = [AllowMissing(column, PRICE) for column in X]
    for at in random.permutation(len(ALL))[:14].tolist():
        query = ALL[at]
        chosen = random.permutation(len(RULES))[: int(random.integers(1, 3))].tolist()
        rules, demands = zip(*(RULES[i] for i in chosen), strict=True)
        right = [
            price(row, query)
            for row, label in zip(ALL, predicted, strict=True)
            if label != predicted[at] and all(demand(row, query) for demand in demands)
        ]
        best = min(right, default=math.inf)
        found = explainer.explain(frame([query]), constraints=[*lack, *rules], strategy="search")
        seen.add(found.status)
        assert found.status == ("infeasible" if best == math.inf else "optimal"), (query, rules)
        assert found.distance == best or math.isclose(found.distance, best), (query, rules)
    assert "optimal" in seen


@pytest.mark.parametrize("kind", ["ordinal", "numeric"])
def test_a_number_that_may_only_be_missing(kind):
    """No cell of numbers is left, so that every answer found is admissible."""
    X, _ = table()
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    only, y = X[["hours"]], (X.hours.fillna(3) > 2).astype(int)
    explainer = Explainer(model.fit(only, y), only, features={"hours": {"kind": kind}})
    query = pd.DataFrame({"hours": [0.0]})
    assert model.predict(pd.DataFrame({"hours": [0.0, 3.0, np.nan]})).tolist() == [0, 1, 1]
    for price in (0.25, 2.0):
        rules = [Allowed("hours", [None]), AllowMissing("hours", price)]
        found = explainer.explain(query, constraints=rules)
        assert (found.status, found.distance, found.message) == ("optimal", price, "")
        assert np.isnan(found.counterfactual["hours"].iloc[0])


def two_of_a_kind():
    two = [(name, MODELS["histograms"]()) for name in "uv"]
    return VotingClassifier(two, voting="soft")


@pytest.mark.parametrize("make", [MODELS["xgboost"], two_of_a_kind])
def test_a_mistake_of_the_encoding_is_not_called_a_proof(monkeypatch, make):
    """Values that are merged by mistake: no backend can find the row, the check of rules does."""
    X, y = table()
    model = make().fit(X, y)
    query = frame([(None, "s", 0.0)])
    assert model.predict(query)[0] == 0
    explainer = Explainer(model, X, features={"hours": {"kind": "ordinal"}})
    rule = Forbidden(Becomes("job", None))
    right = explainer.explain(query, 1, constraints=[rule])
    assert right.status == "optimal"
    merged = lambda group, options, cuts, missing_apart: class_axes(group, options, cuts)  # noqa: E731
    monkeypatch.setattr(encoders.formulation.layout, "class_axes", merged)
    found = explainer.explain(query, 1, constraints=[rule])
    assert (found.status, found.stop_reason, found.lower_bound) == ("feasible", "error", 0.0)
    assert "nothing is proved" in found.message
    assert found.verified and found.distance >= right.distance
    assert not found.counterfactual["job"].isna().any()
    assert model.predict(found.counterfactual)[0] == 1
