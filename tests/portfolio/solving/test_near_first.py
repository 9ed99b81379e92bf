"""Large models, asked about what is near first, have the answers of the whole question."""

import math
from threading import Event

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from portfolio import Explainer
from portfolio.solving import near_first, targets
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
    found = []
    for most in (math.inf, 0):
        monkeypatch.setattr(near_first, "MANY_LEAVES", most)
        found.append(explainer.explain(x, **asked))
    return f"seed {seed}, {kind}, {asked}", *found


def check(seed, monkeypatch):
    where, whole, near = answers(seed, monkeypatch)
    assert near.status == whole.status, where
    assert near.distance == pytest.approx(whole.distance, rel=1e-9), where
    assert near.lower_bound == pytest.approx(whole.lower_bound, rel=1e-9), where


@pytest.mark.parametrize("seed", range(CASES))
def test_what_is_near_holds_the_answer_of_all(seed, monkeypatch):
    check(seed, monkeypatch)


@pytest.mark.large
def test_what_is_near_holds_the_answer_of_all_in_many_cases(monkeypatch):
    for seed in range(1000, 1000 + LARGE):
        check(seed, monkeypatch)


def deep_forest():
    X, y = make_classification(1500, 8, n_informative=6, flip_y=0.4, random_state=0)
    return RandomForestClassifier(30, random_state=0).fit(X, y), X


def test_a_deep_forest_is_asked_about_few_of_its_leaves(monkeypatch):
    model, X = deep_forest()
    monkeypatch.setattr(near_first, "MANY_LEAVES", 5000)
    explainer = Explainer(model, X)
    posed = []
    within = near_first.Nearby.within

    def counted(self, radius):
        part = within(self, radius)
        posed.append(0 if part is None else part.problem.n_leaves)
        return part

    monkeypatch.setattr(near_first.Nearby, "within", counted)
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
    result = explainer.explain(X[0], time_limit_s=1e-6, threads=1)
    assert (result.status, result.stop_reason) == ("unknown", "time_limit")


def test_what_was_seen_is_told_and_kept_where_there_is_no_time_to_prove(monkeypatch):
    model, X = deep_forest()
    monkeypatch.setattr(near_first, "MANY_LEAVES", 5000)
    explainer = Explainer(model, X)
    best = explainer.explain(X[0], threads=1)
    began = Event()
    proved = near_first.NearFirst._certified

    def stopped(self, reach, cost):
        began.set()
        self.request.stop.set()
        return proved(self, reach, cost)

    monkeypatch.setattr(near_first.NearFirst, "_certified", stopped)
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

    proved = near_first.NearFirst._certified
    monkeypatch.setattr(near_first.NearFirst, "_certified", stopped)
    monkeypatch.setattr(targets, "verify", lambda *asked, **rest: None)
    result = explainer.explain(X[0], threads=1)
    assert (result.status, result.distance) == ("unknown", math.inf)
