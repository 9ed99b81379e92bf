"""Limits of an isolation forest's ``decision_function``, compared with all rows by its scores."""

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from encoders.readers.isolation import AnomalyScore, longest
from portfolio import AtLeast, AtMost, Beat, Explainer, InputError, Less, More, Plausibility, Score
from tests.support.whole_grids import compare, costs, every_row, whole_table

FORESTS = {
    "automatic": {"n_estimators": 5},
    "many": {"n_estimators": 40, "contamination": 0.1},
    "small": {"n_estimators": 7, "max_samples": 20, "contamination": 0.2},
    "parts": {"n_estimators": 9, "max_features": 2, "contamination": 0.3},
}
SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(2, 12))]


def fitted(name, seed, steps=()):
    X, _ = whole_table(seed)
    forest = IsolationForest(random_state=seed, **FORESTS[name])
    return (make_pipeline(*steps, forest) if steps else forest).fit(X), X


def limits(rng, scores, now):
    """Targets whose limits are scores of rows, the next floats, and numbers between."""
    low, high = np.sort(rng.choice(scores, 2))
    above, between = float(np.nextafter(high, np.inf)), float((low + high) / 2)
    yield AtLeast(float(high)), scores >= high
    yield AtLeast(above), scores >= above
    yield AtMost(float(low)), scores <= low
    yield AtMost(between), scores <= between
    yield Score(float(low), between), (low <= scores) & (scores <= between)
    yield AtLeast(0.0), scores >= 0.0
    yield More(by=0.01), scores >= now + 0.01
    yield Less(by=0.01), scores <= now - 0.01


def check(model, X, seed):
    rows, explainer, rng = every_row(X), Explainer(model, X), np.random.default_rng(seed)
    scores = model.decision_function(rows)
    for place in rng.choice(len(X), 3, replace=False):
        now = float(model.decision_function(X.iloc[[place]])[0])
        cost = costs(rows, X.iloc[place])
        for target, reached in limits(rng, scores, now):
            result = explainer.explain(X.iloc[[place]], target=target)
            compare(result, cost[reached].min(initial=np.inf))
            assert result.score_before == now
            if result.status == "optimal":
                answer = result.counterfactual
                frame = answer if hasattr(answer, "columns") else answer.to_frame().T
                assert result.score == model.decision_function(frame)[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FORESTS)
def test_scores_are_limited_exactly(name, seed):
    check(*fitted(name, seed), seed)


@pytest.mark.slow
def test_scores_of_a_pipeline_are_limited_exactly():
    check(*fitted("small", 3, steps=(StandardScaler(),)), 3)


@pytest.mark.parametrize("name", FORESTS)
def test_the_function_of_path_lengths_is_the_librarys(name):
    forest, X = fitted(name, 0)
    depths = np.zeros(len(X))
    for at, (tree, columns) in enumerate(
        zip(forest.estimators_, forest.estimators_features_, strict=True)
    ):
        leaves = tree.apply(X.to_numpy()[:, columns])
        depths += forest._decision_path_lengths[at][leaves]
        depths += forest._average_path_length_per_tree[at][leaves] - 1.0
    ours = AnomalyScore(longest(forest), float(forest.offset_))(depths)
    assert np.allclose(ours, forest.decision_function(X), rtol=1e-14, atol=1e-15)


def test_class_1_is_a_score_of_at_least_0():
    forest, X = fitted("many", 2)
    outlier = X[forest.predict(X) == -1].iloc[[0]]
    explainer = Explainer(forest, X)
    one, two = (explainer.explain(outlier, target=each) for each in (1, AtLeast(0.0)))
    assert one.distance == two.distance > 0 and one.score == two.score >= 0 > one.score_before


def test_a_row_can_be_made_less_anomalous_than_another():
    forest, X = fitted("many", 4)
    order = np.argsort(forest.decision_function(X))
    result = Explainer(forest, X).explain(X.iloc[[order[0]]], target=Beat(X.iloc[order[60]]))
    assert result.score > forest.decision_function(X.iloc[[order[60]]])[0]


def test_a_classifier_has_no_anomaly_score():
    from sklearn.ensemble import RandomForestClassifier

    X, score = whole_table(1)
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, score > 2)
    forest = IsolationForest(n_estimators=5, random_state=0).fit(X)
    explainer = Explainer(model, X, plausibility=Plausibility(forest))
    with pytest.raises(InputError, match="supports regressors and isolation forests"):
        explainer.explain(X.iloc[[0]], target=AtLeast(0.1))
