"""Actions that rows share: categories, gaps, blends, limits of time, and what is refused."""

import itertools
import json
import math
import os
import signal
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from portfolio import (
    AllowMissing,
    AtLeast,
    Explainer,
    Fixed,
    InputError,
    Linear,
    Plausibility,
)
from portfolio.questions.groups import group_rows
from portfolio.results.printing import unwrapped
from tests.support.parts import few_and_large

KINDS = ("own", "rent", "free", "with parents")
BATCH = 2


def loans(seed, n=80, gaps=0.0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": np.round(rng.lognormal(3, 0.5, n), 2),
            "housing": pd.Categorical(rng.choice(KINDS, n), categories=KINDS),
            "debts": rng.integers(0, 5, n).astype(float),
        }
    )
    score = X["income"] / 20 + (X["housing"] == "own") - X["debts"] / 4
    y = np.where(score + rng.normal(0, 0.3, n) > 0.9, "granted", "refused")
    X.loc[rng.random(n) < gaps, "income"] = np.nan
    X.loc[rng.random(n) < gaps, "housing"] = np.nan
    return X, y


def numbers(X):
    return X.assign(housing=X["housing"].cat.codes.astype(float)).astype(float)


def options(model, X, rows):
    """Each option of each feature: what it makes of every row, and at what cost."""
    cuts = {name: {X[name].min(), X[name].max()} for name in ("income", "debts")}
    names = ["housing", "income", "debts"]  # the model puts categories first
    for node in (node for stage in model._predictors for tree in stage for node in tree.nodes):
        if not node["is_leaf"] and not node["is_categorical"]:
            cut = float(node["num_threshold"])
            cuts[names[node["feature_idx"]]] |= {cut, float(np.nextafter(cut, np.inf))}
    cuts["debts"] = set(np.arange(5.0))
    for name in X.columns:
        own = rows[name].cat.codes.to_numpy(float) if name == "housing" else rows[name].to_numpy()
        own = np.where(rows[name].isna(), np.nan, own)
        if name == "housing":
            made = [np.full(own.size, code) for code in range(len(KINDS))]
            costs = [(own != code).astype(float) for code in range(len(KINDS))]
        else:
            low, high = X[name].min(), X[name].max()
            values = [v for v in cuts[name] if low <= v <= high]
            made = [side(own, v) for v in values for side in (np.maximum, np.minimum)]
            costs = [np.abs(after - own) / (high - low) for after in made]
        gap = np.isnan(own)
        made = [own, *(np.where(gap, np.nan, after) for after in made)]
        costs = [np.zeros(own.size), *(np.where(gap, 0.0, cost) for cost in costs)]
        yield np.array(made), np.array(costs)


def most_served(model, X, rows, k, budget):
    """Brute force: every limit at which a split changes sides, every category."""
    made, costs = zip(*options(model, X, rows), strict=True)
    chosen = np.indices([len(own) for own in made]).reshape(len(made), -1)
    after = {n: m[at].ravel() for n, m, at in zip(X.columns, made, chosen, strict=True)}
    cost = sum(c[at] for c, at in zip(costs, chosen, strict=True))
    codes = np.nan_to_num(after["housing"], nan=-1).astype(int)
    after["housing"] = pd.Categorical.from_codes(codes, categories=KINDS)
    good = model.predict(pd.DataFrame(after)).reshape(cost.shape) == "granted"
    served = np.unique(good & (cost <= budget * (1 + 1e-9)), axis=0)
    return max(
        int(np.any(some, axis=0).sum())
        for some in itertools.combinations_with_replacement(served, k)
    )


@pytest.mark.parametrize("batch", few_and_large(1, 60))
def test_categories_and_gaps_equal_brute_force(batch):
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        X, y = loans(seed, gaps=0.1 if seed % 2 else 0.0)
        model = HistGradientBoostingClassifier(
            max_iter=2, max_depth=3, min_samples_leaf=5, categorical_features="from_dtype"
        ).fit(X, y)
        rows = X[model.predict(X) == "refused"].head(5)
        if rows.empty:  # of thousands of small models some grant everything
            continue
        explainer = Explainer(model, X, features={"debts": "ordinal"})
        for k, budget in ((1, 0.3), (2, 1.1), (1, 10.0)):
            found = explainer.explain_group(rows, actions=k, budget=budget, target="granted")
            most = most_served(model, X, rows, k, budget)
            where = f"seed {seed}, k {k}, budget {budget}"
            assert (found.covered, found.bound) == (most, most), where
            if most:
                assert (model.predict(found.counterfactuals) == "granted").all(), where
            gaps = rows.loc[found.counterfactuals.index].isna()
            assert (found.counterfactuals.isna().to_numpy() == gaps.to_numpy()).all(), where


