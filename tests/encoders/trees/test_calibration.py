"""A calibrated decision is a threshold on the score below, to the last float."""

import math

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from encoders.core.errors import UnsupportedModelError
from encoders.readers.calibrated import calibrated_lead, turn_of
from encoders.readers.read import read_ensemble
from portfolio import Explainer

DOUBLE = np.dtype(np.float64)


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :4], y


def fitted(method, score, y):
    """A pair of scikit-learn's own, calibrated on scores that are given."""
    tree = FrozenEstimator(Echo().fit(score[:, None], y))
    model = CalibratedClassifierCV(tree, method=method, cv=2, ensemble=False)
    return model.fit(score[:, None], y).calibrated_classifiers_[0]


class Echo(LogisticRegression):
    """A classifier whose score is its first column."""

    def decision_function(self, X):
        return np.asarray(X, dtype=np.float64)[:, 0]


def test_a_flat_part_at_one_half_is_class_0_up_to_its_last_float():
    score = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    pair = fitted("isotonic", score, np.array([0, 0, 1, 0, 1, 1]))
    lead = calibrated_lead(pair, False)
    assert lead(np.array([2.0, 2.5, 3.0])).tolist() == [0.0] * 3
    turn = turn_of(pair, lead, -10.0, 10.0, DOUBLE)
    assert turn.sign == 1 and turn.lower == turn.upper and 3.0 < turn.upper < 3.0 + 1e-12
    before = np.nextafter(turn.upper, -np.inf)
    assert lead(np.array([turn.upper]))[0] > 0 >= lead(np.array([before]))[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
@pytest.mark.parametrize("scale", [1.0, -1.0, 1e-9])
def test_the_turn_encloses_every_float_that_the_calibrator_decides_otherwise(seed, method, scale):
    rng = np.random.default_rng(seed)
    score = np.round(rng.normal(size=40), int(rng.integers(1, 4))) * scale
    y = (score / scale + rng.normal(size=40) * 0.8 > rng.normal()).astype(int)
    y[:4] = [0, 0, 1, 1]
    pair = fitted(method, score, y)
    lead = calibrated_lead(pair, False)
    most = float(np.abs(score).max()) * 2
    turn = turn_of(pair, lead, -most, most, DOUBLE)
    steps = np.arange(-200, 200)
    near = np.concatenate([end + steps * np.spacing(end) for end in (turn.lower, turn.upper)])
    signed = np.concatenate([near, score * turn.sign, rng.uniform(-most, most, 500)])
    signed = signed[np.abs(signed) <= most]
    wins = lead(turn.sign * signed) > 0
    assert not wins[signed < turn.lower].any() and wins[signed >= turn.upper].all()
    if method == "isotonic" and scale > 0:
        assert turn.lower == turn.upper
    elif scale != 1e-9:  # a sigmoid in such small scores is flat
        assert turn.upper - turn.lower < 1e-6 * most


BELOW = {
    "forest": RandomForestClassifier(5, max_depth=3, random_state=0),
    "pure leaves": ExtraTreesClassifier(6, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=3, max_depth=2),
    "float32": XGBClassifier(n_estimators=3, max_depth=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
@pytest.mark.parametrize("below", BELOW)
def test_no_row_closer_than_the_answer_is_calibrated_otherwise(tumours, below, method):
    X, y = tumours
    model = BELOW[below].fit(X[::2], y[::2])
    calibrated = CalibratedClassifierCV(FrozenEstimator(model), method=method, ensemble=False)
    calibrated.fit(X[1::2], y[1::2])
    explainer = Explainer(calibrated, X, features={f"x{c}": "numeric" for c in range(4)})
    rng = np.random.default_rng(0)
    for row in (0, 19, 40):
        result = explainer.explain(X[row], norm="inf", scale="none")
        assert result.status == "optimal"
        before, after = calibrated.predict(np.stack([X[row], result.counterfactual]))
        assert before != after
        near = X[row] + result.distance * (1 - 1e-6) * rng.choice([-1, 0, 1], size=(2000, 4))
        inside = np.clip(near, X.min(axis=0), X.max(axis=0))
        assert (calibrated.predict(inside) == before).all()


def test_pure_leaves_have_a_sharp_threshold(tumours):
    X, y = tumours
    model = FrozenEstimator(ExtraTreesClassifier(6, random_state=0).fit(X, y))
    calibrated = CalibratedClassifierCV(model, method="isotonic", ensemble=False).fit(X, y)
    ensemble = read_ensemble(calibrated)
    assert ensemble.rounding.band == 0 and ensemble.rounding.grid == 1.0


def test_a_margin_is_counted_from_the_threshold(tumours):
    X, y = tumours
    below = GradientBoostingClassifier(n_estimators=5, max_depth=2).fit(X, y)
    model = CalibratedClassifierCV(FrozenEstimator(below), ensemble=False).fit(X[::3], y[::3])
    pair = model.calibrated_classifiers_[0]
    at = -pair.calibrators[0].b_ / pair.calibrators[0].a_
    result = Explainer(model, X).explain(X[0], margin=0.2)
    assert (X[0] != result.counterfactual).any() and result.status == "optimal"
    before, after = below.decision_function(np.stack([X[0], result.counterfactual]))
    assert before < at and after >= at + 0.2
    plain = Explainer(model, X).explain(X[0])
    assert plain.distance <= result.distance and math.isfinite(result.distance)


def test_a_calibrator_that_never_turns_leaves_the_other_class_out_of_reach(tumours):
    X, y = tumours
    below = DecisionTreeClassifier(max_depth=2).fit(X, y)
    rare = np.arange(len(X)) % 50 == 0  # as good as never, whatever the row
    model = CalibratedClassifierCV(FrozenEstimator(below), ensemble=False).fit(X, rare.astype(int))
    assert not model.predict(X).any()
    assert Explainer(model, X).explain(X[0], target=1).status == "infeasible"
    assert Explainer(model, X).explain(X[0], target=0).distance == 0


def test_what_is_no_threshold_on_one_score_is_refused_in_a_sentence(tumours):
    X, y = tumours
    forest = RandomForestClassifier(3, max_depth=2)
    linear = CalibratedClassifierCV(LogisticRegression(), ensemble=False).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="a linear model of raw columns"):
        Explainer(linear, X)
    hinge = XGBClassifier(n_estimators=2, objective="binary:hinge").fit(X, y)
    calibrated = CalibratedClassifierCV(FrozenEstimator(hinge), ensemble=False).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="classifies by its score"):
        Explainer(calibrated, X)
    flowers, kinds = load_iris(return_X_y=True)
    three = CalibratedClassifierCV(forest, ensemble=False).fit(flowers, kinds)
    with pytest.raises(UnsupportedModelError, match="several classes"):
        Explainer(three, flowers)
    with pytest.raises(UnsupportedModelError, match="is not fitted"):
        Explainer(CalibratedClassifierCV(forest), X)


def test_calibration_of_soft_voting_goes_through_both(tumours):
    X, y = tumours
    members = [("a", RandomForestClassifier(3, max_depth=2)), ("b", DecisionTreeClassifier())]
    voting = VotingClassifier(members, voting="soft", weights=[2, 1]).fit(X, y)
    model = CalibratedClassifierCV(FrozenEstimator(voting), ensemble=False).fit(X, y)
    result = Explainer(model, X).explain(X[0])
    assert result.status == "optimal" and model.predict(result.counterfactual[None])[0] == 1
