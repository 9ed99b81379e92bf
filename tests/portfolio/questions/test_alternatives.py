"""Alternatives of one feature against the enumeration of all rows."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from xgboost import XGBClassifier

from counterfolio import AllowMissing, Explainer, Fixed, InputError

A, B, C = range(5), range(2), ["low", "mid", "top"]
EVERY = pd.DataFrame(list(itertools.product(A, B, C)), columns=["a", "b", "c"])
EVERY["c"] = pd.Categorical(EVERY["c"], categories=C)


def fitted(kind, seed):
    rng = np.random.default_rng(seed)
    X = EVERY.sample(120, replace=True, random_state=seed).reset_index(drop=True)
    y = X["a"] + 2 * X["b"] + 1.5 * X["c"].cat.codes + rng.normal(0, 1, len(X)) > 4.5
    if kind == "forest":
        X, every = (pd.get_dummies(each, columns=["c"], dtype=float) for each in (X, EVERY))
        model = RandomForestClassifier(8, max_depth=4, random_state=seed)
        return model.fit(X, y), X, every
    model = {
        "xgboost": XGBClassifier(n_estimators=8, max_depth=3, enable_categorical=True),
        "histograms": HistGradientBoostingClassifier(
            max_iter=8, categorical_features="from_dtype", min_samples_leaf=4
        ),
    }[kind]
    return model.fit(X, y), X, EVERY


def ways_by_enumeration(at, reached, feature):
    """Return the least cost of each way in which the feature may change, scale none."""
    row, costs = EVERY.iloc[at], {}
    for other, reaches in zip(EVERY.itertuples(index=False), reached, strict=True):
        old, new = row[feature], getattr(other, feature)
        if old == new:
            way = "stays"
        elif feature == "a":
            way = "increases" if new > old else "decreases"
        else:
            way = f"becomes {new!r}"
        cost = abs(other.a - row["a"]) + (other.b != row["b"]) + (other.c != row["c"])
        costs[way] = min(costs.get(way, math.inf), cost if reaches else math.inf)
    return costs


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["forest", "xgboost", "histograms"])
def test_each_way_is_the_cheapest_of_all_rows(kind):
    pairs = 0
    for seed in range(2):
        model, X, every = fitted(kind, seed)
        explainer = Explainer(model, X)
        predicted = model.predict(every)
        for at in range(seed, len(every), 7):
            reached = predicted != predicted[at]
            for feature in "abc":
                answer = explainer.alternatives_of(every.iloc[at], feature, scale="none", threads=1)
                ways = ways_by_enumeration(at, reached, feature)
                found = {each.way: each.result.distance for each in answer.ways}
                assert found == pytest.approx(ways), (seed, at, feature)
                assert answer.status == "optimal"
                assert answer.cheapest.result.distance == min(ways.values())
                pairs += len(ways)
    assert pairs > 60


@pytest.fixture(scope="module")
def case():
    model, X, every = fitted("xgboost", 0)
    return Explainer(model, X, features={"c": {"missing": True}}), every


def test_ways_that_constraints_rule_out_are_left_out(case):
    explainer, every = case
    fixed = explainer.alternatives_of(every.iloc[0], "a", constraints=[Fixed("a")])
    assert [each.way for each in fixed.ways] == ["stays"]
    rules = [Fixed("a"), AllowMissing("c")]
    missing = explainer.alternatives_of(every.iloc[0], "c", constraints=rules)
    ways = [each.way for each in missing.ways]
    assert ways == ["stays", "becomes 'mid'", "becomes 'top'", "becomes missing"]
    assert json.loads(missing.to_json())["ways"][0]["way"] == "stays"
    assert str(missing).startswith("c stays: ")


def test_an_unknown_feature_is_an_error_with_close_names(case):
    explainer, every = case
    with pytest.raises(InputError, match=r"unknown feature 'B'\. .*Use one of a, b, c"):
        explainer.alternatives_of(every.iloc[0], "B")


def test_without_time_nothing_is_claimed(case):
    explainer, every = case
    answer = explainer.alternatives_of(every.iloc[0], "a", time_limit_s=1e-9)
    assert answer.status == "unknown" and answer.stop_reason == "time_limit"
    assert len(answer.ways) < 2
