"""Sums of features: with blends, with limits on changes, with large and with missing numbers."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import xgboost
import z3
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from encoders.formulation.sum_levels import Span, UnrepresentableError, cheapest_numbers
from portfolio import Explainer, Fixed, InputError, JointCost, Linear, MaxChanges, Range


@pytest.mark.slow
@pytest.mark.parametrize("few", [False, True], ids=["both classes", "one class"])
def test_sums_and_joint_costs_go_with_blends(few):
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "x": random.normal(50, 20, 150).round(2),
            "u": random.exponential(3, 150).round(3),
            "a": random.integers(0, 6, 150) * 1.0,
            "k": random.integers(0, 3, 150) * 1.0,
        }
    )
    y = ((X.x / 20 - X.u + X.a + random.normal(size=150)) > 2.5).astype(int)
    if few:
        y = np.r_[[1, 1], np.zeros(148, int)]
    boosted = [
        ("x", xgboost.XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1)),
        ("g", GradientBoostingClassifier(n_estimators=4, max_depth=2)),
        ("r", RandomForestClassifier(3, max_depth=2, random_state=0)),
    ]
    model = VotingClassifier(boosted[: 2 if few else 3], voting="hard").fit(X, y)
    explainer = Explainer(model, X)
    rivals = X.iloc[random.integers(0, 150, 4000)].to_numpy().copy()
    for column in range(4):  # rows mixed of others
        rivals[:, column] = X.iloc[random.integers(0, 150, 4000), column]
    rivals = pd.DataFrame(rivals, columns=X.columns)
    decided, seen = model.predict(rivals), 0
    width = X.max() - X.min()
    for at in range(8):
        row = X.iloc[at]
        bound = round(float(0.1 * row.x - 3 * row.u + at % 3), 2)
        relations = [Linear({"x": 0.1, "u": -3.0}, ">=", bound), JointCost("a", "k", {(1, 1): 0.5})]
        result = explainer.explain(row, constraints=relations)
        own = model.predict(row.to_frame().T)[0]
        kept = (0.1 * rivals.x - 3 * rivals.u >= bound) & (decided != own)
        pair = (rivals.a == 1) & (rivals.k == 1) & ~((row.a == 1) & (row.k == 1))
        # The column k has three values, so it is whole numbers like a.
        cost = ((rivals - row).abs() / width).sum(axis=1) + 0.5 * pair
        assert result.status == ("optimal" if result.changed else "infeasible")
        assert result.distance <= cost[kept].min() + 1e-9 if kept.any() else True
        seen += result.status == "optimal"
    assert few or seen >= 6


def test_a_limit_on_changes_counts_numbers_that_move_within_their_cells():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.uniform(0, 10, 300), "b": random.uniform(0, 10, 300)})
    tree = DecisionTreeClassifier(max_depth=1).fit(X, (X["a"] > 5).astype(int))
    explainer, row = Explainer(tree, X), pd.Series({"a": 3.0, "b": 4.0})
    total = Linear({"a": 1, "b": 1}, ">=", 12)
    given = {"target": 1, "weights": {"a": 1, "b": 0.1}}
    two = explainer.explain(row, constraints=[total, MaxChanges(2)], **given)
    one = explainer.explain(row, constraints=[total, MaxChanges(1)], **given)
    assert len(two.changed) == 2 and two.counterfactual["a"] < 8
    assert one.status == "optimal" and dict(one.counterfactual) == {"a": 8.0, "b": 4.0}


def two_numbers(offset):
    """A model over two numbers that begin at an offset, and its frame."""
    random = np.random.default_rng(1)
    X = pd.DataFrame(random.integers(0, 4000, (300, 2)) / 4.0 + offset, columns=["a", "b"])
    y = (X["a"] + X["b"] > 2 * offset + 1100).astype(int)
    return HistGradientBoostingClassifier(max_iter=8, max_depth=2).fit(X, y), X


@pytest.mark.slow
def test_large_numbers_that_cancel_in_a_sum_cut_nothing_off():
    found = []
    for model, X in (two_numbers(0.0), two_numbers(2.0**33)):
        explainer, own = Explainer(model, X), []
        for at in range(0, 60, 3):
            row = X.iloc[at]
            limit = float(row.a - row.b) - 40.0
            result = explainer.explain(row, constraints=[Linear({"a": 1, "b": -1}, "<=", limit)])
            own.append((result.status, result.distance))
        found.append(own)
    near, far = found
    assert [status for status, _ in near] == [status for status, _ in far] == ["optimal"] * 20
    assert [cost for _, cost in near] == pytest.approx([cost for _, cost in far], rel=1e-6)


def test_a_solver_of_sums_that_gives_up_has_not_said_that_there_is_nothing(monkeypatch):
    spans, limits = [Span(0.0, 0.0, 9.0, 1.0)], [([Fraction(-1)], Fraction(-3))]
    assert cheapest_numbers(spans, limits, 1.0, "sum") == [3.0]
    assert cheapest_numbers(spans, [([Fraction(-1)], Fraction(-10))], 1.0, "sum") is None
    both, limits = spans * 2, [([Fraction(-1)] * 2, Fraction(-3))]  # one number needs no solver
    assert sum(cheapest_numbers(both, limits, 1.0, "sum")) == 3.0
    monkeypatch.setattr(z3.Optimize, "check", lambda self: z3.unknown)
    with pytest.raises(UnrepresentableError):
        cheapest_numbers(both, limits, 1.0, "sum")


def test_a_sum_takes_a_number_that_is_missing_and_must_be_filled_in():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.uniform(0, 10, (300, 2)), columns=["a", "b"])
    y = ((X["a"] > 5) & (X["b"] > 3)).astype(int)
    X.loc[::7, "a"] = np.nan
    model = xgboost.XGBClassifier(n_estimators=3, max_depth=3).fit(X, y)
    row = pd.Series({"a": np.nan, "b": 0.5})
    given = {"target": 1, "scale": "none"}
    limits = [Range("a", 0, 6), Linear({"a": 1, "b": 1}, ">=", 10)]
    result = Explainer(model, X).explain(row, constraints=limits, norm=1, **given)
    assert result.status == "optimal" and dict(result.counterfactual) == {"a": 6.0, "b": 4.0}
    assert result.distance == 1.0 + 3.5  # filling in costs 1


@pytest.mark.parametrize("unit", [1.0, 1e15])
def test_whole_numbers_beyond_float64_are_not_left_out_of_a_sum(unit):
    """Some of them were listed as having no value, which proved that no answer exists."""
    size = np.tile([1.0, 2.0, 3.0, 4.0], 20) * 2.0**60 * unit
    X = pd.DataFrame({"size": size, "few": np.repeat([0.0, 1.0, 2.0, 3.0], 20)})
    model = DecisionTreeClassifier(max_depth=3).fit(X, X["few"] > 1)
    explainer, rule = Explainer(model, X), Linear({"size": 1}, ">=", float(size[0]))
    with pytest.raises(InputError, match="admissible values, but Linear supports at most 5000"):
        explainer.explain(X.iloc[0], constraints=[rule])
    kept = explainer.explain(X.iloc[0], constraints=[rule, Fixed("size")])
    assert kept.status == "optimal" and kept.counterfactual["few"] == 2
