"""Reader of LightGBM's classifiers, regressors and boosters."""

import re
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import BoolArray, FloatArray, frozen
from encoders.errors import UnsupportedModelError
from encoders.trees.advice import other_objectives
from encoders.trees.ensemble import Ensemble
from encoders.trees.from_treelite import from_treelite
from encoders.trees.kinds import kind_of
from encoders.trees.link import Link, LinkKind
from encoders.trees.missing_numbers import with_missing_numbers
from encoders.trees.refusals import not_fitted, several_outputs, unreadable
from encoders.trees.rounding import rounding_of

# Links from raw scores to predictions of regressors (``src/objective/regression_objective.hpp``).
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
    "none": "mean",  # custom objective
}
PROBABILITY = "cross_entropy"  # classifiers use its sigmoid as the probability of class 1
CUSTOM = "none"  # LightGBM's name for a custom objective function
Kinds = np.ndarray[Any, Any]
ZERO = float(np.float32(1e-35))  # largest magnitude that LightGBM reads as 0
REFUSED_SETTINGS = {
    "[linear_tree: 1]": (
        "LightGBM trees with linear leaves are not constant per leaf. Train with linear_tree=False."
    ),
}


def read_lightgbm(model: Any) -> Ensemble:
    """Read an ``LGBMClassifier``, ``LGBMRegressor`` or ``Booster``.

    Leaves are added in float64 (``src/boosting/gbdt_prediction.cpp``). Class 1 of two needs the
    larger probability. With several classes, the first of the largest wins. A regressor's
    prediction is the raw score, its exponential, or its sigmoid. With a custom objective, predict
    returns raw scores: a single one is a prediction, and of one per class the first of the largest
    wins.
    """
    import lightgbm
    import treelite

    booster = _booster(model)
    text = booster.model_to_string()
    n_scores = booster.num_model_per_iteration()
    objective = _objective(text)
    name = objective.partition(" ")[0]
    classifier = kind_of(model).name == "LGBMClassifier"
    regression = name in REGRESSION and n_scores == 1 and not (classifier and name == PROBABILITY)
    _check_objective(model, objective, regression)
    if name == CUSTOM and not regression:  # treelite accepts several scores for classes only
        text = text.replace("\n", f"\nobjective=multiclass num_class:{n_scores}\n", 1)
    for setting, sentence in REFUSED_SETTINGS.items():
        if setting in text:
            raise UnsupportedModelError(sentence)
    try:
        trees = treelite.frontend.from_lightgbm(lightgbm.Booster(model_str=text))
    except treelite.TreeliteError as error:
        raise unreadable("LightGBM model", error, ".") from error
    read = from_treelite(trees, np.dtype(np.float64), "lightgbm", regression)
    steepness = _steepness(objective) / read.margin_unit  # of averaged scores
    kind = REGRESSION[name] if regression else _link(name)
    rounding = rounding_of(
        read.score,
        read.root,
        read.bias,
        link="" if regression or kind == "none" else kind,
        steepness=steepness,
    )
    read = replace(
        read,
        last_left=frozen(_around_zero(read.last_left)),
        rounding=rounding,
        link=Link(kind, divisor=read.margin_unit, steepness=steepness),
    )
    return _with_missing(read, *_ways_of_missing(booster, read))


def _booster(model: Any) -> Any:
    if not hasattr(model, "fit"):
        return model
    if not model.__sklearn_is_fitted__():
        raise not_fitted(model)
    if model.get_params().get("pred_early_stop"):  # a setting of predict, not stored in model files
        raise UnsupportedModelError(
            "a LightGBM model with pred_early_stop=True does not add up all trees. Set it to False."
        )
    return model.booster_


def _objective(text: str) -> str:
    lines = (line[10:] for line in text.splitlines() if line.startswith("objective="))
    return next(lines, CUSTOM)


