"""The interface: shapes in and out, costs, constraints, results, threads, interrupts."""

import copy
import json
import math
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import portfolio
from portfolio import Allowed, Explainer, Fixed, Increase, InputError, MaxChanges, Range


def test_kinds_of_features_are_inferred(explainer):
    kinds = {f.name: f.kind for f in explainer.features.features}
    assert kinds == {
        "age": "ordinal", "income": "numeric", "employed": "binary", "home": "categorical"
    }  # fmt: skip
    assert "free, own, rent" in str(explainer.features)


def test_a_series_is_answered_by_a_series(credit, explainer, refused):
    model, X = credit
    result = explainer.explain(refused, target="granted")
    row = result.counterfactual
    assert isinstance(row, pd.Series)
    assert list(row.index) == list(X.columns)
    assert row.name == refused.name
    assert model.predict(row.to_frame().T)[0] == "granted"
    assert result.status == "optimal" and result.stop_reason == "proved" and result.verified
    assert result.gap <= 1e-9
    assert math.isclose(result.changes()["cost"].sum(), result.distance)
    assert str(result).count("\n- ") == len(result.changes())


def test_a_row_may_come_in_any_shape(explainer, refused):
    best = explainer.explain(refused, target="granted").distance
    shuffled = refused[::-1]
    for query in (
        refused.to_numpy(),
        refused.to_list(),
        refused.to_dict(),
        refused.to_frame().T,
        refused.to_numpy()[None, :],
        shuffled,
    ):
        assert explainer.explain(query, target="granted").distance == pytest.approx(best)
    back = explainer.explain(shuffled, target="granted").counterfactual
    assert list(back.index) == list(shuffled.index)
    array = explainer.explain(refused.to_numpy(), target="granted").counterfactual
    assert isinstance(array, np.ndarray) and array.shape == (6,)


def test_dtype_is_kept_where_it_is_exact():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 9, (80, 3)), columns=list("abc"))
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, X["a"] > 4)
    row = Explainer(model, X).explain(X.iloc[0]).counterfactual
    assert row.dtype == np.int64
    halves = Explainer(model, X, {"a": "numeric"}).explain(X.iloc[0], constraints=[Fixed("b")])
    assert halves.counterfactual.dtype == np.float64


def test_columns_and_labels_may_be_bool():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"flag": rng.random(60) > 0.5, "v": rng.normal(size=60)})
    y = X["flag"].to_numpy()
    model = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y)
    explainer = Explainer(model, X)
    result = explainer.explain(X.iloc[0], target=not y[0], constraints=[Fixed("v")])
    assert result.status == "optimal"
    assert bool(result.target) is (not y[0])
    (change,) = result.changed
    before, after = bool(y[0]), not y[0]
    assert (change.before, change.after) == (before, after) and type(change.after) is bool
    assert str(change) == f"Change flag from {before} to {after}."
    assert str(explainer.features.named("flag").describe_values()) == "False, True"
    for written in (after, int(after), str(after)):
        asked = explainer.explain(
            X.iloc[0], target=not y[0], constraints=[Allowed("flag", [written])]
        )
        assert asked.status == "optimal"


def test_any_target_is_the_cheapest():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 3))
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.6, 0.2, 0.9])
    explainer = Explainer(RandomForestClassifier(6, max_depth=4, random_state=0).fit(X, y), X)
    for x in X[:5]:
        now = explainer.explain(x, target=None)
        each = [explainer.explain(x, target=t) for t in range(4)]
        others = [r for r in each if r.distance > 0]
        assert now.status == "optimal"
        assert now.distance == pytest.approx(min(r.distance for r in others))
        assert now.target in range(4)


def test_costs_may_be_a_function_or_a_table(explainer, refused):
    def only_up(feature, before, after):
        if feature == "home":
            assert isinstance(after, str)
            return 0.3
        return 100.0 if after < before else abs(after - before) / 50

    result = explainer.explain(refused, target="granted", norm=only_up)
    assert result.status == "optimal"
    assert result.distance == pytest.approx(
        sum(only_up(c.feature, c.before, c.after) for c in result.changed)
    )
    table = {"income": {20.0: 1.0, 40.0: 1.5, 60.0: 9.0}, "age": lambda a, b: 5.0}
    listed = explainer.explain(refused, target="granted", norm=table)
    income = listed.counterfactual["income"]
    assert income in (refused["income"], 20.0, 40.0, 60.0)


