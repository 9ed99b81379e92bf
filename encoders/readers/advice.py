"""Remedies for models that cannot be read, as the last sentence of an error message."""

from typing import Any

from encoders.readers.kinds import kind_of, predictor

SUPPORTED = (
    "scikit-learn's trees, forests and gradient boosting, bagging, voting, AdaBoost, calibration "
    "and thresholds of these, TransformedTargetRegressor, IsolationForest, HardVotingClassifier, "
    "models of XGBoost, LightGBM, CatBoost and InterpretML, and pipelines and searches of these"
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
    return f"Use {SUPPORTED}"


def other_objectives(model: Any, classifying: str, predicting: str) -> str:
    """Return the objectives that a model of its class may be trained with."""
    name = kind_of(predictor(model)).name
    if name.endswith("Regressor"):
        return predicting
    return classifying if name.endswith("Classifier") else f"{classifying}, {predicting}"
