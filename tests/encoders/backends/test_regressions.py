"""Answers that were once wrong."""

import copy
import math
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from encoders.backends.integer_cost import integer_cost, solve_within_gap
from encoders.backends.interface import Outcome, Request
from encoders.backends.maxsat.state import Ending, State
from encoders.backends.registry import find_backend
from encoders.problem.problem import LeafRow, Problem
from encoders.testing.enumeration import optimum
from encoders.testing.random_problems import random_problem
from portfolio import Explainer, Fixed, InputError, Range
from portfolio.engine.findings import MISREAD


@pytest.mark.parametrize("name", ["cp", "cp:plain", "maxsat"])
def test_hundreds_of_rounded_costs_still_prove_the_optimum(name):
    """The cheapest of 400 axes: rounding them all took more than 1e-9 of its cost."""
    n = 400
    axes, sides = np.arange(0, 2 * n + 1, 2), np.tile([0, 1], n)
    cost = np.where(sides == 1, np.random.default_rng(0).random(2 * n), 0.0)
    problem = Problem(
        level_start=axes,
        cost=cost,
        aggregate="sum",
        one_hot=(),
        tree_start=axes,
        leaf_start=np.arange(2 * n + 1),
        axis=np.repeat(np.arange(n), 2),
        lo=sides,
        hi=sides,
        leaf_rows=(LeafRow(sides, 1),),
        level_rows=(),
    )
    backend, _, formulation = name.partition(":")
    outcome = find_backend(backend).load()(problem, Request(60, 1, formulation=formulation))
    assert (outcome.status, outcome.stop_reason) == ("optimal", "proved")
    assert outcome.upper == cost[1::2].min() >= outcome.lower >= outcome.upper * (1 - 1e-9)


def test_a_gap_that_rounding_leaves_is_told_as_one():
    def attempt(problem, request, costs):
        return Outcome("optimal", "proved", (np.zeros(1),), 1.0, 1 - 1e-8, 0.0, 0.0, "OPTIMAL")

    problem = random_problem(3)
    outcome = solve_within_gap(problem, Request(1, 1), attempt)
    assert (outcome.status, outcome.stop_reason, outcome.lower) == ("feasible", "gap", 1 - 1e-8)


def test_lightgbm_reads_tiny_values_as_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    X[:40] = 0
    model = LGBMClassifier(n_estimators=3, verbose=-1, max_depth=2).fit(X, (X[:, 0] >= 0))
    explainer = Explainer(model, X)
    result = explainer.explain(np.array([0.5]), target=False)
    assert result.status == "optimal" and result.distance * np.ptp(X) == pytest.approx(0.5)
    assert not model.predict(result.counterfactual[None, :])[0]
    limited = [Range("x0", -0.1, 1)]
    assert explainer.explain(np.array([0.5]), target=False, constraints=limited).status == "optimal"


def test_a_loaded_xgboost_model_stops_at_its_best_iteration(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    model = XGBClassifier(n_estimators=60, early_stopping_rounds=3, max_depth=3)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    model.save_model(tmp_path / "model.json")
    loaded = XGBClassifier()
    loaded.load_model(tmp_path / "model.json")
    mine, theirs = (Explainer(m, X).explain(X[0]).distance for m in (model, loaded))
    assert mine == theirs


def test_every_level_of_an_ordinal_feature_has_the_users_price():
    X = pd.DataFrame({"a": np.arange(20.0).repeat(5)})
    model = DecisionTreeClassifier(max_depth=1).fit(X, (X["a"] > 9).astype(int))
    result = Explainer(model, X).explain([3.0], norm=lambda f, a, b: 1.0 if b == 15 else 9.0)
    assert (result.distance, result.counterfactual[0]) == (1.0, 15.0)


def test_a_column_and_a_group_never_share_a_name():
    rng = np.random.default_rng(2)
    code = rng.integers(0, 3, 90)
    X = pd.DataFrame({"h": rng.normal(size=90)} | {f"h_{c}": (code == c) * 1.0 for c in range(3)})
    model = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, X["h"] > 0)
    explainer = Explainer(model, X)
    assert [f.name for f in explainer.features.features] == ["h", "h_*"]
    kept = explainer.explain(X.iloc[0], constraints=[Fixed("h_*")])
    assert kept.status == "optimal"


def test_weights_in_a_series_go_by_name(explainer, refused):
    order = ["income", "home", "age", "employed"]
    weights = {"income": 3.0, "home": 1.0, "age": 2.0, "employed": 5.0}
    by_name = explainer.explain(refused, target="granted", weights=weights).distance
    series = pd.Series(weights)[order]
    assert explainer.explain(refused, target="granted", weights=series).distance == by_name
    with pytest.raises(InputError, match="weights must be"):
        explainer.explain(refused, weights=2.0)


def test_targets_after_the_deadline_are_not_looked_at():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 12))
    y = np.digitize(X[:, :6].sum(axis=1), [-3, -1, 1, 3])
    explainer = Explainer(RandomForestClassifier(60, max_depth=7, random_state=0).fit(X, y), X)
    explainer.explain(X[0], time_limit_s=60)
    began = time.perf_counter()
    result = explainer.explain(X[0], time_limit_s=0.001)
    assert result.stop_reason == "time_limit"
    assert result.status in ("feasible", "unknown")
    assert time.perf_counter() - began < 20


@pytest.mark.slow
def test_a_clear_contradiction_of_the_model_is_no_proof(credit, refused, monkeypatch):
    model, X = copy.deepcopy(credit)
    explainer = Explainer(model, X)
    # It agreed with its trees while it was read, and predicts one class from now on.
    certain = (model.classes_ == "refused").astype(float)
    predict_proba = lambda self, rows: np.tile(certain, (len(rows), 1))  # noqa: E731
    monkeypatch.setattr(type(model), "predict_proba", predict_proba)
    result = explainer.explain(refused, target="granted", time_limit_s=3)
    assert result.status == "unknown" and result.counterfactual is None
    assert result.message == MISREAD


def test_an_interrupted_rc2_proves_nothing():
    """It takes an interrupted call for a core, so its cost jumps beyond the optimum."""
    problem = random_problem(3)
    request = Request(60.0, 1)

    cost = 0
    soft = SimpleNamespace(constant=0, n_variables=0)
    state = State(problem, request, SimpleNamespace(), soft, integer_cost(problem))
    ending = Ending(state, time.perf_counter() - 1, lambda: state.at_least(cost))
    assert ending.due() and ending.asked
    cost = 10**12  # what the interrupted call made of it
    assert ending.due() and not ending.hopeless
    assert state.best.lower == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_maxsat_is_right_when_time_is_short(seed):
    """Limits from too short to enough: whatever is called a proof is one."""
    problem = random_problem(seed)
    best = optimum(problem)[0]
    for limit_s in (0.02, 0.05, 0.1, 60.0):
        outcome = find_backend("maxsat").load()(problem, Request(limit_s, 1))
        if outcome.status == "optimal":
            assert outcome.upper == pytest.approx(best, rel=1e-6)
        if outcome.status == "infeasible":
            assert math.isinf(best)
        assert outcome.lower <= best * (1 + 1e-6)