def test_heavier_features_cost_no_less(explainer, refused):
    free = explainer.explain(refused, target="granted")
    heavy = {c.feature: 1000.0 for c in free.changed}
    other = explainer.explain(refused, target="granted", weights=heavy)
    assert other.distance >= free.distance - 1e-12


@pytest.mark.parametrize("scale", ["range", "std", "mad", "none"])
def test_a_change_costs_its_share_of_the_scale(explainer, credit, refused, scale):
    X = credit[1]
    result = explainer.explain(refused, target="granted", scale=scale)
    income = X["income"]
    unit = {
        "range": income.max() - income.min(),
        "std": income.std(ddof=0),
        "mad": (income - income.median()).abs().median(),
        "none": 1.0,
    }[scale]
    for change in result.changed:
        if change.feature == "income":
            assert change.cost == pytest.approx(abs(change.after - change.before) / unit)


def test_the_range_that_scales_costs_is_that_of_the_bounds():
    X = pd.DataFrame({"a": np.arange(10.0)})
    model = RandomForestClassifier(5, random_state=0).fit(X, X["a"] > 4)
    wide = Explainer(model, X, features={"a": {"kind": "numeric", "bounds": [-1000, 1000]}})
    result = wide.explain(X.iloc[0])
    (change,) = result.changed
    assert change.after > 1 and result.distance == pytest.approx(change.after / 2000)


def test_constraints_hold(explainer, refused):
    rules = [Fixed("employed"), Increase("age"), Range("income", 0, 40), Allowed("home", ["rent"])]
    result = explainer.explain(refused, target="granted", constraints=rules)
    assert result.status in ("optimal", "infeasible")
    if result.counterfactual is not None:
        row = result.counterfactual
        assert row["employed"] == refused["employed"] and row["age"] >= refused["age"]
        assert row["income"] <= 40 and row["home_rent"] == 1
    nothing = explainer.explain(refused, target="granted", constraints=[MaxChanges(0)])
    assert (nothing.status, nothing.stop_reason) == ("infeasible", "proved")
    assert math.isinf(nothing.distance) and json.loads(nothing.to_json())["distance"] is None


def test_a_row_of_the_target_class_must_still_keep_constraints(explainer, credit):
    model, X = credit
    granted = X[(model.predict(X) == "granted") & (X["age"] > 30)].iloc[0]
    result = explainer.explain(granted, target="granted", constraints=[Range("age", 18, 25)])
    assert result.distance > 0 and result.counterfactual["age"] <= 25


def test_larger_margins_cost_more_and_are_kept(explainer, credit, refused):
    model = credit[0]
    distances = []
    for margin in (None, 0.2, 0.5):
        result = explainer.explain(refused, target="granted", margin=margin)
        shares = model.predict_proba(result.counterfactual.to_frame().T)[0]
        assert shares[0] - shares[1] >= (margin or 0) - 1e-9
        distances.append(result.distance)
    assert distances == sorted(distances)


def test_where_voting_is_hard_votes_decide(credit, refused):
    model, X = credit
    result = Explainer(model, X, voting="hard").explain(refused, target="granted")
    wrapper = portfolio.HardVotingClassifier.from_fitted(model)
    row = result.counterfactual.to_frame().T
    assert wrapper.predict(row)[0] == "granted"
    votes = wrapper.predict_proba(row)[0] * 8
    assert votes[0] >= votes[1]  # a tie goes to the first class
    led = Explainer(model, X, voting="hard").explain(refused, target="granted", margin=1)
    votes = wrapper.predict_proba(led.counterfactual.to_frame().T)[0] * 8
    assert votes[0] - votes[1] >= 1 and led.distance >= result.distance


def test_results_share_nothing(explainer, refused):
    result = explainer.explain(refused, target="granted")
    first = result.counterfactual
    first.iloc[0] = -1
    assert result.counterfactual.iloc[0] != -1
    with pytest.raises(AttributeError):
        result.status = "unknown"
    query = refused.to_numpy().copy()
    held = explainer.explain(query, target="granted")
    before = held.counterfactual
    query[:] = 0
    assert (held.counterfactual == before).all()


def test_several_threads_at_once(explainer, credit):
    X = credit[1]
    rows = [X.iloc[i] for i in range(12)]
    alone = [explainer.explain(row, threads=1).distance for row in rows]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda r: explainer.explain(r, threads=1).distance, rows))
    assert together == pytest.approx(alone)


