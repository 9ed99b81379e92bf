"""Probabilities, raw scores and predictions that a model itself returns."""

from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.query.goal import Scale
from encoders.trees.catboost_export import is_catboost
from encoders.trees.kinds import kind_of, replaced_method
from encoders.trees.wrappers import is_pipeline, last_step, predictor, unwrapped
from portfolio.model.input_tables import inputs_of
from portfolio.model.native_trees import native_scores

# Classifiers whose predict returns the first class of largest probability, by their source.
LIKELIEST = {
    "xgboost": ("XGBClassifier",),
    "lightgbm": ("LGBMClassifier",),
    "sklearn": ("RandomForestClassifier", "ExtraTreesClassifier", "DecisionTreeClassifier"),
}
OBJECTIVES = ("binary:logistic", "multi:softprob")  # of XGBoost; others predict differently


def predicts_likeliest(model: Any) -> bool:
    """Return whether predict is known to return the first class of largest probability."""
    kind = kind_of(model)
    if kind.name not in LIKELIEST.get(kind.library, ()) or replaced_method(model):
        return False
    if kind.library == "xgboost":
        return model.objective in OBJECTIVES
    return not returns_scores(model)


def returns_scores(model: Any) -> bool:
    """Return whether predict of a classifier returns raw scores, with a warning, and not labels.

    LightGBM's does if it was fitted with a custom objective.
    """
    last = predictor(model)
    return kind_of(last).name == "LGBMClassifier" and callable(last.objective_)


def native_values(model: Any, rows: Any, scale: Scale, output: int) -> FloatArray:
    """Return one of the model's numbers for each row, exactly widened to float64, (n_rows,)."""
    if scale == "prediction":
        return np.asarray(native_predictions(model, rows), dtype=np.float64).ravel()
    if scale == "raw":
        return _raw(model, rows, output)
    numbers: FloatArray = native_probabilities(model, rows)[:, output]
    return numbers


def native_predictions(model: Any, rows: Any) -> Any:
    """Return the output of the model's own predict."""
    if _is_xgboost_booster(model):
        import xgboost

        return model.predict(xgboost.DMatrix(rows, enable_categorical=True))
    if returns_scores(model):  # without the library's warning
        model = unwrapped(model)
        if is_pipeline(model):
            return native_predictions(last_step(model), inputs_of(model, rows))
        return model.predict(rows, raw_score=True)
    # CatBoost would start a thread per core for one row.
    return model.predict(rows, **({"thread_count": 1} if is_catboost(model) else {}))


def _raw(model: Any, rows: Any, output: int) -> FloatArray:
    model = unwrapped(model)
    if is_pipeline(model):
        return _raw(last_step(model), inputs_of(model, rows), output)
    if is_catboost(model):
        raw_scores = model.predict(rows, prediction_type="RawFormulaVal", thread_count=1)
        return np.asarray(raw_scores, dtype=np.float64).reshape(rows.shape[0], -1)[:, -1]
    scores = native_scores(model, rows, 1.0)
    if kind_of(model).name in ("HardVotingClassifier", "VotingClassifier"):  # votes
        return scores[:, output]
    # Add the classifier's threshold again, which native_scores subtracts.
    threshold = 0.5 if getattr(model, "objective", "") == "binary:logitraw" else 0.0
    raw: FloatArray = scores[:, -1] + threshold
    return raw


def native_probabilities(model: Any, rows: Any) -> FloatArray:
    """Return the model's probabilities, exactly widened to float64, (n_rows, n_classes)."""
    if kind_of(model).name != "Booster":
        alone = {"thread_count": 1} if is_catboost(model) else {}
        return np.asarray(model.predict_proba(rows, **alone)).astype(np.float64)
    probabilities = np.asarray(native_predictions(model, rows))
    if probabilities.ndim == 1:  # of class 1; class 0 as the libraries' classifiers compute it
        probabilities = np.column_stack(
            [probabilities.dtype.type(1) - probabilities, probabilities]
        )
    return probabilities.astype(np.float64)


def _is_xgboost_booster(model: Any) -> bool:
    return kind_of(model).name == "Booster" and not hasattr(model, "feature_name")
