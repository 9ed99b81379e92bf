"""The numbers that a model itself gives: probabilities, raw scores, predictions."""

from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.query.goal import Scale
from portfolio.model.native_trees import native_scores
from portfolio.model.pipeline import is_pipeline, last_step


def native_values(model: Any, rows: Any, scale: Scale, output: int) -> FloatArray:
    """One of the model's numbers for each row, widened to float64 as it is, (n_rows,).

    Parameters
    ----------
    model : fitted, of a kind that can be read
    rows : (n_rows, n_columns), as the model takes them
    scale : which number
    output : index of the class that it is of; boosting of two classes has one raw score for both
    """
    if scale == "prediction":
        return np.asarray(_predictions(model, rows), dtype=np.float64).ravel()
    if scale == "raw":
        return _raw(model, rows, output)
    found: FloatArray = _probabilities(model, rows)[:, output]
    return found


def _predictions(model: Any, rows: Any) -> Any:
    if _is_xgboost_booster(model):
        import xgboost

        return model.predict(xgboost.DMatrix(rows, enable_categorical=True))
    return model.predict(rows)


def _raw(model: Any, rows: Any, output: int) -> FloatArray:
    scores = native_scores(model, rows, 1.0)
    model = last_step(model) if is_pipeline(model) else model
    if type(model).__name__ in ("HardVotingClassifier", "VotingClassifier"):  # votes
        return scores[:, output]
    # Where reading has taken the classifier's threshold off, it is put back.
    taken = 0.5 if getattr(model, "objective", "") == "binary:logitraw" else 0.0
    raw: FloatArray = scores[:, -1] + taken
    return raw


def _probabilities(model: Any, rows: Any) -> FloatArray:
    if type(model).__name__ != "Booster":
        return np.asarray(model.predict_proba(rows)).astype(np.float64)
    found = np.asarray(_predictions(model, rows))
    if found.ndim == 1:  # of class 1; that of class 0 as the libraries' classifiers take it
        found = np.column_stack([found.dtype.type(1) - found, found])
    return found.astype(np.float64)


def _is_xgboost_booster(model: Any) -> bool:
    return type(model).__name__ == "Booster" and not hasattr(model, "feature_name")
