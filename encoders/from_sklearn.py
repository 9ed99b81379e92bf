"""scikit-learn's forests, trees and boosting."""

from dataclasses import replace
from typing import Any

import numpy as np

from encoders.ensemble import Ensemble
from encoders.errors import UnsupportedModelError
from encoders.from_treelite import NO_CHILD, NO_TREES, from_treelite
from encoders.refusals import NATIVE_CATEGORIES, SEVERAL_OUTPUTS, require_fitted, unreadable
from encoders.rounding import rounding_of

# The type to which each rounds its input (the DTYPE or X_DTYPE of its tree module).
READ_AS = {
    "RandomForestClassifier": np.float32,
    "ExtraTreesClassifier": np.float32,
    "DecisionTreeClassifier": np.float32,
    "ExtraTreeClassifier": np.float32,
    "GradientBoostingClassifier": np.float32,
    "HistGradientBoostingClassifier": np.float64,
}


def read_sklearn(model: Any) -> Ensemble:
    """Read a fitted classifier of scikit-learn.

    All add float64 numbers and take the first of the largest (``argmax``); binary gradient
    boosting takes class 1 at a raw score of exactly 0 (``sklearn/ensemble/_gb.py``, predict).

    Raises
    ------
    UnsupportedModelError
    """
    import treelite

    require_fitted(model, "classes_")
    if isinstance(model.classes_, list):
        raise UnsupportedModelError(SEVERAL_OUTPUTS)
    if np.any(getattr(model, "is_categorical_", None)):
        raise UnsupportedModelError(NATIVE_CATEGORIES)
    forest = _forest_of_one(model) if hasattr(model, "tree_") else model
    for estimator in np.ravel(getattr(forest, "estimators_", [])):
        _check_children(estimator.tree_)
    try:
        trees = treelite.sklearn.import_model(forest)
    except (treelite.TreeliteError, NotImplementedError, ValueError) as error:
        remedy = "; use numeric input columns and the default initial estimator."
        raise unreadable(type(model).__name__, error, remedy) from error
    name = type(model).__name__
    read = from_treelite(trees, np.dtype(READ_AS[name]), "sklearn")
    binary = len(model.classes_) == 2
    link = "sigmoid" if name == "HistGradientBoostingClassifier" else ""
    upper_wins = binary and name == "GradientBoostingClassifier"
    rounding = rounding_of(read.score, read.root, read.bias, link=link, upper_wins=upper_wins)
    return replace(read, rounding=rounding)


def _check_children(tree: Any) -> None:
    """treelite reads 32 bits of each number and would not see that a file is damaged beyond."""
    children = np.stack([tree.children_left, tree.children_right])
    if children.min() < NO_CHILD or children.max() >= tree.node_count:
        raise UnsupportedModelError(NO_TREES.format("sklearn", "a child is missing"))


def _forest_of_one(tree: Any) -> Any:
    """treelite takes forests only; a forest of this one tree decides the same."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_estimators=1)
    forest.estimators_ = [tree]
    forest.classes_ = tree.classes_
    forest.n_classes_ = tree.n_classes_
    forest.n_outputs_ = tree.n_outputs_
    forest.n_features_in_ = tree.n_features_in_
    return forest
