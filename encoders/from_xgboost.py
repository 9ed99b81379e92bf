"""XGBoost's classifiers and boosters."""

import json
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import frozen
from encoders.ensemble import Ensemble
from encoders.errors import UnsupportedModelError
from encoders.from_treelite import from_treelite
from encoders.refusals import CATEGORY_COLUMNS, NATIVE_CATEGORIES, not_fitted, unreadable
from encoders.rounding import SINGLE, rounding_of

LINEAR = "a linear booster (gblinear) has no trees to explain."


def read_xgboost(model: Any) -> Ensemble:
    """Read an ``XGBClassifier``, ``XGBRFClassifier`` or ``Booster``.

    Leaves and bias are added in float32 (``src/predictor/cpu_predictor.cc``), and probabilities
    are float32, too; class 1 needs one above 0.5, and of several classes the first of the largest
    wins (``xgboost/sklearn.py``, XGBClassifier.predict).

    Raises
    ------
    UnsupportedModelError
    """
    import treelite
    import xgboost

    is_booster = isinstance(model, xgboost.Booster)
    booster = model if is_booster else _booster(model)
    objective = xgboost_objective(booster)
    if not objective.startswith(("binary:", "multi:")):
        raise UnsupportedModelError(
            f"an xgboost model with objective {objective} does not classify; "
            "train with binary:logistic or multi:softprob."
        )
    if "c" in (booster.feature_types or ()):
        raise UnsupportedModelError(CATEGORY_COLUMNS)
    try:
        trees = treelite.frontend.from_xgboost(booster)
    except treelite.TreeliteError as error:
        if "categor" in str(error):
            raise UnsupportedModelError(NATIVE_CATEGORIES) from error
        raise unreadable("xgboost model", error, ".") from error
    read = from_treelite(trees, np.dtype(np.float32), "xgboost")
    if objective == "binary:logitraw" and not is_booster:
        # The classifier compares the raw score with 0.5, as if it were a probability.
        read = replace(read, bias=frozen(read.bias - np.array([0.0, 0.5])))
    link = {"binary:logistic": "sigmoid", "multi:softprob": "softmax"}.get(objective, "")
    return replace(read, rounding=rounding_of(read.score, read.root, read.bias, SINGLE, link=link))


def _booster(model: Any) -> Any:
    """The trees that a classifier of the scikit-learn interface predicts with."""
    if not model.__sklearn_is_fitted__():
        raise not_fitted(model)
    if model.get_xgb_params().get("booster") == "gblinear":
        raise UnsupportedModelError(LINEAR)
    missing = model.missing
    if missing is not None and not np.isnan(missing):
        raise UnsupportedModelError(
            f"the model takes the value {missing!r} for missing, which has a way of its own in "
            "every tree; train with missing=nan."
        )
    booster = model.get_booster()
    best = getattr(model, "best_iteration", None)
    return booster if best is None else booster[: best + 1]  # its predict stops there, too


def xgboost_objective(booster: Any) -> str:
    """Objective name of a trained booster; linear boosters are refused here."""
    learner = json.loads(booster.save_config())["learner"]
    if learner["gradient_booster"]["name"] == "gblinear":
        raise UnsupportedModelError(LINEAR)
    return str(learner["objective"]["name"])
