"""A model's trees, from its own library."""

import hashlib
import json
import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class RejectedError(Exception):
    """The record does not prove what it claims; the message says where."""


class Tree(NamedTuple):
    """Nodes: column (-1: leaf), last float64 that goes left, children, scores of each class."""

    column: Array
    last: Array
    left: Array
    right: Array
    score: Array


class Model(NamedTuple):
    """Trees, bias and labels, the least lead to win by, and the library's own predict.

    ``needed`` takes the target and a rival, ``predict`` takes rows and gives class indices.
    """

    trees: list[Tree]
    bias: Array
    labels: list[Any]
    needed: Callable[[int, int], Fraction]
    predict: Callable[[Array], Array]

    def sums(self, row: Array) -> Array:
        """The sum of each class, of a row of float64.

        Parameters
        ----------
        row : float64 (n_columns,)
        """
        total = self.bias.copy()
        for tree in self.trees:
            node = 0
            while tree.column[node] >= 0:
                left = row[tree.column[node]] <= tree.last[node]
                node = int(tree.left[node] if left else tree.right[node])
            total += tree.score[node]
        return total

    def digest(self) -> str:
        """SHA-256 of all nodes."""
        told = hashlib.sha256(self.bias.tobytes())
        for values in (values for tree in self.trees for values in tree):
            told.update(values.astype("<f8").tobytes())
        return told.hexdigest()


def last_read_as(value: Array) -> Array:
    """Largest float64 that is rounded to at most ``value``, which is float32.

    Parameters
    ----------
    value : float32
    """
    following = np.nextafter(value, np.float32(np.inf)).astype(float)
    middle = np.where(np.isfinite(following), (value.astype(float) + following) / 2, value)
    return np.where(middle.astype(np.float32) <= value, middle, np.nextafter(middle, -np.inf))


def least_lead(
    trees: list[Tree], bias: Array, unit: float, shift: float, terms: int
) -> Callable[[int, int], Fraction]:
    """The exact lead below which no class wins, whatever the library's floats round to.

    Parameters
    ----------
    trees, bias : as read
    unit : unit roundoff of the type that the library adds in
    shift : by which its link may move a tie
    terms : roundings besides those of the sum over trees
    """
    magnitude = sum((np.abs(tree.score).max(axis=0) for tree in trees), np.abs(bias))
    mantissa, exponent = np.frexp(np.concatenate([t.score.ravel() for t in trees] + [bias]))
    digits = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    trailing = np.frexp((digits & -digits).astype(float))[1] - 1
    grid = 2.0 ** float((exponent - 53 + trailing)[digits != 0].min(initial=0))
    if magnitude.max() < grid / unit / 8 and shift < grid / 4:  # sums are exact
        # A tie goes to the first class.
        return lambda target, rival: Fraction(0.0 if target < rival else grid)
    band = 1.01 * unit * (len(trees) + terms) * float(np.sort(magnitude)[-2:].sum()) + shift
    return lambda target, rival: Fraction(-band)


def read_xgboost(model: Any) -> Model:
    """XGBoost adds float32 and compares probabilities; a split sends what is below it left.

    Parameters
    ----------
    model : fitted XGBClassifier or XGBRFClassifier
    """
    import xgboost

    best, missing = getattr(model, "best_iteration", None), float(model.missing)
    booster = model.get_booster() if best is None else model.get_booster()[: best + 1]
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    objective, grown = learner["objective"]["name"], learner["gradient_booster"]
    if objective not in ("binary:logistic", "multi:softprob") or not math.isnan(missing):
        raise RejectedError(f"xgboost models with {objective}, missing={missing} are not read here")
    if grown["name"] != "gbtree" or any(any(t["split_type"]) for t in grown["model"]["trees"]):
        raise RejectedError("xgboost models with dart or native categories are not read here")
    n_classes, trees = max(2, int(learner["learner_model_param"]["num_class"])), []
    for own, info in zip(grown["model"]["trees"], grown["model"]["tree_info"], strict=True):
        left, value = np.array(own["left_children"]), np.array(own["split_conditions"], np.float32)
        score, column = np.zeros((left.size, n_classes)), np.array(own["split_indices"])
        score[:, info if n_classes > 2 else 1] = np.where(left >= 0, 0.0, value)
        last = np.where(left >= 0, last_read_as(np.nextafter(value, np.float32(-np.inf))), 0.0)
        column, right = np.where(left >= 0, column, -1), np.array(own["right_children"])
        trees.append(Tree(column, last, left, right, score))
    first = booster[:1]  # what its leaves do not explain of a row's raw score is the bias
    names = {"feature_names": booster.feature_names, "feature_types": booster.feature_types}
    row = xgboost.DMatrix(
        np.zeros((1, int(learner["learner_model_param"]["num_feature"]))), **names
    )
    raw, leaves = (
        np.ravel(first.predict(row, output_margin=True)),
        np.ravel(first.predict(row, pred_leaf=True)),
    )
    bias = np.append(np.zeros(n_classes - raw.size), raw).astype(float)
    bias -= sum(tree.score[int(leaf)] for tree, leaf in zip(trees, leaves, strict=False))
    needed = least_lead(trees, bias, 2.0**-24, 2.0**-20, 8 + leaves.size)
    labels = list(range(n_classes))
    return Model(trees, bias, labels, needed, lambda rows: np.asarray(model.predict(rows)))


def read_forest(model: Any) -> Model:
    """scikit-learn's trees read float32, and send what is at most the threshold left.

    Parameters
    ----------
    model : fitted forest or tree
    """
    trees, labels = [], model.classes_.tolist()
    for tree in [model] if hasattr(model, "tree_") else model.estimators_:
        own, left = tree.tree_, tree.tree_.children_left.astype(int)
        threshold = np.where(left >= 0, own.threshold, 0.0)
        near = threshold.astype(np.float32)
        near = np.where(near > threshold, np.nextafter(near, np.float32(-np.inf)), near)
        score = np.where((left >= 0)[:, None], 0.0, own.value[:, 0, :])
        column, right = np.where(left >= 0, own.feature, -1), own.children_right.astype(int)
        trees.append(Tree(column, last_read_as(near), left, right, score))
    bias = np.zeros(len(labels))

    def predict(rows: Array) -> Array:
        with warnings.catch_warnings():  # of column names, which an array has not
            warnings.simplefilter("ignore")
            told = model.predict(rows).tolist()
        return np.array([labels.index(label) for label in told])

    return Model(trees, bias, labels, least_lead(trees, bias, 2.0**-53, 0.0, 8), predict)


FORESTS = ("DecisionTree", "ExtraTree", "ExtraTrees", "RandomForest")
READERS = {"XGBClassifier": read_xgboost, "XGBRFClassifier": read_xgboost}
READERS |= {f"{kind}Classifier": read_forest for kind in FORESTS}


def read(model: Any) -> Model:
    """The trees of a fitted model; RejectedError where no reader of this file knows its type.

    Parameters
    ----------
    model : fitted, of its own library
    """
    if type(model).__name__ not in READERS:
        raise RejectedError(f"models of type {type(model).__name__} are not read by this checker")
    return READERS[type(model).__name__](model)
