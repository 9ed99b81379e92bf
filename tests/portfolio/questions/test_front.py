"""Fronts: every level against brute force over every cell."""

import itertools
import json
import math
import os
from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from encoders.search import rising
from portfolio import Explainer, Fixed, InputError, Plausibility, Probability
from portfolio.engine import ahead
from portfolio.engine.reduced import solve_left
from portfolio.model.native import NativeModel
from tests.support.enumerated import enumerated

LEVELS = (0.3, 0.5, 0.65, 0.8, 0.95)


def check_changes(seed, strategy="auto"):
    """For every number of changes the cheapest candidate; how many points there were."""
    case = enumerated(seed)
    front = case.explainer.front(case.x, **case.given, threads=1, strategy=strategy)
    count, where = case.changed.sum(axis=1), f"seed {seed}, {strategy}, {case.given}"
    assert front.status in ("optimal", "infeasible"), where
    for most in range(len(case.names) + 1):
        best = case.cost[case.reached & (count <= most)].min(initial=math.inf)
        own = [p.result.distance for p in front.points if p.level <= most]
        told = min(own, default=math.inf)
        assert math.isclose(told, best, rel_tol=1e-7, abs_tol=1e-12), where
    return len(front.points)


def check_probabilities(seed, ties=False):
    """For every level the cheapest candidate; how many different costs there were.

    With ties the levels are what the model gives some candidates, to the last bit.
    """
    case, levels = enumerated(seed), LEVELS
    probability, where = case.probability(), f"seed {seed}, {case.given}"
    if ties:
        rng = np.random.default_rng(seed)
        levels = np.unique(rng.choice(probability, 4)).tolist()
    front = case.explainer.front(case.x, by="probability", levels=levels, **case.given, threads=1)
    assert [p.level for p in front.points] == list(levels), where
    for point in front.points:
        best = case.cost[probability >= point.level].min(initial=math.inf)
        assert point.result.status == ("infeasible" if math.isinf(best) else "optimal"), where
        assert math.isclose(point.result.distance, best, rel_tol=1e-7, abs_tol=1e-12), where
    assert front.asked <= len(levels)
    return len({point.result.distance for point in front.points})


@pytest.mark.slow
def test_fewer_changes_cost_what_brute_force_says():
    found = [check_changes(seed) for seed in range(18)]
    assert sum(n > 1 for n in found) >= 3, found


@pytest.mark.slow
def test_higher_probabilities_cost_what_brute_force_says():
    found = [check_probabilities(seed, seed % 2 == 0) for seed in range(200, 220)]
    assert sum(n > 2 for n in found) >= 3, found


def test_no_time_is_counted_twice(explainer, refused):
    front = explainer.front(refused, by="probability", levels=[0.5, 0.6, 0.7], threads=1)
    assert len(front.points) == 3
    for point in front.points:
        timings = point.result.timings
        assert min(astuple(timings)) >= 0.0, timings


def test_the_model_is_asked_about_all_levels_at_once(explainer, refused, monkeypatch):
    asked, ask = [], NativeModel.values

    def counted(self, rows, scale, output):
        asked.append(len(rows))
        return ask(self, rows, scale, output)

    monkeypatch.setattr(NativeModel, "values", counted)
    front = explainer.front(
        refused, by="probability", levels=[0.5, 0.6, 0.7, 0.8], target="granted"
    )
    answers = {p.result.distance for p in front.points if p.result.row is not None}
    assert front.status == "optimal" and len(answers) > 1
    assert asked == [len(answers) + 1]  # the query, too