def _check_objective(model: Any, objective: str, regression: bool) -> None:
    """Raise UnsupportedModelError if the objective does not fit the class or sums of leaves."""
    name, _, rest = objective.partition(" ")
    if not (name.startswith(("binary", "multiclass")) or name in REGRESSION) or rest == "sqrt":
        if rest == "sqrt":
            raise UnsupportedModelError(
                f"a LightGBM model with objective {objective} squares its raw score, which is not "
                "supported. Train with reg_sqrt=False."
            )
        usable = other_objectives(
            model, "binary, multiclass", ", ".join(each for each in REGRESSION if each != CUSTOM)
        )
        raise UnsupportedModelError(
            f"a LightGBM model with objective {objective} does not classify or predict by score. "
            f"Train with one of the objectives {usable}."
        )
    if regression or not kind_of(model).name.endswith("Regressor"):
        return
    if name == CUSTOM:
        raise several_outputs("regressor")
    raise UnsupportedModelError(
        f"an LGBMRegressor with objective {objective} predicts classes. Train an LGBMClassifier "
        "instead."
    )


def _steepness(objective: str) -> float:
    sigmoid = re.search(r"sigmoid:(\S+)", objective)
    return float(sigmoid[1]) if sigmoid else 1.0


def lightgbm_steepness(model: Any) -> float:
    """Return the factor of the raw score in the sigmoid of a binary model."""
    return _steepness(_objective(model.booster_.model_to_string()))


def _link(objective: str) -> LinkKind:
    if objective == CUSTOM:
        return "none"
    if objective.startswith("binary") or objective == PROBABILITY:
        return "sigmoid"
    return "sigmoids" if objective.startswith("multiclassova") else "softmax"


def _ways_of_missing(booster: Any, read: Ensemble) -> tuple[Kinds, BoolArray]:
    """Return the missing type of each split, and whether missing values go left, (n_nodes,) each.

    "None": a missing value is read as 0, because none was missing in training, or
    ``use_missing=false``. "NaN": the split has a default direction for missing values. "Zero": 0
    takes that direction as well (``zero_as_missing``). See NumericalDecision in
    ``include/LightGBM/tree.h``; treelite does not expose the missing type.
    """
    kind, left = np.full(read.column.size, "", dtype="U4"), np.zeros(read.column.size, np.bool_)
    dumped = booster.dump_model()["tree_info"]
    waiting = [
        (root, tree["tree_structure"])
        for root, tree in zip(read.root.tolist(), dumped, strict=True)
    ]
    while waiting:
        node, split = waiting.pop()
        if "split_feature" in split:
            kind[node] = split["missing_type"] if split["decision_type"] == "<=" else ""
            left[node] = split["default_left"]
            waiting.append((int(read.left[node]), split["left_child"]))
            waiting.append((int(read.right[node]), split["right_child"]))
    return kind, left


def _with_missing(read: Ensemble, kind: Kinds, left: BoolArray) -> Ensemble:
    """Return the trees with the direction of each split for what it considers missing."""
    assert read.default_left is not None
    left = np.where(kind == "None", read.last_left >= 0, left)
    read = replace(read, default_left=frozen(np.where(kind == "", read.default_left, left)))
    zeros = frozenset(read.column[kind == "Zero"].tolist())
    if zeros & frozenset(read.column[(kind == "None") | (kind == "NaN")].tolist()):
        raise UnsupportedModelError(
            "some trees of the LightGBM model were trained with zero_as_missing, and some without. "
            "Train all of them with the same setting."
        )
    below = float(np.nextafter(-ZERO, -np.inf))
    return with_missing_numbers(read, zeros, below, ZERO) if zeros else read


def _around_zero(last_left: FloatArray) -> FloatArray:
    """Move splits within +-1e-35 (a float32) to its ends: LightGBM reads values there as 0."""
    beyond = np.where(last_left < 0, np.nextafter(-ZERO, -np.inf), ZERO)
    moved: FloatArray = np.where(np.abs(last_left) <= ZERO, beyond, last_left)
    return moved
