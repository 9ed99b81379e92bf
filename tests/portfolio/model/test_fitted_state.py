"""A model that was fitted again after the explainer was made is refused, and no other one is."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from counterfolio import AtLeast, Explainer, Fixed
from encoders.core.errors import ModelChangedError
from portfolio.api.variants import asker_of

rng = np.random.default_rng(4)
X = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
FIRST, THEN = (X.a + X.b > 0).astype(int), (X.a > 1).astype(int)
ROW = X.iloc[[0]]


def tree():
    return DecisionTreeClassifier(max_depth=3, random_state=0)


def xgboost_classifier():
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1)


def lightgbm_classifier():
    kind = pytest.importorskip("lightgbm").LGBMClassifier
    return kind(n_estimators=3, num_leaves=4, n_jobs=1, verbose=-1)


def catboost_classifier():
    kind = pytest.importorskip("catboost").CatBoostClassifier
    return kind(iterations=3, depth=2, thread_count=1, verbose=0, allow_writing_files=False)


MAKE = {
    "tree": tree,
    "forest": lambda: RandomForestClassifier(3, max_depth=3, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=3, max_depth=2),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=3, max_depth=2),
    "pipeline": lambda: make_pipeline(StandardScaler(), tree()),
    "voting": lambda: VotingClassifier([("one", tree()), ("two", tree())], voting="soft"),
    "xgboost": xgboost_classifier,
    "lightgbm": lightgbm_classifier,
    "catboost": catboost_classifier,
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_a_model_that_was_fitted_again_is_refused(make):
    model = make().fit(X, FIRST)
    explainer = Explainer(model, X)
    model.predict_proba(ROW)
    assert explainer.explain(ROW).status == "optimal"
    model.fit(X, THEN)
    for ask in (
        lambda: explainer.explain(ROW),
        lambda: explainer.explain_batch(X[:2]),
        lambda: explainer.reasons(ROW),
        lambda: explainer.session(strategy="search").explain(ROW),
        lambda: explainer.explain_group(X[:3], target=1),
    ):
        with pytest.raises(ModelChangedError, match="Make a new Explainer"):
            ask()
    assert Explainer(model, X).explain(ROW).status in ("optimal", "infeasible")


def refit_a_member(model):
    model.estimators_[0].fit(X, THEN)


def refit_a_step(model):
    model[-1].fit(X * 2, THEN)


def grow(model):
    model.set_params(warm_start=True, n_estimators=5).fit(X, FIRST)


def calibrate(model):
    model.calibrated_classifiers_[0].estimator.fit(X, THEN)


PARTS = {
    "a member": (MAKE["voting"], refit_a_member),
    "a tree of a forest": (MAKE["forest"], refit_a_member),
    "a step": (MAKE["pipeline"], refit_a_step),
    "more trees": (MAKE["forest"], grow),
    "below a calibration": (lambda: CalibratedClassifierCV(tree(), cv=2), calibrate),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(("make", "change"), PARTS.values(), ids=PARTS)
def test_a_part_that_was_fitted_again_is_noticed(make, change):
    model = make().fit(X, FIRST)
    explainer = Explainer(model, X)
    change(model)
    with pytest.raises(ModelChangedError):
        explainer.explain(ROW)


def test_a_booster_that_was_continued_is_noticed():
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(X, FIRST)
    model = xgboost.train({"objective": "binary:logistic", "max_depth": 2}, data, 3)
    explainer = Explainer(model, X)
    assert explainer.explain(ROW).status == "optimal"
    model.update(data, 3)
    with pytest.raises(ModelChangedError):
        explainer.explain(ROW)


def test_parameters_without_effect_and_copies_are_no_change():
    model = MAKE["forest"]().fit(X, FIRST)
    explainer = Explainer(model, X)
    copy = pickle.loads(pickle.dumps(asker_of(explainer).model))
    model.set_params(n_jobs=1, verbose=0, max_depth=3)
    assert explainer.explain(ROW).status == "optimal"
    model.fit(X, THEN)
    copy.check_unchanged()
    with pytest.raises(ModelChangedError):
        asker_of(explainer).model.check_unchanged()


def other_way_round(values):
    """Edit the leaf values of a tree so that it predicts otherwise everywhere."""
    if values.shape[2] > 1:
        values[:] = values[:, :, ::-1].copy()
    else:
        values += 10.0


EDITED = {
    "tree": (tree(), lambda model: other_way_round(model.tree_.value), 1),
    "forest": (
        MAKE["forest"](),
        lambda model: [other_way_round(own.tree_.value) for own in model.estimators_],
        1,
    ),
    "boosting": (
        MAKE["boosting"](),
        lambda model: [other_way_round(own.tree_.value) for own in model.estimators_.ravel()],
        1,
    ),
    "regressor": (
        DecisionTreeRegressor(max_depth=3),
        lambda model: other_way_round(model.tree_.value),
        AtLeast(0.9),
    ),
    "forest that regresses": (
        RandomForestRegressor(3, max_depth=3, random_state=0),
        lambda model: [other_way_round(own.tree_.value) for own in model.estimators_],
        AtLeast(0.9),
    ),
}


@pytest.mark.parametrize("case", EDITED, ids=EDITED)
def test_arrays_that_were_edited_are_noticed_where_the_query_is_predicted_otherwise(case):
    model, edit, target = EDITED[case]
    model.fit(X, FIRST.to_numpy())
    explainer = Explainer(model, X)
    row = X[model.predict(X) < 0.5].iloc[[0]]
    nothing_may_change = [Fixed(name) for name in X]
    assert explainer.explain(row, target=target).status == "optimal"
    assert explainer.explain(row, target=target, constraints=nothing_may_change).status == (
        "infeasible"
    )
    edit(model)
    for ask in (
        lambda: explainer.explain(row, target=target),
        lambda: explainer.explain(row, target=target, constraints=nothing_may_change),
        lambda: explainer.reasons(row, target=None if target == 1 else target),
        lambda: explainer.explain_group(row, target=target),
        lambda: explainer.session(target, strategy="search").explain(row),
        lambda: explainer.region(row, target=None if target == 1 else target),
    ):
        with pytest.raises(ModelChangedError, match="Make a new Explainer"):
            ask()
    (answer,) = explainer.explain_batch(row, target=target).to_dict("records")
    assert answer["status"] == "unknown" and "Make a new Explainer" in answer["message"]


@pytest.mark.parametrize("name", ["forest", "histograms"])
def test_a_model_that_loses_a_tree_is_refused(name):
    model = MAKE[name]().fit(X, FIRST)
    explainer = Explainer(model, X)
    (model.estimators_ if name == "forest" else model._predictors).pop()
    with pytest.raises(ModelChangedError, match="has changed"):
        explainer.explain(ROW)


@pytest.mark.parametrize("name", ["forest", "boosting", "histograms", "lightgbm"])
def test_a_model_whose_labels_are_edited_in_place_is_refused(name):
    model = MAKE[name]().fit(X, FIRST.map({0: "no", 1: "yes"}))
    explainer = Explainer(model, X)
    model.classes_[:] = model.classes_[::-1].copy()
    with pytest.raises(ModelChangedError, match="has changed"):
        explainer.explain(ROW)


@pytest.mark.parametrize("name", ["forest", "pipeline", "xgboost"])
def test_a_model_whose_prediction_is_replaced_is_refused(name):
    model = MAKE[name]().fit(X, FIRST)
    explainer = Explainer(model, X)
    model.predict = lambda rows: np.zeros(len(rows))
    with pytest.raises(ModelChangedError, match="has changed"):
        explainer.explain(ROW)
