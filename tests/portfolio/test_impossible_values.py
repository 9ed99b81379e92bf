"""Values that no row can have, codes that were not declared, and empty lists are refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from counterfolio import (
    Allowed,
    AllowedPairs,
    Becomes,
    Explainer,
    Forbidden,
    InputError,
    JointCost,
    MaxChanges,
    Precedence,
    Within,
)


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"rooms": rng.permutation(np.repeat([1, 2, 4, 5], 20))})
    X["sex"] = rng.integers(0, 2, 80)
    X["debt"] = np.where(rng.random(80) < 0.2, -7.0, rng.integers(0, 9, 80))
    y = (X.rooms + X.debt > 6).astype(int)
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    explainer = Explainer(model, X, features={"debt": {"missing_codes": [-7]}})
    return explainer, {"rooms": 1, "sex": 0, "debt": 2}


@pytest.mark.parametrize(
    "rule",
    [
        JointCost("sex", "rooms", {(7, 1): 0.5}),
        JointCost("sex", "rooms", {(1, 1.5): 0.5}),
        AllowedPairs("sex", "rooms", [(7, 1), (0, 1)]),
        Forbidden(Becomes("sex", 7)),
        Allowed("sex", [0, 7]),
    ],
)
def test_constraint_on_a_value_that_no_row_can_have_is_refused(case, rule):
    explainer, row = case
    with pytest.raises(InputError, match=r"no row can have the value (7|1\.5)"):
        explainer.explain(row, constraints=[rule])


@pytest.mark.parametrize(
    ("table", "words"),
    [({7: 1, 1: 1}, "no row can have the value 7 of sex"), ({}, "cost table of 'sex' is empty")],
)
def test_cost_table_of_impossible_or_no_values_is_refused(case, table, words):
    explainer, row = case
    with pytest.raises(InputError, match=words):
        explainer.explain(row, norm={"sex": table})


def test_values_that_no_training_row_has_but_a_row_may_have_are_priced(case):
    explainer, row = case
    outside = {"rooms": 12, "sex": 0, "debt": 2}  # beyond the bounds
    costs = JointCost("rooms", "debt", {(3, 5): 0.5, (12, -7): 0.5, (12, 5): 0.1})
    for x in (row, outside):
        assert explainer.explain(x, constraints=[costs]).status == "optimal"
        assert explainer.explain(x, norm={"debt": {-7: 1, 8: 2}}).stop_reason == "proved"


def test_within_supports_declared_codes_only(case):
    explainer, row = case
    with pytest.raises(InputError, match=r"-7 is not a code .* of rooms \(its codes: none\)"):
        explainer.explain(row, constraints=[Forbidden(Within("rooms", 2, 3, codes=[-7]))])
    rule = Forbidden(Within("debt", 2, 3, codes=[-7]))
    assert explainer.explain(row, constraints=[rule]).status == "optimal"


def test_empty_lists_of_features_or_categories_are_refused():
    with pytest.raises(InputError, match="among= is empty"):
        MaxChanges(1, among=[])
    with pytest.raises(InputError, match="lists no categories"):
        Precedence("housing", [])
