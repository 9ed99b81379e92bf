"""LightGBM's classifiers, regressors and boosters."""

import re
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import BoolArray, FloatArray, frozen
from encoders.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble
from encoders.trees.from_treelite import from_treelite
from encoders.trees.link import Link, LinkKind
from encoders.trees.refusals import not_fitted, unreadable
from encoders.trees.rounding import rounding_of

# What the raw score becomes in regressors (``src/objective/regression_objective.hpp``).
REGRESSION: dict[str, LinkKind] = {
    "regression": "mean",
    "regression_l1": "mean",
    "huber": "mean",
    "fair": "mean",
    "quantile": "mean",
    "mape": "mean",
    "poisson": "exp",
    "gamma": "exp",
    "tweedie": "exp",
    "cross_entropy": "sigmoid",
}
REFUSED_SETTINGS = {
    "[zero_as_missing: 1]": "a lightgbm model trained with zero_as_missing sends zeros its own "
    "way; train without it.",
    "[linear_tree: 1]": "lightgbm trees with linear leaves are not constant per leaf.",
}


def read_lightgbm(model: Any) -> Ensemble:
    """Read an ``LGBMClassifier``, ``LGBMRegressor`` or ``Booster``.

    Leaves are added in float64 (``src/boosting/gbdt_prediction.cpp``); class 1 needs a
    probability above that of class 0, and of several classes the first of the largest wins. A
    regressor's prediction is the raw score, its exponential, or its sigmoid.

    Parameters
    ----------
    model : fitted

    Raises
    ------
    UnsupportedModelError
        Not fitted, an objective that neither classifies nor predicts a number, or a setting whose
        trees are not plain sums.
    """
    import lightgbm
    import treelite

    booster = _booster(model)
    text = booster.model_to_string()
    objective = _objective(text)
    name, _, rest = objective.partition(" ")
    if not (name.startswith(("binary", "multiclass")) or name in REGRESSION) or rest == "sqrt":
        raise UnsupportedModelError(
            f"a lightgbm model with objective {objective} does not classify or predict by score; "
            f"train with objective binary, multiclass, {', '.join(REGRESSION)}."
        )
    for setting, sentence in REFUSED_SETTINGS.items():
        if setting in text:
            raise UnsupportedModelError(sentence)
    try:
        trees = treelite.frontend.from_lightgbm(lightgbm.Booster(model_str=text))
    except treelite.TreeliteError as error:
        raise unreadable("lightgbm model", error, ".") from error
    read = from_treelite(trees, np.dtype(np.float64), "lightgbm", name in REGRESSION)
    steepness = _steepness(objective) / read.margin_unit  # of the average
    kind = REGRESSION.get(name) or _link(name)
    rounding = rounding_of(
        read.score,
        read.root,
        read.bias,
        link="" if read.regression else kind,
        steepness=steepness,
    )
    read = replace(
        read,
        last_left=frozen(_around_zero(read.last_left)),
        rounding=rounding,
        link=Link(kind, divisor=read.margin_unit, steepness=steepness),
    )
    return replace(read, default_left=frozen(_default_left(read, _missing_as_zero(booster))))


def _booster(model: Any) -> Any:
    if not hasattr(model, "fit"):
        return model
    if not model.__sklearn_is_fitted__():
        raise not_fitted(model)
    if model.get_params().get("pred_early_stop"):  # of predict alone, so no file tells it
        raise UnsupportedModelError(
            "a lightgbm model with pred_early_stop does not add up all trees; set it to False."
        )
    return model.booster_


def _objective(text: str) -> str:
    lines = (line[10:] for line in text.splitlines() if line.startswith("objective="))
    return next(lines, "none")


def _steepness(objective: str) -> float:
    sigmoid = re.search(r"sigmoid:(\S+)", objective)
    return float(sigmoid[1]) if sigmoid else 1.0


def lightgbm_steepness(model: Any) -> float:
    """The factor of the raw score in the sigmoid of a binary model.

    Parameters
    ----------
    model : fitted classifier
    """
    return _steepness(_objective(model.booster_.model_to_string()))


def _link(objective: str) -> LinkKind:
    if objective.startswith("binary"):
        return "sigmoid"
    return "sigmoids" if objective.startswith("multiclassova") else "softmax"


def _missing_as_zero(booster: Any) -> BoolArray:
    """Columns where a missing value is read as 0, bool (n_columns,).

    So it is where none was missing in training, or with ``use_missing=false``
    (``include/LightGBM/tree.h``, NumericalDecision with MissingType::None).
    """
    as_zero = np.zeros(booster.num_feature(), dtype=np.bool_)
    waiting = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    while waiting:
        node = waiting.pop()
        if "split_feature" in node:
            as_zero[node["split_feature"]] |= node["missing_type"] == "None"
            waiting += [node["left_child"], node["right_child"]]
    return as_zero


def _default_left(read: Ensemble, as_zero: BoolArray) -> BoolArray:
    assert read.default_left is not None
    zero_left = read.last_left >= 0
    left: BoolArray = np.where(as_zero[read.column], zero_left, read.default_left)
    return left


def _around_zero(last_left: FloatArray) -> FloatArray:
    """LightGBM reads every value within +-1e-35 (a float32) as zero, so splits there move."""
    zero = float(np.float32(1e-35))
    beyond = np.where(last_left < 0, np.nextafter(-zero, -np.inf), zero)
    moved: FloatArray = np.where(np.abs(last_left) <= zero, beyond, last_left)
    return moved
