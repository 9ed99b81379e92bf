"""scikit-learn's forests, trees and boosting, of classifiers and of regressors."""

from dataclasses import replace
from typing import Any

import numpy as np

from encoders.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble
from encoders.trees.from_histograms import read_histograms
from encoders.trees.from_treelite import from_treelite
from encoders.trees.input_type import largest_at_most
from encoders.trees.link import Link
from encoders.trees.refusals import SEVERAL_OUTPUTS, require_fitted, unreadable
from encoders.trees.rounding import rounding_of
from encoders.trees.tree_nodes import NO_CHILD, TreeNodes, joined

FORESTS = frozenset(
    {
        "RandomForestClassifier",
        "ExtraTreesClassifier",
        "DecisionTreeClassifier",
        "ExtraTreeClassifier",
        "RandomForestRegressor",
        "ExtraTreesRegressor",
        "DecisionTreeRegressor",
        "ExtraTreeRegressor",
    }
)
BOOSTING = frozenset(
    {
        "GradientBoostingClassifier",
        "HistGradientBoostingClassifier",
        "GradientBoostingRegressor",
        "HistGradientBoostingRegressor",
    }
)
LOGARITHMIC = ("poisson", "gamma")  # losses whose prediction is the exponential of the sum


def read_sklearn(model: Any) -> Ensemble:
    """Read a fitted classifier or regressor of scikit-learn.

    All add float64 numbers and take the first of the largest (``argmax``); binary gradient
    boosting takes class 1 at a raw score of exactly 0 (``sklearn/ensemble/_gb.py``, predict).
    Regressors predict the mean of their trees, or the sum with its bias, for the losses poisson
    and gamma the exponential of it.

    Parameters
    ----------
    model : of a kind in FORESTS or BOOSTING

    Raises
    ------
    UnsupportedModelError
        Not fitted, several outputs, or what treelite can't read.
    """
    regression = type(model).__name__.endswith("Regressor")
    require_fitted(model, "n_features_in_" if regression else "classes_")
    if getattr(model, "n_outputs_", 1) != 1:
        raise UnsupportedModelError(SEVERAL_OUTPUTS)
    return _read_forest(model) if type(model).__name__ in FORESTS else _read_boosting(model)


def _read_forest(model: Any) -> Ensemble:
    """Leaves are taken from the trees themselves, as their ``predict_proba`` does.

    treelite divides each leaf's shares by their sum once more, which moves some by a last bit.
    """
    estimators = [model] if hasattr(model, "tree_") else model.estimators_
    classes = getattr(model, "classes_", None)
    n_classes, unit = 1 if classes is None else len(classes), float(len(estimators))
    trees = [_tree(estimator.tree_, n_classes) for estimator in estimators]
    dtype = np.dtype(np.float32)  # DTYPE of sklearn/tree/_tree.pyx
    read = joined(trees, int(model.n_features_in_), np.zeros(n_classes), dtype, unit, "sklearn")
    return replace(
        read,
        rounding=rounding_of(read.score, read.root, read.bias),
        link=Link("mean", divisor=unit),
        regression=classes is None,
    )


def _tree(tree: Any, n_classes: int) -> TreeNodes:
    left = np.asarray(tree.children_left, dtype=np.int64)
    inner = left != NO_CHILD
    return TreeNodes(
        column=np.where(inner, tree.feature, -1).astype(np.int64),
        last_left=largest_at_most(np.where(inner, tree.threshold, 0.0), np.dtype(np.float32)),
        left=left,
        right=np.asarray(tree.children_right, dtype=np.int64),
        score=np.where(inner[:, None], 0.0, tree.value[:, 0, :n_classes]),
        default_left=np.asarray(tree.missing_go_to_left).astype(np.bool_),
    )


def _read_boosting(model: Any) -> Ensemble:
    import treelite

    name = type(model).__name__
    if np.any(getattr(model, "is_categorical_", None)):
        return _with_rounding(model, read_histograms(model))
    try:
        trees = treelite.sklearn.import_model(model)
    except (treelite.TreeliteError, NotImplementedError, ValueError) as error:
        remedy = "; use numeric input columns and the default initial estimator."
        raise unreadable(name, error, remedy) from error
    dtype = np.dtype(np.float64 if _histograms(model) else np.float32)
    read = from_treelite(trees, dtype, "sklearn", name.endswith("Regressor"))
    if not _histograms(model):
        read = replace(read, default_left=None)  # its predict refuses missing values
    return _with_rounding(model, read)


def _histograms(model: Any) -> bool:
    return type(model).__name__.startswith("Hist")


def _with_rounding(model: Any, read: Ensemble) -> Ensemble:
    histograms = _histograms(model)
    rounding = rounding_of(
        read.score,
        read.root,
        read.bias,
        link="sigmoid" if histograms and not read.regression else "",
        upper_wins=not histograms and read.n_classes == 2,
        # Gradient boosting multiplies by its learning rate as it adds, and may round once for both.
        may_be_exact=histograms,
    )
    return replace(read, rounding=rounding, link=_link(model, read))


def _link(model: Any, read: Ensemble) -> Link:
    if read.regression:
        return Link("exp" if model.loss in LOGARITHMIC else "mean")
    if read.n_classes > 2:
        return Link("softmax")
    return Link("sigmoid", steepness=2.0 if model.loss == "exponential" else 1.0)