@pytest.fixture(scope="module")
def hard_query():
    """A query that no exact method proves within seconds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 25))
    y = (np.sin(2 * X[:, :12]).sum(axis=1) > 0).astype(int)
    model = RandomForestClassifier(150, max_depth=9, random_state=0).fit(X, y)
    sure = model.predict_proba(X)[:, 1].argmin()
    return Explainer(model, X), X[sure]


@pytest.mark.slow
def test_time_limit_is_honest(hard_query):
    explainer, x = hard_query
    seen = []
    began = time.perf_counter()
    result = explainer.explain(
        x, target=1, time_limit_s=3, strategy="cp", on_progress=lambda *bounds: seen.append(bounds)
    )
    assert time.perf_counter() - began < 30
    assert result.status in ("feasible", "unknown")
    assert result.stop_reason == "time_limit"
    assert result.lower_bound <= result.distance
    assert result.trace == tuple(seen)
    uppers, lowers = [t[1] for t in seen], [t[2] for t in seen]
    assert uppers == sorted(uppers, reverse=True) and lowers == sorted(lowers)


def test_an_error_in_on_progress_reaches_the_caller(explainer, refused):
    def fail(seconds, upper, lower):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        explainer.explain(refused, target="granted", on_progress=fail)


@pytest.mark.slow
def test_interrupt_returns_what_is_held(hard_query):
    explainer, x = hard_query
    timer = threading.Timer(2.0, __import__("_thread").interrupt_main)
    timer.start()
    result = explainer.explain(x, target=1, time_limit_s=120, strategy="cp")
    timer.join()
    assert result.status in ("feasible", "unknown")
    assert result.stop_reason == "interrupted"
    assert result.timings.total < 60


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["auto", "cp", "race"])
def test_no_solver_goes_on_where_a_signal_ends_the_question(hard_query, strategy):
    def end(number, frame):
        raise ZeroDivisionError("of a clock")

    explainer, x = hard_query
    before, known = signal.signal(signal.SIGALRM, end), set(threading.enumerate())
    try:
        signal.setitimer(signal.ITIMER_REAL, 2.0)
        with pytest.raises(ZeroDivisionError, match="of a clock"):
            explainer.explain(x, target=1, time_limit_s=600, strategy=strategy)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    for thread in set(threading.enumerate()) - known:
        thread.join(60)
        assert not thread.is_alive()


def test_import_starts_no_solver():
    code = (
        "import sys, portfolio; "
        "heavy = {'ortools', 'gurobipy', 'pysat', 'z3', 'ray', 'sklearn', 'xgboost', 'treelite'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_feature_space_can_be_handed_on(credit, explainer, refused):
    again = Explainer(*credit, features=explainer.features)
    assert again.explain(refused).distance == pytest.approx(explainer.explain(refused).distance)


def test_off_levels_are_allowed_if_said(credit, refused):
    query = refused.copy()
    query["age"] = 30.5
    with pytest.raises(InputError, match=r"age is 30\.5"):
        Explainer(*credit).explain(query)
    lenient = Explainer(*credit, features={"age": {"kind": "ordinal", "allow_off_levels": True}})
    assert lenient.explain(query, target="granted").status == "optimal"


def test_an_explainer_can_be_pickled_and_copied(explainer, refused):
    expected = explainer.explain(refused, target="granted", strategy="milp")
    for other in (pickle.loads(pickle.dumps(explainer)), copy.deepcopy(explainer)):
        again = other.explain(refused, target="granted", strategy="milp")
        assert (again.status, again.distance) == ("optimal", expected.distance)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cp:plain", "milp:ocean", "milp/gurobi", "maxsat/minisat:linear"])
@pytest.mark.parametrize("prefix", ["", "plain-"])
def test_a_formulation_can_be_asked_for(explainer, refused, name, prefix):
    expected = explainer.explain(refused, target="granted")
    result = explainer.explain(refused, target="granted", strategy=prefix + name)
    assert result.status == "optimal"
    assert result.distance == pytest.approx(expected.distance, rel=1e-6)


def test_the_published_formulation_is_never_called_a_proof(explainer, refused):
    expected = explainer.explain(refused, target="granted")
    result = explainer.explain(refused, target="granted", strategy="plain-cp:published")
    assert (result.status, result.stop_reason) == ("feasible", "error")
    assert result.verified and result.distance >= expected.distance - 1e-12
