"""Large models, asked about what is near first, have the answers of the whole question."""

import math
import time
from functools import cache
from threading import Event

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from encoders.core.errors import BrokenProblemError, OutOfTimeError
from encoders.formulation.pose import Posed
from portfolio import Explainer, Fixed, MaxChanges
from portfolio.engine import near_first, stages
from tests.support.category_tables import fitted, table
from tests.support.ensembles import KINDS, random_frame, random_model
from tests.support.questions import random_constraints

CASES, LARGE = 24, 600


def answers(seed, monkeypatch):
    """The answer of the whole question, and of what is near."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    X, specs = random_frame(rng)
    explainer = Explainer(random_model(rng, kind, X, int(rng.integers(2, 5))), X)
    x = X.iloc[int(rng.integers(len(X)))]
    p = float(rng.choice([0, 0.5, 1, 2, math.inf]))
    asked = {
        "norm": "inf" if math.isinf(p) else p,
        "weights": [float(w) for w in rng.choice([0.5, 1.0, 2.0, 0.0], len(specs))],
        "constraints": random_constraints(rng, specs, x.to_numpy())[0],
        "threads": 1,
    }
    return f"seed {seed}, {kind}, {asked}", *of_all_and_near(explainer, x, asked, seed, monkeypatch)


def of_all_and_near(explainer, x, asked, seed, monkeypatch):
    """Return the answers of a search of all leaves and of a search of the nearest ones."""
    found = []
    for most in (math.inf, 0):
        monkeypatch.setattr(near_first, "MANY_LEAVES", most)
        # Every other model is one of very many leaves, of which few are posed at once.
        monkeypatch.setattr(near_first, "MANY_WITHIN", 10)
        monkeypatch.setattr(near_first, "VERY_MANY_LEAVES", math.inf if seed % 2 else most)
        found.append(explainer.explain(x, **asked))
    return found


def check(where, whole, near):
    assert near.status == whole.status, where
    assert near.distance == pytest.approx(whole.distance, rel=1e-9), where
    assert near.lower_bound == pytest.approx(whole.lower_bound, rel=1e-9), where


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(CASES))
def test_what_is_near_holds_the_answer_of_all(seed, monkeypatch):
    check(*answers(seed, monkeypatch))


@pytest.mark.large
def test_what_is_near_holds_the_answer_of_all_in_many_cases(monkeypatch):
    for seed in range(1000, 1000 + LARGE):
        check(*answers(seed, monkeypatch))


CATEGORIES = ("xgboost", "lightgbm", "histograms", "catboost", "zero_as_missing", "missing=0")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", CATEGORIES)
def test_near_categories_and_missing_values_give_the_answer_of_all(kind, seed, monkeypatch):
    # CatBoost accepts no missing category.
    gaps = seed % 2 == 0 and kind != "catboost"
    X, y = table(seed, gaps, categories=not kind.startswith(("zero", "missing")))
    explainer = Explainer(fitted(kind, seed, X, y), X)
    for at, norm in enumerate((1, 2, "inf")):
        asked = {"norm": norm, "threads": 1, "constraints": [MaxChanges(2)] if seed % 3 else []}
        whole, near = of_all_and_near(explainer, X.iloc[7 * seed + at], asked, at, monkeypatch)
        check(f"{kind}, seed {seed}, {asked}", whole, near)


def test_a_deep_forest_behind_encoders_is_searched_by_few_of_its_leaves(monkeypatch):
    X, y = table(0, gaps=False, categories=True)
    steps = make_column_transformer(
        (OneHotEncoder(), ["job", "size"]), (StandardScaler(), ["income", "debt"])
    )
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.3, "no", y)
    model = make_pipeline(steps, RandomForestClassifier(60, random_state=0)).fit(X, noisy)
    explainer = Explainer(model, X)
    asked = {"threads": 1}
    rows = [X.iloc[at] for at in range(4)]
    whole = [explainer.explain(row, **asked).distance for row in rows]
    monkeypatch.setattr(near_first, "MANY_LEAVES", 0)
    monkeypatch.setattr(near_first.Nearby, "whole", None)
    near = [explainer.explain(row, **asked) for row in rows]
    assert [result.distance for result in near] == pytest.approx(whole, rel=1e-9)
    assert {result.status for result in near} == {"optimal"}


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, "inf"])
def test_near_classes_of_a_column_in_parts_give_the_answer_of_all(norm, monkeypatch):
    rng = np.random.default_rng(0)
    town, age = rng.integers(0, 90, 2000), rng.integers(0, 9, 2000)
    X = pd.DataFrame({"town": town.astype(str), "age": age})
    y = (town % 7 + age + rng.normal(0, 1, 2000) > 7).astype(int)
    steps = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(steps, RandomForestClassifier(9, random_state=0)).fit(X, y)
    explainer = Explainer(model, X)
    for at in range(4):
        whole, near = of_all_and_near(explainer, X.iloc[at], {"norm": norm}, at, monkeypatch)
        check(f"row {at}", whole, near)


def pairs_of_columns(seed, regression):
    """Return a sum of trees of one or two columns each, and its training rows, some with gaps."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(400, 6)), columns=list("abcdef"))
    X["e"], X["f"] = np.round(X["e"] * 2), (X["f"] > 0).astype(int)
    y = X["a"] + X["b"] * X["c"] + np.sin(2 * X["d"]) + 0.3 * X["e"] * X["f"]
    if seed % 2:
        X = X.mask(rng.random(X.shape) < 0.1)
    kind = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    groups = [{0, 4}, {1, 2}, {3}, {4, 5}]
    options = {"max_iter": 40, "max_leaf_nodes": 6, "interaction_cst": groups}
    return kind(random_state=0, **options).fit(X, y if regression else y > 0), X


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_sum_of_terms_has_the_answer_of_all_leaves(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    model, X = pairs_of_columns(seed, regression=seed % 3 == 0)
    explainer = Explainer(model, X)
    for at in range(6):
        row = X.iloc[int(rng.integers(len(X)))]
        options = {"norm": [1, 2, 0, "inf"][at % 4], "threads": 1}
        if seed % 3 == 0:
            number = float(model.predict(row.to_frame().T)[0])
            options["target"] = [(number + 1, math.inf), (number - 2, number - 1)][at % 2]
        if at >= 3:
            options["constraints"] = [MaxChanges(at - 2), Fixed("a")]
        whole, near = of_all_and_near(explainer, row, options, at, monkeypatch)
        check(f"seed {seed}, row {at}, {options}", whole, near)


def test_a_sum_of_terms_is_encoded_once_with_few_levels(monkeypatch):
    model, X = pairs_of_columns(0, regression=False)
    explainer = Explainer(model, X)
    monkeypatch.setattr(near_first, "MANY_LEAVES", 0)
    monkeypatch.setattr(near_first.Nearby, "around", None)
    monkeypatch.setattr(Posed, "closest", None)  # walks start from no training row
    sizes, every = [], []
    within = near_first.Nearby.within

    def counted(self, radius):
        part = within(self, radius)
        sizes.append(part.problem.cost.size)
        every.append(sum(int((axis.cost <= radius).sum()) for axis in self.layout.axes))
        return part

    monkeypatch.setattr(near_first.Nearby, "within", counted)
    for at in range(10):
        assert explainer.explain(X.iloc[at], threads=1).status == "optimal"
    least = 10 * X.shape[1]  # a level of each column
    assert len(sizes) == 10 and sum(sizes) - least < (sum(every) - least) / 2


def deep_forest():
    X, y = make_classification(1500, 8, n_informative=6, flip_y=0.4, random_state=0)
    return RandomForestClassifier(30, random_state=0).fit(X, y), X


def counting(part_of, posed):
    def counted(self, radius, *most):
        part = part_of(self, radius, *most)
        posed.append(0 if part is None else part.problem.n_leaves)
        return part

    return counted


def test_a_deep_forest_is_asked_about_few_of_its_leaves(monkeypatch):
    model, X = deep_forest()
    monkeypatch.setattr(near_first, "MANY_LEAVES", 5000)
    explainer = Explainer(model, X)
    posed = []
    for name in ("within", "around"):
        part_of = getattr(near_first.Nearby, name)
        monkeypatch.setattr(near_first.Nearby, name, counting(part_of, posed))
    monkeypatch.setattr(near_first.Nearby, "whole", None)  # nothing asks for it
    result = explainer.explain(X[0], threads=1)
    leaves = sum(tree.tree_.n_leaves for tree in model.estimators_)
    assert result.status == "optimal" and posed and max(posed) < leaves / 4


def test_rows_that_the_model_itself_refuses_are_no_proof_of_there_being_none(monkeypatch):
    X, y = make_classification(300, 4, n_informative=3, n_redundant=0, flip_y=0.4, random_state=1)
    # An even number of whole votes: many ties, that the forest's own sums decide as they like.
    model = RandomForestClassifier(4, random_state=0).fit(X, y)
    explainer = Explainer(model, X)
    for row in X[:10]:
        monkeypatch.setattr(near_first, "MANY_LEAVES", math.inf)
        whole = explainer.explain(row, threads=1)
        monkeypatch.setattr(near_first, "MANY_LEAVES", 0)
        near = explainer.explain(row, threads=1)
        assert near.status == whole.status == "optimal"
        assert near.distance == pytest.approx(whole.distance, rel=1e-9)


def test_without_time_a_large_model_is_not_posed_whole(monkeypatch):
    model, X = deep_forest()
    explainer = Explainer(model, X)
    monkeypatch.setattr(near_first.Nearby, "whole", None)
    monkeypatch.setattr(near_first.Nearby, "within", None)
    monkeypatch.setattr(near_first.Nearby, "around", None)
    result = explainer.explain(X[0], time_limit_s=1e-6, threads=1)
    assert (result.status, result.stop_reason) == ("unknown", "time_limit")
    assert result.backend == "presolve"


def test_what_was_seen_is_told_and_kept_where_there_is_no_time_to_prove(monkeypatch):
    model, X = deep_forest()
    monkeypatch.setattr(near_first, "MANY_LEAVES", 5000)
    explainer = Explainer(model, X)
    best = explainer.explain(X[0], threads=1)
    began = Event()
    proved = near_first.NearFirst._certify_within

    def stopped(self, reach, cost):
        began.set()
        self.request.stop.set()
        return proved(self, reach, cost)

    monkeypatch.setattr(near_first.NearFirst, "_certify_within", stopped)
    told = []
    result = explainer.explain(X[0], threads=1, on_progress=lambda *now: told.append(now[1]))
    assert began.is_set() and result.status == "feasible"
    assert best.distance <= result.distance == min(told) < math.inf
    assert model.predict([result.counterfactual])[0] == result.target != model.predict(X[:1])[0]
    assert result.verified


def test_what_was_seen_is_no_answer_if_the_model_refuses_it(monkeypatch):
    model, X = deep_forest()
    monkeypatch.setattr(near_first, "MANY_LEAVES", 5000)
    explainer = Explainer(model, X)

    def stopped(self, reach, cost):
        self.request.stop.set()
        return proved(self, reach, cost)

    proved = near_first.NearFirst._certify_within
    monkeypatch.setattr(near_first.NearFirst, "_certify_within", stopped)
    monkeypatch.setattr(near_first, "verify", lambda *asked, **rest: None)
    result = explainer.explain(X[0], threads=1)
    assert (result.status, result.distance) == ("unknown", math.inf)


def far_forest():
    X, y = make_classification(1500, 12, n_informative=8, class_sep=2.0, random_state=0)
    return RandomForestClassifier(20, random_state=0).fit(X, y), X


def test_what_is_nearer_is_asked_about_first_and_its_bound_is_told(monkeypatch):
    model, X = far_forest()
    explainer = Explainer(model, X)
    best = explainer.explain(X[0], threads=1)
    monkeypatch.setattr(near_first, "MANY_LEAVES", 0)
    monkeypatch.setattr(near_first, "VERY_MANY_LEAVES", 0)
    monkeypatch.setattr(near_first, "MANY_WITHIN", 100)
    told, reached = [], []
    certified = near_first.NearFirst._certify_within

    def counted(self, reach, cost):
        reached.append(reach)
        return certified(self, reach, cost)

    monkeypatch.setattr(near_first.NearFirst, "_certify_within", counted)
    result = explainer.explain(X[0], threads=1, on_progress=lambda *now: told.append(now[1:]))
    assert result.status == "optimal" and result.distance == pytest.approx(best.distance)
    assert len(reached) > 1 and reached == sorted(reached) and 2 * reached[0] <= reached[-1]
    assert any(lower == reached[0] < upper for upper, lower in told)
    assert all(best.distance <= upper * (1 + 1e-9) for upper, _ in told)
    assert all(lower <= best.distance * (1 + 1e-9) for _, lower in told)


def test_leaves_within_a_cost_are_few_and_all_of_them_part_the_space(monkeypatch):
    model, X = far_forest()
    monkeypatch.setattr(near_first, "MANY_LEAVES", 0)
    explainer = Explainer(model, X)
    parts = []
    certified = near_first.NearFirst._certify_within

    def kept(self, reach, cost):
        parts.append((self.near.within(reach), self.near.around(reach)))
        return certified(self, reach, cost)

    monkeypatch.setattr(near_first.NearFirst, "_certify_within", kept)
    assert explainer.explain(X[0], threads=1).status == "optimal"
    for within, around in parts:
        assert within.problem.n_leaves < 0.7 * around.problem.n_leaves
        around.problem.check()
        within.all_leaves().check()
        with pytest.raises(BrokenProblemError):
            within.problem.check()


@pytest.mark.parametrize("looks", [1, 3, 8, 15, 25, 40, 60, 90, 130, 200, 300])
def test_time_may_run_out_anywhere(looks, monkeypatch):
    model, X, best = three_classes()
    asked, clock = [0], time.perf_counter

    def jumping():
        asked[0] += 1
        return clock() + (1e6 if asked[0] > looks else 0.0)

    for name, most in (("MANY_LEAVES", 0), ("VERY_MANY_LEAVES", 0), ("MANY_WITHIN", 50)):
        monkeypatch.setattr(near_first, name, most)
    explainer = Explainer(model, X)
    explainer.explain(X[0], threads=1, time_limit_s=1e-9)  # what is made once
    told = []
    monkeypatch.setattr(time, "perf_counter", jumping)
    result = explainer.explain(X[0], threads=1, on_progress=lambda *now: told.append(now[1:]))
    if asked[0] <= looks:
        assert result.status == "optimal"
        return
    # Not much is looked at after the end: the clock is asked a few times for each class.
    assert asked[0] < looks + 60
    assert result.status in ("unknown", "feasible", "optimal")
    upper, lower = (min(u for u, _ in told), max(b for _, b in told)) if told else (math.inf, 0.0)
    assert lower * (1 - 1e-9) <= result.lower_bound <= best * (1 + 1e-9)
    if result.status == "unknown":
        assert result.stop_reason == "time_limit" and upper == math.inf
    else:
        assert best * (1 - 1e-9) <= result.distance == upper and result.verified


def test_a_bound_that_was_told_holds_where_time_ran_out_before_its_proof_was_over(monkeypatch):
    model, X, best = three_classes()
    monkeypatch.setattr(near_first, "MANY_LEAVES", 0)
    goals, clock = [], time.perf_counter

    def ran_out(posed_query, solve, request, *arguments, **options):
        request.on_bounds(math.inf, best / 2)
        goals.append(posed_query.query.goal)
        if len(goals) == 2:  # otherwise both classes get further turns until the time is over
            monkeypatch.setattr(time, "perf_counter", lambda: clock() + 1e6)
        raise OutOfTimeError

    monkeypatch.setattr(stages, "certify", ran_out)
    result = Explainer(model, X).explain(X[0], threads=1)
    assert result.status == "feasible" and result.lower_bound == best / 2
    assert len(set(goals)) == 2


@cache
def three_classes():
    X, y = make_classification(900, 8, n_informative=6, n_classes=3, flip_y=0.3, random_state=0)
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    best = Explainer(model, X).explain(X[0], threads=1)
    assert best.status == "optimal"
    return model, X, best.distance
