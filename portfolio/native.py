"""The user's own model object: its classes, its column names, its predict."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from encoders.arrays import FloatArray, IntArray
from encoders.ensemble import Ensemble
from encoders.errors import InputError, UnsupportedModelError
from encoders.read import xgboost_objective

CHECKED_ROWS = 1000
# Where the two best scores are closer than this, the order of float additions may decide.
TIE = 1e-4


@dataclass(frozen=True, eq=False)
class NativeModel:
    """Predicts with the model exactly as its owner would: a frame or array of float64 in.

    Attributes
    ----------
    classes : the labels, in the order of the model's scores
    columns : names the model was fitted with, or None
    """

    model: Any
    classes: tuple[Any, ...]
    columns: list[str] | None

    def predict(self, rows: FloatArray) -> IntArray:
        """Class index of each row, int64 (n_rows,)."""
        given = rows if self.columns is None else pd.DataFrame(rows, columns=self.columns)
        if type(self.model).__name__ == "Booster":
            return _predict_booster(self.model, given)
        import joblib

        # The owner's n_jobs would start a pool of threads for one row.
        with joblib.parallel_config(backend="sequential"):
            labels = np.asarray(self.model.predict(given))
        return np.array([self.classes.index(label) for label in labels.tolist()], dtype=np.int64)

    def class_index(self, target: Any) -> int:
        """Position of a label.

        Raises
        ------
        InputError
            No such class.
        """
        single = np.ndim(target) == 0 and target is not pd.NA
        for index, label in enumerate(self.classes if single else ()):
            if type(target) is not bool and label == target:
                return index
            if isinstance(label, bool) and label is target:
                return index
        known = ", ".join(repr(label) for label in self.classes)
        raise InputError(f"unknown target {target!r}; the model's classes are {known}.")


def wrap_native(model: Any, n_classes: int) -> NativeModel:
    """Find the labels and column names of a model that could be read."""
    is_booster = type(model).__name__ == "Booster"
    if is_booster:
        names: Any = model.feature_name() if hasattr(model, "feature_name") else model.feature_names
    else:
        names = getattr(model, "feature_names_in_", None)
    columns = None if names is None else [str(name) for name in names]
    # lightgbm makes names up where it was given none; they can't bind the user's frame.
    if columns is not None and columns == [f"Column_{i}" for i in range(len(columns))]:
        columns = None
    if is_booster:
        return NativeModel(model, tuple(range(n_classes)), columns)
    classes = tuple(np.asarray(model.classes_).tolist())
    if len(classes) != n_classes and len(classes) != 1:
        raise UnsupportedModelError(
            f"the model names {len(classes)} classes but scores {n_classes}."
        )
    return NativeModel(model, classes, columns)


def _predict_booster(booster: Any, rows: Any) -> IntArray:
    if hasattr(booster, "feature_name"):  # lightgbm
        scores = np.asarray(booster.predict(rows))
        best = scores.argmax(axis=1) if scores.ndim == 2 else scores > 0.5
        return np.asarray(best, dtype=np.int64)
    import xgboost

    scores = np.asarray(booster.predict(xgboost.DMatrix(rows)))
    objective = xgboost_objective(booster)
    if scores.ndim == 2:
        best = scores.argmax(axis=1)
    elif objective == "binary:logitraw":
        best = scores > 0
    elif objective.startswith("binary:"):
        best = scores > 0.5
    else:
        best = scores
    return np.asarray(best, dtype=np.int64)


def predict_one(ensemble: Ensemble, native: NativeModel, row: FloatArray) -> int:
    """Class index of a row: from the trees where they are clear, else from the model itself.

    The trees have been checked against the model, and take a tenth of the time.
    """
    scores = ensemble.scores(row[None, :])[0]
    clear = _lead(scores[None, :])[0] > TIE * max(1.0, float(np.abs(scores).max()))
    return int(scores.argmax()) if clear else int(native.predict(row[None, :])[0])


def clear_lead(ensemble: Ensemble, row: FloatArray, target: int) -> bool:
    """Whether the trees put a class ahead by more than rounding can decide."""
    scores = ensemble.scores(row[None, :])[0]
    lead = scores[target] - np.delete(scores, target).max(initial=-np.inf)
    return bool(lead > TIE * max(1.0, float(np.abs(scores).max())))


def _lead(scores: FloatArray) -> FloatArray:
    """Best score minus second best of each row."""
    ranked = np.sort(scores, axis=1)
    lead: FloatArray = ranked[:, -1] - ranked[:, -2]
    return lead


def check_reading(ensemble: Ensemble, native: NativeModel, rows: FloatArray) -> None:
    """Compare our reading of the trees with the model's own predict on training rows.

    Raises
    ------
    UnsupportedModelError
        They differ on a row that is not a tie: nothing proved about the trees would be true of
        the model.
    """
    sample = rows[np.linspace(0, len(rows) - 1, min(len(rows), CHECKED_ROWS)).astype(int)]
    scores = ensemble.scores(sample)
    clear = _lead(scores) > TIE * np.maximum(np.abs(scores).max(axis=1), 1.0)
    wrong = clear & (scores.argmax(axis=1) != native.predict(sample))
    if wrong.any():
        raise UnsupportedModelError(
            f"the model's own predict disagrees with its trees on {int(wrong.sum())} of "
            f"{len(sample)} training rows, so it can't be read exactly (dropped trees, custom "
            "objective or special treatment of zeros?)."
        )
