"""Subclasses of known models: read as what they inherit from, or refused by naming a method."""

import numpy as np
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier, XGBRegressor

from encoders.core.errors import ModelChangedError, UnsupportedModelError
from encoders.readers.kinds import kind_of
from portfolio import Explainer
from tests.support.whole_grids import check_classes, check_predictions, whole_table


def tree():
    return DecisionTreeClassifier(max_depth=3, random_state=0)


MAKE = {
    RandomForestClassifier: {"n_estimators": 5, "max_depth": 3, "random_state": 0},
    GradientBoostingClassifier: {"n_estimators": 4, "max_depth": 2},
    HistGradientBoostingClassifier: {"max_iter": 4, "max_depth": 3},
    DecisionTreeClassifier: {"max_depth": 3},
    BaggingClassifier: {"estimator": tree(), "n_estimators": 4, "random_state": 0},
    AdaBoostClassifier: {"estimator": tree(), "n_estimators": 3},
    VotingClassifier: {"estimators": [("one", tree()), ("two", tree())], "voting": "soft"},
    CalibratedClassifierCV: {"estimator": tree(), "cv": 2},
    IsolationForest: {"n_estimators": 3, "max_samples": 16, "contamination": 0.2},
    XGBClassifier: {"n_estimators": 4, "max_depth": 2},
    LGBMClassifier: {"n_estimators": 4, "num_leaves": 5, "verbose": -1},
    CatBoostClassifier: {
        "iterations": 3, "depth": 2, "verbose": 0, "allow_writing_files": False
    },
    SelfTrainingClassifier: {"estimator": tree()},
    FixedThresholdClassifier: {"estimator": tree(), "threshold": 0.3},
    GridSearchCV: {"estimator": tree(), "param_grid": {"max_depth": [2]}, "cv": 2},
    Pipeline: {"steps": [("scale", StandardScaler()), ("tree", tree())]},
}  # fmt: skip


class Notes:
    """A mixin of one's own, with names that no prediction calls."""

    def summary(self):
        return "a model"


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKE, ids=lambda kind: kind.__name__)
def test_a_subclass_that_keeps_predictions_is_read_as_its_base(kind):
    class Ours(Notes, kind):
        def fit(self, X, y=None, **given):
            super().fit(X, y, **given)
            self.seconds = 1.0
            return self

    X, score = whole_table(1)
    y = (score > 3).astype(int)
    own, plain = Ours(**MAKE[kind]), kind(**MAKE[kind])
    if kind is IsolationForest:
        own.set_params(random_state=0), plain.set_params(random_state=0)
    own.fit(X, y), plain.fit(X, y)
    assert kind_of(own) == kind_of(plain)
    if kind is IsolationForest:
        row = X[own.predict(X) == -1].iloc[[0]]
        assert Explainer(own, X).explain(row, target=1).distance == (
            Explainer(plain, X).explain(row, target=1).distance
        )
        return
    assert check_classes(own, X, seed=2) >= 3


@pytest.mark.parametrize("kind", [RandomForestRegressor, XGBRegressor, LGBMRegressor])
def test_a_subclass_of_a_regressor_is_read_as_its_base(kind):
    class Ours(kind):
        pass

    X, score = whole_table(2)
    given = {"verbose": -1} if kind is LGBMRegressor else {}
    assert check_predictions(Ours(n_estimators=4, max_depth=3, **given).fit(X, score), X, 3) == 12


REPLACED = [
    (XGBClassifier, "predict"),
    (XGBClassifier, "get_booster"),
    (LGBMClassifier, "predict_proba"),
    (LGBMClassifier, "_process_params"),
    (CatBoostClassifier, "_predict"),
    (RandomForestClassifier, "predict_proba"),
    (RandomForestClassifier, "_validate_X_predict"),
    (HistGradientBoostingClassifier, "_raw_predict"),
    (GradientBoostingClassifier, "_raw_predict_init"),
    (VotingClassifier, "_collect_probas"),
    (BaggingClassifier, "predict"),
    (GridSearchCV, "predict"),
    (Pipeline, "predict"),
]


@pytest.mark.parametrize(
    ("kind", "method"), REPLACED, ids=lambda own: getattr(own, "__name__", own)
)
def test_a_subclass_that_replaces_a_prediction_is_refused_by_its_method(kind, method):
    def replaced(self, *given, **named):
        return getattr(super(Ours, self), method)(*given, **named)

    Ours = type("Ours", (kind,), {method: replaced})
    X, score = whole_table(1)
    model = Ours(**MAKE[kind]).fit(X, (score > 3).astype(int))
    with pytest.raises(
        UnsupportedModelError, match=f"Ours .*{kind.__name__}.* overrides {method},"
    ):
        Explainer(model, X)
    if kind not in (GridSearchCV, Pipeline):
        with pytest.raises(UnsupportedModelError, match=f"overrides {method},"):
            Explainer(make_pipeline(StandardScaler(), model).fit(X, (score > 3).astype(int)), X)


def test_a_mixin_behind_the_library_is_found():
    class Louder:
        def decision_function(self, X):
            return 2 * super().decision_function(X)

    class Ours(Louder, GradientBoostingClassifier):
        pass

    X, score = whole_table(1)
    model = Ours(n_estimators=3).fit(X, score > 3)
    with pytest.raises(UnsupportedModelError, match=r"Ours .* overrides decision_function"):
        Explainer(model, X)


def test_a_method_that_the_object_itself_replaces_is_found():
    X, score = whole_table(1)
    model = tree().fit(X, score > 3)
    model.predict = lambda rows: np.ones(len(rows))
    with pytest.raises(
        UnsupportedModelError, match="this DecisionTreeClassifier overrides predict"
    ):
        Explainer(model, X)


def test_a_class_of_its_own_is_named_as_it_is():
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Mine(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return np.zeros(len(X))

    X, score = whole_table(1)
    with pytest.raises(UnsupportedModelError, match="type Mine cannot be read"):
        Explainer(Mine().fit(X, score > 3), X)


def test_a_subclass_that_is_fitted_again_is_noticed():
    class Ours(XGBClassifier):
        pass

    X, score = whole_table(1)
    model = Ours(n_estimators=3, max_depth=2).fit(X, score > 3)
    explainer = Explainer(model, X)
    model.note = "mine"
    assert explainer.explain(X.iloc[[0]]).status == "optimal"
    model.fit(X, score > 1)
    with pytest.raises(ModelChangedError):
        explainer.explain(X.iloc[[0]])


def test_a_subclass_of_a_step_is_followed_or_refused():
    class Scaler(StandardScaler):
        pass

    class Square(StandardScaler):
        def transform(self, X):
            return super().transform(X) ** 2

    X, score = whole_table(1)
    y = (score > 3).astype(int)
    assert check_classes(make_pipeline(Scaler(), tree()).fit(X, y), X, 0) == 3
    with pytest.raises(UnsupportedModelError, match="it overrides transform of StandardScaler"):
        Explainer(make_pipeline(Square(), tree()).fit(X, y), X)


def test_forests_of_imbalanced_learn_are_read():
    ensemble = pytest.importorskip("imblearn.ensemble")
    X, score = whole_table(4)
    model = ensemble.BalancedRandomForestClassifier(5, max_depth=3, random_state=0)
    assert check_classes(model.fit(X, np.where(score > 5, "rare", "usual")), X, 0) >= 3
