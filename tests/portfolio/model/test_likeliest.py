"""Models whose class is asked for together with their probabilities."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from counterfolio import Explainer
from portfolio.model.native import wrap_native


class Strict(XGBClassifier):
    """Has a threshold of its own."""

    def predict(self, X, **options):
        return (self.predict_proba(X)[:, 1] > 0.7).astype(int)


MODELS = (
    XGBClassifier(n_estimators=4, max_depth=2),
    LGBMClassifier(n_estimators=4, num_leaves=4, verbose=-1),
    RandomForestClassifier(4, max_depth=2, random_state=0),
    ExtraTreesClassifier(4, max_depth=2, random_state=0),
    DecisionTreeClassifier(max_depth=2),
)


def drawn(n_classes):
    """Rows and labels, each row once with every label: half of what is learned is ties."""
    rng = np.random.default_rng(n_classes)
    rows = rng.integers(0, 4, size=(60, 3)).astype(float)
    learned = rng.integers(0, n_classes, size=60)
    everywhere = np.repeat(np.arange(n_classes), 60)
    X = np.concatenate([rows] * (n_classes + 1))
    return X, np.concatenate([everywhere, np.where(rows[:, 0] > 1, learned, everywhere[:60])])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_first_of_the_likeliest_classes_is_what_predict_says(model, n_classes):
    X, y = drawn(n_classes)
    grid = np.stack(np.meshgrid(*[np.linspace(-0.5, 3.5, 9)] * 3), -1).reshape(-1, 3)
    fitted = clone(model).fit(X, y)
    native = wrap_native(fitted, n_classes)
    told = native.probabilities(grid)
    assert native.likeliest
    np.testing.assert_array_equal(told.argmax(axis=1), native.predict(grid))
    np.testing.assert_array_equal(told, fitted.predict_proba(grid).astype(np.float64))


def test_a_tie_is_one_for_predict_as_well():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 1, 0, 1]
    for model in MODELS:
        own = clone(model)
        if hasattr(own, "bootstrap"):
            own.bootstrap = False
        native = wrap_native(own.fit(X, y), 2)
        told = native.probabilities(X)
        assert (told == 0.5).all()
        assert native.predict(X).tolist() == told.argmax(axis=1).tolist() == [0] * 4


def test_a_model_with_a_predict_of_its_own_is_asked_for_that():
    X, y = drawn(2)
    model = XGBClassifier(n_estimators=4).fit(X, y)
    assert wrap_native(model, 2).likeliest
    model.predict = model.predict
    assert not wrap_native(model, 2).likeliest
    assert not wrap_native(Strict(n_estimators=4).fit(X, y), 2).likeliest
    softmax = XGBClassifier(n_estimators=4, objective="multi:softmax").fit(*drawn(3))
    assert not wrap_native(softmax, 3).likeliest


def test_scores_told_with_the_class_are_those_of_predict_proba():
    X, y = drawn(2)
    frame = pd.DataFrame(X, columns=list("abc"))
    model = XGBClassifier(n_estimators=20, max_depth=3).fit(frame, y)
    explainer = Explainer(model, frame)
    for row in X[:20]:
        result = explainer.explain(row, threads=1)
        if result.scoring is None:
            continue
        both = np.array([row, list(result.counterfactual)])
        proba = model.predict_proba(pd.DataFrame(both, columns=list("abc")))
        assert result.scoring.probabilities is not None
        label = list(model.classes_).index(result.target)
        assert [result.score_before, result.score] == [float(p) for p in proba[:, label]]