@pytest.mark.slow
def test_blends_pipelines_regressors_and_plausibility_are_served():
    X, y = loans(3)
    N = numbers(X)
    boosted = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0)
    blend = VotingClassifier(
        [("a", boosted), ("b", RandomForestClassifier(3, max_depth=3, random_state=0))],
        voting="soft",
    )
    raw = X.assign(housing=X["housing"].astype(str))
    columns = make_column_transformer(
        (OneHotEncoder(), ["housing"]), (StandardScaler(), ["income", "debts"])
    )
    pipeline = make_pipeline(columns, RandomForestClassifier(5, max_depth=3, random_state=0))
    for model, frame in ((blend, N), (pipeline, raw)):
        model.fit(frame, y)
        rows = frame[model.predict(frame) == "refused"].head(6)
        found = Explainer(model, frame).explain_group(
            rows, actions=1, budget=1.0, target="granted", time_limit_s=20
        )
        assert found.status == "optimal" and found.covered >= 1
        assert (model.predict(found.counterfactuals) == "granted").all()
    regressor = RandomForestRegressor(4, max_depth=3, random_state=0).fit(N, N["income"])
    wanted = Explainer(regressor, N).explain_group(
        N.head(6), actions=1, budget=None, target=AtLeast(25.0)
    )
    assert (regressor.predict(wanted.counterfactuals) >= 25).all()
    assert wanted.covered + sum(m.state == "already there" for m in wanted.members) == 6
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(N, y)
    rows = N[forest.predict(N) == "refused"].head(6)
    check = Plausibility.fit(N, y, n_estimators=4)
    careful = Explainer(forest, N, plausibility=check).explain_group(
        rows, actions=1, budget=None, target="granted"
    )
    free = Explainer(forest, N).explain_group(rows, actions=1, budget=None, target="granted")
    assert careful.status == "optimal" and careful.covered <= free.covered
    assert free.covered == len(rows)
    other = RandomForestClassifier(5, max_depth=3, random_state=1).fit(N, y)
    both = Explainer(forest, N, also=[other]).explain_group(
        rows, actions=1, budget=None, target="granted"
    )
    assert both.status == "optimal" and both.covered >= 1
    for own in (forest, other):
        assert (own.predict(both.counterfactuals) == "granted").all()
    sure = Explainer(forest, N).explain_group(
        rows, actions=1, budget=None, target="granted", margin=0.2
    )
    shares = forest.predict_proba(sure.counterfactuals)
    assert sure.status == "optimal" and (shares[:, 0] - shares[:, 1] >= 0.2 - 1e-9).all()


@pytest.fixture(scope="module")
def asked():
    X, y = loans(5, 200)
    N = numbers(X)
    model = RandomForestClassifier(30, max_depth=5, random_state=0).fit(N, y)
    return Explainer(model, N), N[model.predict(N) == "refused"].head(12)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_rows_after_their_action_are_a_frame_of_the_users_library(library):
    frames = pytest.importorskip(library)
    X = pd.DataFrame({"a": ["p", "q"] * 20, "d": [0.0, 1.0, None, 2.0] * 10})
    given = frames.from_pandas(X) if library == "polars" else frames.Table.from_pandas(X)
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["a"]), ("passthrough", ["d"])
    )
    model = make_pipeline(columns, DecisionTreeClassifier(max_depth=2))
    model.fit(X, X.a == "p")
    found = Explainer(model, given).explain_group(given[:4], target=True)
    assert isinstance(found.counterfactuals, type(given))
    assert found.counterfactuals.shape == (2, 2) and found.covered == 2
    assert model.predict(found.counterfactuals.to_pandas()).all()


