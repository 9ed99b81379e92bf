"""Inputs that break careless arithmetic: neighbouring thresholds, ties, extremes, constants."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from encoders.trees.floats import largest_at_most, last_read_as, next_above
from portfolio import Explainer, Fixed, HardVotingClassifier, Increase, InputError, Range
from tests.support.brute import Spec, all_rows, decides, distances, thresholds

# One base value and small whole numbers of float32 steps: neighbours collide and touch.
ANCHORS = (0.0, 1.0, -1.0, 0.1, 1e-40, -1e-40, 1e30, -3e38, 3.4e38, 16777216.0, 1e-7)
UGLY = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)


def steps(anchor, count):
    """The float32 ``count`` steps away from the anchor's float32."""
    value = np.float32(anchor)
    for _ in range(abs(count)):
        value = np.nextafter(value, np.float32(np.inf if count > 0 else -np.inf))
    return float(value)


@st.composite
def ugly_tables(draw):
    """Training rows a few float32 steps apart, and a query that float32 may not hold."""
    n_columns = draw(st.integers(1, 2))
    anchor = draw(st.sampled_from(ANCHORS))
    cell = st.integers(-3, 3).map(lambda k: steps(anchor, k))
    rows = draw(st.lists(st.tuples(*[cell] * n_columns), min_size=4, max_size=12))
    X = np.array(rows)
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))))
    y[:2] = [0, 1]
    x = X[draw(st.integers(0, len(rows) - 1))].copy()
    if draw(st.booleans()):  # between two float32 values
        x[0] = np.nextafter(x[0], draw(st.sampled_from([-1e300, 1e300])))
    return X, y, x


def compare_with_brute_force(model, X, x):
    kinds = {f"x{i}": "numeric" for i in range(X.shape[1])}
    explainer = Explainer(model, X, features=kinds)
    specs = [
        Spec(f"x{i}", "numeric", (i,), X[:, i].min(), X[:, i].max()) for i in range(X.shape[1])
    ]
    cuts, dtype = thresholds(model, X.shape[1])
    rows = all_rows(specs, x, model, dtype, cuts, limit=100_000)
    current = model.predict(x[None, :])[0]
    units = [(s.upper - s.lower) if 0 < s.upper - s.lower < math.inf else 1.0 for s in specs]
    for target in model.classes_:
        if target == current or len(model.classes_) < 2:
            continue
        valid = decides(model, rows, target)
        best = distances(specs, x, rows[valid], 1, units, [1.0] * len(specs)).min(initial=np.inf)
        result = explainer.explain(x, target=target, threads=1)
        if math.isinf(best):
            assert result.status == "infeasible"
            continue
        assert result.status == "optimal"
        assert result.distance == pytest.approx(best, rel=1e-9, abs=1e-300)
        assert model.predict(result.counterfactual[None, :])[0] == target


@pytest.mark.slow
@UGLY
@given(ugly_tables(), st.integers(1, 3), st.booleans())
def test_neighbouring_floats_in_forests(table, n_trees, hard):
    X, y, x = table
    model = RandomForestClassifier(n_trees, max_depth=3, random_state=0).fit(X, y)
    compare_with_brute_force(HardVotingClassifier.from_fitted(model) if hard else model, X, x)


@pytest.mark.slow
@UGLY
@given(ugly_tables(), st.integers(1, 4))
def test_neighbouring_floats_in_trees(table, depth):
    X, y, x = table
    compare_with_brute_force(
        DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y), X, x
    )


@pytest.mark.slow
@UGLY
@given(ugly_tables())
def test_neighbouring_floats_in_xgboost(table):
    from xgboost import XGBClassifier

    X, y, x = table
    y = (y > 0).astype(int)
    y[:2] = [0, 1]
    if np.abs(X).max() > 1e37:  # XGBoost reads such values as missing
        X, x = X / 1e3, x / 1e3
    model = XGBClassifier(n_estimators=2, max_depth=2, min_child_weight=0, reg_lambda=0)
    model.fit(X, y)
    compare_with_brute_force(model, X, x)


@given(st.floats(allow_nan=False), st.sampled_from([np.float32, np.float64]), st.booleans())
def test_rounding_to_representable(value, kind, strict):
    dtype = np.dtype(kind)
    below = float(largest_at_most(value, dtype, strict=strict))
    assert below < value if strict and math.isfinite(value) else below <= value
    assert float(np.asarray(below).astype(dtype)) == below
    above = next_above(below, dtype)
    assert not (above < value or (not strict and above == value)) or math.isinf(value)
    if kind is np.float32 and math.isfinite(above) and math.isfinite(below):
        last = float(last_read_as(np.array(below), dtype))
        assert below <= last < above
        assert float(dtype.type(last)) == below
        assert float(dtype.type(np.nextafter(last, np.inf))) == above


