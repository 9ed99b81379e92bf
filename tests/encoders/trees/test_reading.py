"""Models are read exactly as their own libraries run them: what was once read wrongly."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)

from encoders.errors import InputError, UnsupportedModelError
from encoders.trees.read import read_ensemble
from encoders.trees.tree_nodes import TreeNodes
from portfolio import Explainer


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"right": [2, -1, -1, -1]}, "a node has two parents"),
        (
            {"left": [1, 0, -1, -1], "right": [2, 3, -1, -1], "column": [0, 0, -1, -1]},
            "a node has two parents",
        ),
        ({"left": [1, 3, -1, -1]}, "a single child"),
        ({"left": [9, -1, -1, -1]}, "a child is missing"),
        ({"column": [7, -1, -1, -1]}, "an unknown column"),
    ],
)
def test_nodes_that_form_no_tree_are_refused(change, words):
    part = {"left": [1, -1, -1, -1], "right": [2, -1, -1, -1], "column": [0, -1, -1, -1]}
    if words == "a node has two parents" and "left" not in change:
        change = {"left": [2, -1, -1, -1], "right": [2, -1, -1, -1]}
    broken = {name: np.array(values) for name, values in (part | change).items()}
    tree = TreeNodes(**broken, last_left=np.zeros(4), score=np.zeros((4, 2)))
    with pytest.raises(UnsupportedModelError, match=words):
        tree.reachable(3, "xgboost")


def test_a_lightgbm_model_of_category_columns_needs_such_columns(tumours):
    from lightgbm import LGBMClassifier

    X, y = tumours
    frame = X.iloc[:, :3].assign(kind=pd.Categorical(["u", "v"] * 284 + ["u"]))
    model = LGBMClassifier(n_estimators=2, verbose=-1).fit(frame, y)
    floats = frame.assign(kind=frame["kind"].cat.codes.astype(float))
    with pytest.raises(InputError, match="1 category columns, X_train has 0"):
        Explainer(model, floats)


def test_shares_of_leaves_are_those_of_the_forest_itself():
    """treelite divides them by their sum once more; a last bit then decided a tie wrongly."""
    points = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    X = np.repeat(points, 4, axis=0)
    y = np.array([int(digit) for digit in "01010100001010011111001100100110"])
    model = RandomForestClassifier(
        4, max_depth=1, max_features=1, bootstrap=False, random_state=0
    ).fit(X, y, sample_weight=np.full(32, 0.1))
    start = np.array([0.0, 1.0, 0.0])
    result = Explainer(model, X).explain(start, target=1)
    nearest = np.abs(points[model.predict(points) == 1] - start).sum(axis=1).min()
    assert (result.status, result.distance) == ("optimal", nearest)


def test_a_lightgbm_model_that_stops_adding_early_is_refused(tumours):
    from lightgbm import LGBMClassifier

    X, y = tumours
    plain = X.set_axis([f"c{i}" for i in range(X.shape[1])], axis=1)
    model = LGBMClassifier(n_estimators=30, verbose=-1, pred_early_stop=True).fit(plain, y)
    with pytest.raises(UnsupportedModelError, match="pred_early_stop"):
        Explainer(model, plain)


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_stages_of_boosting_that_stopped_early_are_those_that_there_are(kind):
    """treelite goes by ``n_estimators``, and read memory beyond the trees."""
    X, y = load_iris(return_X_y=True)
    model = kind(n_estimators=200, max_depth=2, n_iter_no_change=2, random_state=0).fit(X, y)
    assert model.n_estimators_ < 50
    ensemble = read_ensemble(model)
    assert ensemble.root.size == model.estimators_.size
    own = getattr(model, "decision_function", model.predict)(X).reshape(len(X), -1)
    assert ensemble.scores(X) == pytest.approx(own, rel=1e-12, abs=1e-12)
