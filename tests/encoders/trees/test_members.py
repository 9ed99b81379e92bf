"""Models made of models: what is added up, in which unit, and what has no sum of leaves."""

import math

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from encoders.core.errors import UnsupportedModelError
from encoders.readers.read import read_ensemble
from portfolio import Explainer, HardVotingClassifier
from tests.support.brute import Spec, all_rows, distances, predicted, thresholds

Tree = DecisionTreeClassifier


@pytest.fixture(scope="module", params=[2, 3])
def data(request):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(np.round(rng.normal(size=(120, 3)), 2), columns=["a", "b", "c"])
    signal = X["a"] + X["b"] * X["c"] + rng.normal(size=120) * 0.3
    y = np.digitize(signal, np.quantile(signal, np.linspace(0, 1, request.param + 1)[1:-1]))
    return X, np.array(["high", "low", "mean"])[y]


def forest(trees, **settings):
    return RandomForestClassifier(trees, max_depth=2, random_state=0, **settings)


def lead(scores, index):
    """By how much one column is larger than each other."""
    return scores[:, index] - np.delete(scores, index, axis=1).max(axis=1)


def both_sides(decision):
    return np.column_stack([-decision / 2, decision / 2])


def of_decision(model, rows):
    decision = model.decision_function(rows)
    return both_sides(decision) if decision.ndim == 1 else decision


SOFT = [("a", Tree(max_depth=2)), ("b", forest(3)), ("c", forest(4))]
LEADS = {
    "bagging": (
        BaggingClassifier(Tree(max_depth=3), 5, max_features=2, random_state=0),
        0.251,
        lambda model, rows: model.predict_proba(rows),
    ),
    "bagged forests": (
        BaggingClassifier(forest(3), 2, random_state=0),
        0.301,
        lambda model, rows: model.predict_proba(rows),
    ),
    "soft": (
        VotingClassifier(SOFT, voting="soft", weights=[0.3, 2, 1]),
        0.201,
        lambda model, rows: model.predict_proba(rows),
    ),
    "soft, boosted": (
        VotingClassifier(
            [("a", GradientBoostingClassifier(n_estimators=3)), ("b", forest(3))], voting="soft"
        ),
        0.151,
        lambda model, rows: model.predict_proba(rows),
    ),
    "adaboost": (AdaBoostClassifier(Tree(max_depth=2), n_estimators=6), 0.301, of_decision),
    "isolation": (
        IsolationForest(n_estimators=5, max_samples=16, contamination=0.2, random_state=0),
        0.101,
        lambda model, rows: both_sides(
            -np.log2(-model.score_samples(rows)) * longest_mean(16)
            + np.log2(-model.offset_) * longest_mean(16)
        ),
    ),
}


def longest_mean(samples):
    return 2 * (np.log(samples - 1) + np.euler_gamma) - 2 * (samples - 1) / samples


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEADS)
def test_a_margin_is_a_lead_in_the_models_own_score(data, kind):
    X, labels = data
    model, margin, score = LEADS[kind]
    model.fit(X, labels)
    explainer = Explainer(model, X)
    values = X.to_numpy()
    specs = [Spec(c, "numeric", (i,), *np.quantile(values[:, i], [0, 1])) for i, c in
             enumerate(X.columns)]  # fmt: skip
    cuts, dtype = thresholds(model, 3)
    x = X.iloc[0]
    rows = all_rows(specs, x.to_numpy(), model, dtype, cuts, 10**6)
    scores = score(model, pd.DataFrame(rows, columns=X.columns))
    units = [s.upper - s.lower for s in specs]
    for index, label in enumerate(explainer.classes):
        leads = lead(scores, index)
        assert np.abs(leads - margin).min() > 1e-9  # no row hangs on a rounding
        enough = leads >= margin
        costs = distances(specs, x.to_numpy(), rows[enough], 1, units, [1.0] * 3)
        result = explainer.explain(x, target=label, margin=margin)
        assert result.distance == pytest.approx(costs.min(initial=math.inf), rel=1e-9), label
        assert result.status == ("optimal" if enough.any() else "infeasible")


def test_members_of_different_input_types_vote_as_each_of_them_reads(data):
    X, labels = data
    if len(np.unique(labels)) == 3:
        pytest.skip("a boosting of three classes has three trees")
    shifted = X + 1 / 3  # so that float32 and float64 differ
    members = [
        ("float32", Tree(max_depth=2)),
        ("float64", HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=6)),
        ("deeper", Tree(max_depth=3)),
    ]
    model = VotingClassifier(members).fit(shifted, labels)
    ensemble = read_ensemble(model)
    assert ensemble.dtype == np.float64 and ensemble.votes and ensemble.rounding.band == 0
    edges = np.concatenate([ensemble.last_left[ensemble.column == c] for c in range(3)])
    rows = np.repeat(shifted.to_numpy()[:1], 3 * edges.size, axis=0)
    at = np.repeat(np.concatenate([np.flatnonzero(ensemble.column == c) for c in range(3)]), 3)
    near = np.stack([np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf)], axis=1)
    rows[np.arange(rows.shape[0]), ensemble.column[at]] = near.ravel()
    ours = np.array(model.classes_)[ensemble.scores(rows).argmax(axis=1)]
    assert (ours == predicted(model, rows)).all()