def check_plausibility(seed, piped):
    """For every level the cheapest of all rows; how many different costs there were."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.binomial(6, 0.4, (150, 3)), columns=["a", "b", "c"])
    y = np.where(X.a + X.b * X.c + rng.normal(0, 1, 150) > 7, "yes", "no")
    model = RandomForestClassifier(5, max_depth=4, random_state=seed).fit(X, y)
    forest = IsolationForest(n_estimators=10, contamination=0.2, random_state=seed)
    scorer = (make_pipeline(MinMaxScaler(), forest) if piped else forest).fit(X)
    explainer = Explainer(model, X, plausibility=Plausibility(scorer))
    names = [range(int(X[name].min()), int(X[name].max()) + 1) for name in X]
    rows = pd.DataFrame(list(itertools.product(*names)), columns=X.columns)
    x = X[model.predict(X) == "no"].iloc[0]
    cost = ((rows - x).abs() / (X.max() - X.min())).sum(axis=1).to_numpy()
    reached, score = model.predict(rows) == "yes", scorer.score_samples(rows)
    levels = [*np.quantile(score[reached], [0.2, 0.5, 0.7, 0.9, 1.0]).tolist(), -0.05]
    front = explainer.front(x, by="plausibility", levels=levels, target="yes", threads=1)
    for point, level in zip(front.points, sorted(levels), strict=True):
        best = cost[reached & (score >= level)].min(initial=math.inf)
        assert point.result.status == ("infeasible" if math.isinf(best) else "optimal"), seed
        assert math.isclose(point.result.distance, best, rel_tol=1e-7, abs_tol=1e-12), seed
    assert front.status == "optimal" and front.asked <= len(levels)
    return len({point.result.distance for point in front.points})


@pytest.mark.slow
def test_more_plausible_answers_cost_what_brute_force_says():
    found = [check_plausibility(seed, seed % 3 == 0) for seed in range(6)]
    assert sum(n > 2 for n in found) >= 3, found


def test_levels_that_are_left_are_solved_one_by_one(monkeypatch):
    monkeypatch.setattr(rising, "MOST", 0)
    monkeypatch.setattr(rising, "FIRST_SLICE", 2)
    left = []

    def counted(*given):
        left.append(given)
        return solve_left(*given)

    monkeypatch.setattr(ahead, "solve_left", counted)
    for seed in range(200, 203):
        check_plausibility(seed, seed % 3 == 0)
        check_probabilities(seed, seed % 2 == 0)
    assert len(left) >= 3


def careful_forest(X):
    return IsolationForest(n_estimators=5, random_state=0).fit(X)


def test_levels_of_plausibility_that_none_can_reach(explainer, refused, credit):
    with pytest.raises(InputError, match="Pass a Plausibility to the Explainer"):
        explainer.front(refused, by="plausibility")
    careful = Explainer(*credit[:2], plausibility=Plausibility(careful_forest(credit[1])))
    with pytest.raises(InputError, match="between -1 and 0, got"):
        careful.front(refused, by="plausibility", levels=[-0.5, 0.0])
    one_row = IsolationForest(n_estimators=5, random_state=0).fit(credit[1].head(1))
    forests = {"refused": one_row, "granted": careful_forest(credit[1])}
    with pytest.raises(InputError, match="gives all rows the same score"):
        Explainer(*credit[:2], plausibility=Plausibility(forests)).front(refused, by="plausibility")
    assert "Plausibility of at least -0.5" in str(
        careful.front(refused, by="plausibility", levels=[-0.5])
    )


@pytest.mark.large
def test_many_scores_of_plausibility():
    for seed in range(100, 620):
        check_plausibility(seed, seed % 3 == 0)


@pytest.mark.large
def test_many_levels_that_are_left(monkeypatch):
    for looks in (0, 30, 100):
        monkeypatch.setattr(rising, "MOST", looks)
        monkeypatch.setattr(rising, "FIRST_SLICE", 2)
        for seed in range(5000, 5100):
            check_plausibility(seed, seed % 3 == 0)
            check_probabilities(seed, seed % 2 == 0)


@pytest.mark.large
def test_many_random_questions():
    count = int(os.environ.get("FRONT_QUESTIONS", "700"))
    found = [check_changes(seed) for seed in range(1000, 1000 + count)]
    more = [check_probabilities(seed, seed % 2 == 0) for seed in range(3000, 3000 + count)]
    print(f"fronts by changes: {sum(map(bool, found))}, {sum(found)} points")
    print(f"fronts by probability: {sum(map(bool, more))}, {sum(more)} distances")


def test_levels_that_an_answer_reaches_are_not_asked(explainer, refused):
    first = explainer.explain(refused, target="granted")
    levels = [0.0, first.score]
    front = explainer.front(refused, by="probability", levels=levels, target="granted")
    assert front.asked <= 2 and front.points[0].result.distance == 0
    counts = explainer.front(refused, levels=[9, 8, len(first.changed)], target="granted")
    assert counts.asked == 1 and {p.result.distance for p in counts.points} == {first.distance}


def test_out_of_reach_is_a_proof_for_all_further_levels(credit):
    model, X = credit
    explainer = Explainer(model, X)
    row = X[model.predict(X) == "refused"].iloc[0]
    fixed = [Fixed(name) for name in ("income", "debts") if name in X]
    front = explainer.front(
        row, by="probability", levels=[0.999, 1.0], target="granted", constraints=fixed
    )
    shown = front.table()
    assert list(shown["at_least"]) == [0.999, 1.0]
    if shown["status"].iloc[0] == "infeasible":
        assert front.asked == 1 and "out of reach (proved)" in str(front)


def test_a_front_is_a_table_json_and_a_picture(explainer, refused):
    front = explainer.front(refused, target="granted")
    table = front.table()
    assert list(table.columns)[:3] == ["most_changes", "status", "distance"]
    assert table["distance"].is_monotonic_increasing
    plain = json.loads(front.to_json())
    assert [p["level"] for p in plain["points"]] == [p.level for p in front.points]
    figure = front.plot()
    assert figure.axes[0].get_xlabel() == "most changes"
    assert len(str(front).splitlines()) == len(front.points)


def test_the_other_of_two_classes_is_meant(explainer, refused):
    own = explainer.front(refused, by="probability", levels=[0.6])
    named = explainer.front(refused, by="probability", levels=[0.6], target="granted")
    assert own.points[0].result.distance == named.points[0].result.distance


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"by": "cost"}, "by must be"),
        ({"levels": []}, "levels must be"),
        ({"levels": "12"}, "levels must be"),
        ({"levels": [1.5]}, "levels of changes must be whole"),
        ({"levels": [math.nan]}, "levels must be"),
        ({"by": "probability", "levels": [1.5]}, "a probability must be from 0 to 1, got 1.5"),
        (
            {"by": "probability", "target": Probability("granted", at_least=0.5)},
            "needs a class",
        ),
    ],
)
def test_what_does_not_fit_is_told(explainer, refused, given, words):
    with pytest.raises(InputError, match=words):
        explainer.front(refused, **given)


def test_no_time_is_no_proof(explainer, refused):
    front = explainer.front(refused, target="granted", time_limit_s=1e-9)
    assert front.status in ("unknown", "feasible") and front.stop_reason == "time_limit"


def test_progress_is_told_of_the_whole(explainer, refused):
    told = []
    front = explainer.front(
        refused, target="granted", on_progress=lambda *point: told.append(point)
    )
    seconds = [point[0] for point in told]
    assert seconds == sorted(seconds) and 0 < seconds[-1] <= front.seconds
    with pytest.raises(InputError, match="on_progress"):
        explainer.front(refused, on_progress=3)


def test_each_probability_is_reached_under_every_model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 6, (80, 3)).astype(float), columns=list("abc"))
    models = [
        RandomForestClassifier(5, max_depth=3, random_state=seed).fit(
            X, X.sum(axis=1) + rng.normal(0, 3, 80) > 7.5
        )
        for seed in range(2)
    ]
    explainer = Explainer(models[0], X, also=[models[1]])
    every = pd.DataFrame(list(itertools.product(range(6), repeat=3)), columns=X.columns)
    reached = np.min([model.predict_proba(every.astype(float))[:, 1] for model in models], axis=0)
    for at in np.flatnonzero(~models[0].predict(X))[:8]:
        front = explainer.front(X.iloc[at], by="probability", levels=LEVELS, target=True, threads=1)
        cost = ((every - X.iloc[at]).abs() / (X.max() - X.min())).sum(axis=1)
        for point in front.points:
            best = (
                cost[reached >= point.level].min() if (reached >= point.level).any() else math.inf
            )
            assert math.isclose(point.result.distance, best, rel_tol=1e-7, abs_tol=1e-12)
