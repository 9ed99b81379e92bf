"""Remedies for models that cannot be read, as the last sentence of an error message."""

from typing import Any

import numpy as np

from encoders.readers.kinds import kind_of, predictor

THRESHOLDS = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")
SUPPORTED = (
    "scikit-learn's trees, forests and gradient boosting, bagging, voting, AdaBoost and "
    "calibration of these, TransformedTargetRegressor, IsolationForest, HardVotingClassifier, "
    "models of XGBoost, LightGBM and CatBoost, and pipelines and searches of these"
)
WEIGHTED_MEDIAN = (
    "It predicts a weighted median of trees, which is not a sum of leaves. Use a "
    "GradientBoostingRegressor, or a BaggingRegressor of such trees"
)


def advice_for(model: Any) -> str:
    """Return a remedy for a model of an unsupported type, a sentence without its full stop."""
    kind = kind_of(model)
    if kind.library == "sklearn" and kind.name == "AdaBoostRegressor":
        return WEIGHTED_MEDIAN
    if kind.library == "sklearn" and kind.name in THRESHOLDS and hasattr(model, "estimator_"):
        return _threshold_advice(model)
    return f"Use {SUPPORTED}"


def _threshold_advice(model: Any) -> str:
    """Return the remedy for a classifier with a threshold: its estimator and a matching target."""
    estimator, method = model.estimator_, model.response_method
    by_score = method == "decision_function" or (
        method == "auto" and not hasattr(estimator, "predict_proba")
    )
    threshold = getattr(model, "best_threshold_", getattr(model, "threshold", "auto"))
    if isinstance(threshold, str):  # "auto"
        threshold = 0.0 if by_score else 0.5
    second = np.asarray(model.classes_).tolist()[1]
    # The positive label of a tuned threshold is that of its scorer, if it has one.
    scorer = getattr(model, "_curve_scorer", None)
    positive = getattr(model, "pos_label", None) if scorer is None else scorer._get_pos_label()
    label = second if positive is None else np.asarray(positive).item()
    limit = float(threshold)
    if not by_score:
        target = f"Probability({label!r}, at_least={limit!r})"
    elif label == second:
        target = f"Score(low={limit!r})"
    else:
        target = f"Score(high={-limit!r})"
    return (
        f"Explain its estimator_ instead, and pass {target} as the target to reach the class "
        f"{label!r}"
    )


def other_objectives(model: Any, classifying: str, predicting: str) -> str:
    """Return the objectives that a model of its class may be trained with."""
    name = kind_of(predictor(model)).name
    if name.endswith("Regressor"):
        return predicting
    return classifying if name.endswith("Classifier") else f"{classifying}, {predicting}"