def test_exact_sums_of_sums_have_no_band(data):
    X, labels = data
    pure = HardVotingClassifier(RandomForestClassifier(4, random_state=0))
    odd = HardVotingClassifier(RandomForestClassifier(3, random_state=0))
    exact = VotingClassifier([("a", pure), ("b", pure)], voting="soft", weights=[1, 2])
    rounded = VotingClassifier([("a", pure), ("b", odd)], voting="soft")
    weighted = VotingClassifier([("a", pure), ("b", pure)], voting="soft", weights=[1, 3])
    assert read_ensemble(exact.fit(X, labels)).rounding.grid > 0
    assert 0 < read_ensemble(rounded.fit(X, labels)).rounding.band < 1e-12
    assert 0 < read_ensemble(weighted.fit(X, labels)).rounding.band < 1e-12


def test_a_frozen_model_is_the_model(data):
    X, labels = data
    model = AdaBoostClassifier(Tree(max_depth=2), n_estimators=4, random_state=0).fit(X, labels)
    x = X.iloc[5]
    frozen = Explainer(FrozenEstimator(model), X).explain(x)
    assert frozen.distance == Explainer(model, X).explain(x).distance
    assert frozen.status == "optimal"


def test_bagging_goes_through_as_many_members_as_its_setting_says(data):
    X, labels = data
    model = BaggingClassifier(Tree(max_depth=2), 6, random_state=0).fit(X, labels)
    model.set_params(n_estimators=3)
    assert read_ensemble(model).root.size == 3
    assert Explainer(model, X).explain(X.iloc[0]).status == "optimal"


def test_float32_weights_keep_probabilities_of_xgboost_in_float32(data):
    X, labels = data
    members = [(name, XGBClassifier(n_estimators=2, max_depth=1)) for name in "ab"]
    error = {}
    for kind in (np.float32, np.float64):
        weights = np.array([1.0, 3.0], dtype=kind)
        voting = VotingClassifier(members, voting="soft", weights=weights).fit(X, labels)
        assert voting.predict_proba(X).dtype == kind
        error[kind] = read_ensemble(voting).link.error
    assert error[np.float32] == error[np.float64] * 2.0**29


BOOSTING = GradientBoostingClassifier(n_estimators=2)
REFUSED = {
    "a linear model of raw columns": BaggingClassifier(LogisticRegression(), 2),
    "hard voting over models that combine several ensembles": VotingClassifier(
        [("a", VotingClassifier([("b", BOOSTING)], voting="soft")), ("c", Tree())]
    ),
    "prediction of a RandomForestClassifier of 4 trees is not a sum": AdaBoostClassifier(
        forest(4), n_estimators=2
    ),
    "type SVC cannot be read": BaggingClassifier(SVC(), 2),
    r"VotingClassifier's weights \[1.0, -1.0\] do not define": VotingClassifier(
        [("a", Tree()), ("b", Tree())], voting="hard", weights=[1, -1]
    ),
    "predicts the same class for all rows": IsolationForest(n_estimators=2, max_samples=1),
}


@pytest.mark.parametrize("words", REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_what_is_no_sum_of_leaves_is_refused_in_a_sentence(data, words):
    X, labels = data
    with pytest.raises(UnsupportedModelError, match=words) as refusal:
        Explainer(REFUSED[words].fit(X, labels), X)
    said = str(refusal.value)
    assert said.endswith(".") and ". " in said and "\n" not in said


CURVE = HistGradientBoostingRegressor(loss="poisson", max_iter=2)
REFUSED_REGRESSORS = {
    "over single trees only.*type RandomForestRegressor": AdaBoostRegressor(
        RandomForestRegressor(2), n_estimators=2
    ),
    "BaggingRegressor averages predictions, .*AdaBoostRegressor.* or a median": BaggingRegressor(
        AdaBoostRegressor(n_estimators=2), 2
    ),
    "transformed target around a AdaBoostRegressor is not": TransformedTargetRegressor(
        AdaBoostRegressor(n_estimators=2), func=np.log, inverse_func=np.exp
    ),
    "predict of a AdaBoostRegressor is not a supported": StackingRegressor(
        [("a", AdaBoostRegressor(n_estimators=2))], cv=2
    ),
    "BaggingRegressor averages .* a function of its sum": BaggingRegressor(CURVE, 2),
    "VotingRegressor averages .* a function of its sum": VotingRegressor([("a", CURVE)]),
    r"VotingRegressor's weights \[0.0\] do not define": VotingRegressor(
        [("a", RandomForestRegressor(2))], weights=[0]
    ),
}


@pytest.mark.parametrize("words", REFUSED_REGRESSORS)
def test_regressors_that_are_no_mean_of_sums_are_refused_in_a_sentence(data, words):
    X, labels = data
    y = (labels == "high") + 1.0
    model = REFUSED_REGRESSORS[words].fit(X, y)
    with pytest.raises(UnsupportedModelError, match=words):
        Explainer(model, X)


@pytest.mark.parametrize("kind", [BaggingClassifier, AdaBoostClassifier, IsolationForest])
def test_models_that_are_not_fitted_are_told_so(data, kind):
    with pytest.raises(UnsupportedModelError, match=f"this {kind.__name__} is not fitted"):
        Explainer(kind(), data[0])


def test_voting_that_is_not_fitted_is_told_so(data):
    with pytest.raises(UnsupportedModelError, match="this VotingClassifier is not fitted"):
        Explainer(VotingClassifier([("a", Tree())]), data[0])


def test_votes_that_scikit_learn_cannot_count_are_refused(data):
    X = data[0]
    one = CatBoostClassifier(iterations=2, verbose=0, allow_writing_files=False)
    members = [("a", one), ("b", one)]
    vote = VotingClassifier(members, voting="hard").fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="1d array"):
        vote.predict(X)
    with pytest.raises(UnsupportedModelError, match=r'Use VotingClassifier\(voting="soft"\)'):
        Explainer(vote, X)
