"""Reader of XGBoost's classifiers, regressors and boosters."""

import json
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, frozen
from encoders.errors import UnsupportedModelError
from encoders.trees.advice import other_objectives
from encoders.trees.ensemble import Ensemble
from encoders.trees.from_treelite import from_treelite
from encoders.trees.input_type import largest_at_most
from encoders.trees.kinds import kind_of
from encoders.trees.link import Link, LinkKind
from encoders.trees.missing_numbers import with_missing_numbers
from encoders.trees.refusals import not_fitted, unreadable
from encoders.trees.rounding import SINGLE, rounding_of

# Links from raw scores to predictions of regressors (``src/objective/``, regression_obj.cu etc.).
REGRESSION: dict[str, LinkKind] = {
    "reg:squarederror": "mean",
    "reg:squaredlogerror": "mean",
    "reg:pseudohubererror": "mean",
    "reg:absoluteerror": "mean",
    "reg:quantileerror": "mean",
    "reg:logistic": "sigmoid",
    "count:poisson": "exp",
    "reg:gamma": "exp",
    "reg:tweedie": "exp",
}
CLASSES: dict[str, LinkKind] = {
    "binary:logistic": "sigmoid",
    "multi:softprob": "softmax",
}
CLASSIFYING = "binary:logistic, multi:softprob"
LARGEST_SUM = 1e37  # limit of the sum of all leaf values; float32 overflows at 3.4e38
LINEAR = "a linear booster (gblinear) has no trees to explain. Train with booster='gbtree'."


def read_xgboost(model: Any) -> Ensemble:
    """Read an ``XGBClassifier``, ``XGBRegressor``, their forests (``XGBRF...``) or a ``Booster``.

    Leaves and bias are added in float32 (``src/predictor/cpu_predictor.cc``), and probabilities
    are float32 as well. Class 1 of two needs a probability above 0.5. With several classes, the
    first of the largest wins (``xgboost/sklearn.py``, XGBClassifier.predict). A regressor's
    prediction is the raw score, its exponential, or its sigmoid, in float32.
    """
    import treelite

    booster = xgboost_booster(model)
    objective = xgboost_objective(booster)
    if not (objective.startswith(("binary:", "multi:")) or objective in REGRESSION):
        raise UnsupportedModelError(
            f"an XGBoost model with objective {objective} does not classify or predict a number. "
            "Train with one of the objectives "
            f"{other_objectives(model, CLASSIFYING, ', '.join(REGRESSION))}."
        )
    if kind_of(model).name.endswith("Regressor") and objective not in REGRESSION:
        raise UnsupportedModelError(
            f"an XGBRegressor with objective {objective} predicts classes. Train an XGBClassifier "
            "instead."
        )
    try:
        if "c" in (booster.feature_types or ()):
            trees = treelite.frontend.from_xgboost_json(_without_categories(booster))
        else:
            trees = treelite.frontend.from_xgboost(booster)
    except treelite.TreeliteError as error:
        raise unreadable("XGBoost model", error, ".") from error
    read = from_treelite(trees, np.dtype(np.float32), "xgboost", objective in REGRESSION)
    read = replace(read, bias=frozen(_bias(booster, read)))
    if np.abs(read.score).max() * read.root.size > LARGEST_SUM:
        raise UnsupportedModelError(
            "sums of the model's leaf values may overflow float32. Scale the target or train with "
            "more regularisation."
        )
    magnitude, offset = read.bias, 0.0
    if objective == "binary:logitraw" and booster is not model:
        # XGBClassifier compares the raw score with 0.5, as if it were a probability.
        magnitude = np.abs(read.bias) + np.array([0.0, 0.5])
        read, offset = replace(read, bias=frozen(read.bias - np.array([0.0, 0.5]))), 0.5
    dart = _learner(booster)["gradient_booster"]["name"] == "dart"
    rounding = rounding_of(
        read.score,
        read.root,
        magnitude,
        SINGLE,
        # The bias is exact up to the rounding of one boosting round. With dart, XGBoost adds it to
        # each leaf and subtracts it again (``src/gbm/gbtree.cc``, InplacePredict).
        terms=_trees_a_round(booster, read) + (read.root.size if dart else 0),
        link=CLASSES.get(objective, ""),
        may_be_exact=not dart,  # dart multiplies leaves by weights
    )
    kind = REGRESSION.get(objective) or CLASSES.get(objective, "none")
    if objective == "multi:softmax" and booster is not model:
        kind = "softmax"  # predict_proba of XGBClassifier applies it to the raw scores
    read = replace(read, rounding=rounding, link=Link(kind, unit=SINGLE, offset=offset))
    return _with_missing(read, xgboost_missing(model))