def test_what_time_does_not_allow_has_a_bound(asked):
    explainer, rows = asked
    bounds = []
    found = explainer.explain_group(
        rows,
        actions=2,
        budget=0.3,
        target="granted",
        time_limit_s=1e-3,
        on_progress=lambda *told: bounds.append(told),
    )
    assert found.status == "unknown" and found.stop_reason == "time_limit"
    assert found.covered == 0 and found.bound == len(rows)
    whole = explainer.explain_group(
        rows, actions=2, budget=0.3, target="granted", on_progress=lambda *told: bounds.append(told)
    )
    assert whole.status == "optimal" and whole.covered == whole.bound <= found.bound
    uppers, lowers = [told[1] for told in bounds], [told[2] for told in bounds]
    assert uppers == sorted(uppers, reverse=True) and lowers == sorted(lowers)
    more = explainer.explain_group(rows, actions=3, budget=0.3, target="granted")
    assert more.covered >= whole.covered
    assert math.isclose(whole.actions[0].mean_cost, _mean(whole, 1))


def _mean(found, action):
    return float(np.mean([m.distance for m in found.members if m.action == action]))


def test_ctrl_c_tells_what_is_known(asked):
    explainer, rows = asked
    told = []

    def interrupt(seconds, upper, lower):
        told.append(lower)
        if len(told) == 1:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)  # the main thread hears it

    found = explainer.explain_group(
        rows, actions=1, budget=0.3, target="granted", on_progress=interrupt
    )
    assert found.status in ("feasible", "unknown") and found.stop_reason == "interrupted"
    assert found.covered <= found.bound <= len(rows)


def test_words_tables_and_json_say_the_same(asked):
    explainer, rows = asked
    found = explainer.explain_group(rows, actions=2, budget=0.5, target="granted")
    plain = json.loads(found.to_json())
    assert plain["covered"] == found.covered == (found.table()["state"] == "served").sum()
    assert plain["actions"][0]["steps"][0]["feature"] in rows.columns
    assert unwrapped(str(found)).splitlines()[0].endswith("(proved to be the most).")
    none = explainer.explain_group(rows, actions=1, budget=0.0, target="granted")
    assert none.status == "infeasible" and "no action gives any" in str(none)
    granted = explainer.explain_group(
        rows.assign(income=200.0, housing=0.0, debts=0.0), actions=1, budget=None, target="granted"
    )
    assert (
        granted.rows == 0
        and granted.status == "optimal"
        and "All rows already reach" in str(granted)
    )


def test_rows_that_constraints_leave_nothing_are_out_of_reach(asked):
    explainer, rows = asked
    fixed = [Fixed(name) for name in rows.columns]
    found = explainer.explain_group(
        rows, actions=1, budget=None, target="granted", constraints=fixed
    )
    assert found.status == "infeasible"
    assert {m.state for m in found.members} == {"out of reach"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"actions": 0}, "actions must be"),
        ({"budget": -1.0}, "budget must be"),
        ({"budget": math.inf}, "budget must be"),
        ({"constraints": [Linear({"income": 1, "debts": 1}, "<=", 9)]}, "does not support"),
        ({"constraints": [AllowMissing("income")]}, "does not support"),
        (
            {"norm": lambda name, before, after: 1.0},
            "does not support a function or a mapping as norm",
        ),
        ({"target": "nothing"}, "nothing"),
        ({"on_progress": 3}, "on_progress"),
    ],
)
def test_what_does_not_fit_is_told(asked, more, words):
    explainer, rows = asked
    with pytest.raises(InputError, match=words):
        explainer.explain_group(rows, **({"target": "granted"} | more))
    with pytest.raises(InputError, match="X has no rows"):
        explainer.explain_group(rows.head(0), target="granted")


def test_a_search_for_a_first_action_hears_that_time_is_over(monkeypatch):
    def endless(problem, tables, starts, over):
        deadline = time.perf_counter() + 20
        while not over():
            assert time.perf_counter() < deadline
            time.sleep(0.01)

    monkeypatch.setattr(group_rows, "find_incumbent", endless)
    X, y = loans(0)
    model = RandomForestClassifier(3, random_state=0).fit(numbers(X), y)
    refused = numbers(X)[model.predict(numbers(X)) == "refused"].head(3)
    found = Explainer(model, numbers(X)).explain_group(refused, actions=1, time_limit_s=0.3)
    assert found.status == "unknown" and found.stop_reason == "time_limit" and found.seconds < 3