def test_query_exactly_on_a_threshold():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    result = Explainer(model, X, {"x0": "numeric"}).explain([1.5], target=1)
    # The first float64 that rounds to the float32 right after 1.5.
    value = result.counterfactual[0]
    after = np.nextafter(np.float32(1.5), np.float32(2))
    assert np.float32(value) == after and np.float32(np.nextafter(value, 0)) == np.float32(1.5)
    assert model.predict([[1.5]])[0] == 0
    assert model.predict(result.counterfactual[None, :])[0] == 1


@pytest.mark.parametrize("kind", ["xgboost", "forest"])
def test_the_largest_training_value_can_be_had(kind):
    """0.8 is no float32; the one it rounds to lies above, and a threshold may be just there."""
    X = pd.DataFrame({"rate": np.tile([0.2, 0.4, 0.6, 0.8], 50)})
    y = (X["rate"] == 0.8).astype(int)
    made = XGBClassifier(n_estimators=3, max_depth=2) if kind == "xgboost" else (
        RandomForestClassifier(3, random_state=0))  # fmt: skip
    explainer = Explainer(made.fit(X, y), X)
    for backend in ("auto", "cp"):
        result = explainer.explain(X.iloc[0], target=1, strategy=backend)
        assert result.status == "optimal" and result.distance <= 1.0
        assert made.predict(result.counterfactual.to_frame().T)[0] == 1
    exact = explainer.explain(X.iloc[0], target=1, constraints=[Range("rate", 0.8)])
    assert exact.counterfactual["rate"] == 0.8


def test_constant_and_one_leaf_trees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    stump = RandomForestClassifier(3, max_depth=1, min_samples_leaf=30, random_state=0).fit(X, y)
    assert all(tree.tree_.node_count == 1 for tree in stump.estimators_)
    other = 1 - stump.predict(X[:1])[0]
    result = Explainer(stump, X).explain(X[0], target=other)
    assert (result.status, result.counterfactual) == ("infeasible", None)
    forest.estimators_ += stump.estimators_
    forest.n_estimators = len(forest.estimators_)
    compare_with_brute_force(forest, X, X[0])


def test_a_model_of_one_class_is_refused():
    X = np.arange(6.0)[:, None]
    model = RandomForestClassifier(3, random_state=0).fit(X, ["a"] * 6)
    explainer = Explainer(model, X)
    for target in (None, "a"):
        with pytest.raises(InputError, match="a single class, 'a'"):
            explainer.explain(X[0], target=target)


def test_already_of_the_target_class():
    X = np.arange(6.0)[:, None]
    model = DecisionTreeClassifier().fit(X, [0, 0, 0, 1, 1, 1])
    result = Explainer(model, X).explain(X[0], target=0)
    assert (result.status, result.distance, result.verified) == ("optimal", 0.0, True)
    assert (result.counterfactual == X[0]).all()
    assert result.changes().empty
    assert json.loads(result.to_json())["distance"] == 0.0


@pytest.mark.parametrize("margin", [1e-25, 1e-310, 5e-324])
def test_scores_too_large_for_the_margin_are_not_called_a_proof(margin):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    model = RandomForestClassifier(4, max_depth=2, random_state=0).fit(X, y)
    x = X[model.predict(X) == 0][0]
    result = Explainer(model, X).explain(x, target=1, margin=margin)
    assert (result.status, result.stop_reason) == ("feasible", "error")
    assert result.lower_bound == 0.0
    assert "margin" in result.message
    assert model.predict(result.counterfactual[None, :])[0] == 1


def test_no_row_leads_by_a_huge_margin():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    forest = RandomForestClassifier(4, max_depth=2, random_state=0).fit(X, y)
    boosted = XGBClassifier(n_estimators=3, max_depth=2).fit(X, y)
    for model, voting in ((boosted, None), (forest, None), (forest, "hard")):
        explainer = Explainer(model, X, voting=voting)
        for margin in (1e15, 1e100, 1e300, float(np.finfo(float).max)):
            result = explainer.explain(X[0], margin=margin)
            assert (result.status, result.margin) == ("infeasible", margin)


@pytest.mark.parametrize("constraint", [Fixed("b"), Increase("b")])
def test_a_missing_whole_number_that_stays_goes_with_a_cost_of_your_own(constraint):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": rng.integers(0, 6, 60).astype(float)})
    y = (X["a"] + 0.3 * X["b"] > 1).astype(int)
    X.loc[:9, "b"] = np.nan
    model = XGBClassifier(n_estimators=3, max_depth=2).fit(X, y)
    explainer, asked = (
        Explainer(model, X),
        {"norm": lambda _, before, after: float(before != after)},
    )
    result = explainer.explain(X.iloc[0], constraints=[constraint], **asked)
    assert (result.status, [own.feature for own in result.changed]) == ("optimal", ["a"])