def _with_missing(read: Ensemble, missing: float) -> Ensemble:
    """Return the trees with a number that counts as missing, after rounding to float32."""
    if np.isnan(missing):
        return read
    if read.sets is not None or not np.isfinite(missing):
        raise UnsupportedModelError(
            f"the model treats the value {missing!r} as missing, which is supported for finite "
            "numbers and models without native categories only. Train with missing=nan."
        )
    rounded = float(np.float32(missing))
    below = float(largest_at_most(rounded, np.dtype(np.float32), strict=True))
    return with_missing_numbers(read, range(read.n_columns), below, rounded)


def xgboost_missing(model: Any) -> float:
    """Return the number that a model treats as missing, NaN by default."""
    missing = getattr(model, "missing", None)
    return float("nan") if missing is None else float(missing)


def _without_categories(booster: Any) -> str:
    """Return the model as JSON without the names of categories, which treelite does not accept.

    Trees contain codes, which are indices into the list of names.
    """
    model = json.loads(bytes(booster.save_raw("json")))
    trees = model["learner"]["gradient_booster"]
    trees = trees.get("gbtree", trees)["model"]  # dart has its trees one level deeper
    if "cats" in trees:
        trees["cats"] = {"enc": [], "feature_segments": [], "sorted_idx": []}
    return json.dumps(model)


def _bias(booster: Any, read: Ensemble) -> FloatArray:
    """Return the bias with which XGBoost begins its sums, float64 (n_classes,).

    ``base_score`` is a probability that XGBoost clips and converts to a raw score in float32, where
    digits cancel near 1; versions differ. So the bias is measured: it is the raw score of the first
    boosting round less its leaves. If it equals treelite's value up to rounding, that one is used.
    """
    import xgboost

    row = np.zeros((1, read.n_columns), dtype=np.float32)
    matrix = xgboost.DMatrix(
        row,
        feature_names=booster.feature_names,
        feature_types=booster.feature_types,
        enable_categorical=True,
    )
    leaves = read.leaves(row.astype(np.float64))[0, : _trees_a_round(booster, read)]
    explained = read.score[leaves].sum(axis=0)
    raw = np.zeros(read.n_classes)
    first = np.ravel(booster[:1].predict(matrix, output_margin=True))
    raw[-first.size :] = first  # a single raw score is that of class 1
    bias = raw - explained
    magnitude = np.abs(read.score[leaves]).sum(axis=0) + np.abs(raw)
    rounded = (leaves.size + 1) * SINGLE * magnitude
    return np.where(np.abs(bias - read.bias) <= rounded, read.bias, bias)


def _trees_a_round(booster: Any, read: Ensemble) -> int:
    return read.root.size // max(int(booster.num_boosted_rounds()), 1)


def xgboost_booster(model: Any) -> Any:
    """Return the booster that a model predicts with, up to the best iteration of estimators."""
    import xgboost

    if isinstance(model, xgboost.Booster):
        return model
    if not model.__sklearn_is_fitted__():
        raise not_fitted(model)
    if model.get_xgb_params().get("booster") == "gblinear":
        raise UnsupportedModelError(LINEAR)
    booster = model.get_booster()
    best = getattr(model, "best_iteration", None)
    return booster if best is None else booster[: best + 1]  # as predict does


def xgboost_objective(booster: Any) -> str:
    """Return the objective of a booster; UnsupportedModelError if it is linear."""
    learner = _learner(booster)
    if learner["gradient_booster"]["name"] == "gblinear":
        raise UnsupportedModelError(LINEAR)
    return str(learner["objective"]["name"])


def _learner(booster: Any) -> dict[str, Any]:
    learner: dict[str, Any] = json.loads(booster.save_config())["learner"]
    return learner
