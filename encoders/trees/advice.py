"""What to do with a model that can't be read, in words that fit its settings."""

from typing import Any

import numpy as np

from encoders.trees.kinds import kind_of
from encoders.trees.wrappers import predictor

THRESHOLDS = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")
SUPPORTED = (
    "scikit-learn's trees, forests and gradient boosting, bagging, voting, AdaBoost and "
    "calibration of these, TransformedTargetRegressor, IsolationForest, HardVotingClassifier, "
    "models of XGBoost, LightGBM and CatBoost, and pipelines and searches of these"
)
WEIGHTED_MEDIAN = (
    "it predicts a weighted median of trees, which is no sum of leaves; use a "
    "GradientBoostingRegressor, or a BaggingRegressor of such trees"
)


def advice_for(model: Any) -> str:
    """Return the end of a sentence about a model of an unknown kind."""
    kind = kind_of(model)
    if kind.library == "sklearn" and kind.name == "AdaBoostRegressor":
        return WEIGHTED_MEDIAN
    if kind.library == "sklearn" and kind.name in THRESHOLDS and hasattr(model, "estimator_"):
        return _of_threshold(model)
    return f"supported are {SUPPORTED}"


def _of_threshold(model: Any) -> str:
    """Return the target for the model below that a classifier with a threshold decides by."""
    below, method = model.estimator_, model.response_method
    by_score = method == "decision_function" or (
        method == "auto" and not hasattr(below, "predict_proba")
    )
    threshold = getattr(model, "best_threshold_", getattr(model, "threshold", "auto"))
    if isinstance(threshold, str):  # "auto"
        threshold = 0.0 if by_score else 0.5
    second = np.asarray(model.classes_).tolist()[1]
    # A tuned threshold has it from its scorer, which may have one of its own.
    scorer = getattr(model, "_curve_scorer", None)
    own = getattr(model, "pos_label", None) if scorer is None else scorer._get_pos_label()
    label = second if own is None else np.asarray(own).item()
    limit = float(threshold)
    if not by_score:
        target = f"Probability({label!r}, at_least={limit!r})"
    elif label == second:
        target = f"Score(low={limit!r})"
    else:
        target = f"Score(high={-limit!r})"
    return (
        f"explain the model with the estimator_ in its place, and give {target} as the target "
        f"where {label!r} is wanted"
    )


def other_objectives(model: Any, classifying: str, predicting: str) -> str:
    """Return the objectives that a model of its class may be trained with."""
    name = kind_of(predictor(model)).name
    if name.endswith("Regressor"):
        return predicting
    return classifying if name.endswith("Classifier") else f"{classifying}, {predicting}"
