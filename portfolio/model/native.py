"""The user's own model object: its classes, column names and predictions."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd

from encoders.arrays import BoolArray, FloatArray, IntArray
from encoders.close_names import close_names
from encoders.errors import InputError, UnsupportedModelError
from encoders.query.goal import Scale
from encoders.trees.catboost_export import is_catboost
from encoders.trees.ensemble import Ensemble
from encoders.trees.from_xgboost import xgboost_objective
from encoders.trees.kinds import kind_of
from portfolio.model.frames import PANDAS, FrameForm
from portfolio.model.native_trees import native_leaves, native_scores
from portfolio.model.native_values import (
    native_predictions,
    native_probabilities,
    native_values,
    predicts_likeliest,
    returns_scores,
)
from portfolio.model.table import Table

# Rounding error of our own float64 sums, relative to the largest score.
SUMMED = 1e-12
PREDICTING = threading.Lock()
XGBOOST = frozenset(("XGBClassifier", "XGBRFClassifier"))
FEW_ROWS = 64  # up to this, waking a library's threads takes longer than one thread


@dataclass(frozen=True, eq=False)
class NativeModel:
    """The user's own model, which predicts float64 rows as it would for its user.

    Attributes
    ----------
    model : fitted model object.
    classes : labels in the order of the model's scores; empty for a regressor.
    columns : list of the names that the model was fitted with, or None.
    table : the user's columns if not all of them hold numbers, else None.
    names : column names that the model gets instead of ``columns``, or None; scikit-learn warns
        about names that it was not fitted with.
    form : library and column types of the frames that the model gets.
    """

    model: Any
    classes: tuple[Any, ...]
    columns: list[str] | None
    table: Table | None = None
    names: Sequence[Any] | None = None
    form: FrameForm = PANDAS

    def predict(self, rows: FloatArray) -> IntArray:
        """Return the class index of each row, int64 (n_rows,)."""
        table = self._given_soon(rows)
        with predicting_alone(self.model, len(rows)):
            if kind_of(self.model).name == "Booster":
                return _predict_booster(self.model, table)
            labels = np.asarray(native_predictions(self.model, table))
        if labels.shape == (len(labels), 1):  # CatBoost returns a column for several classes
            labels = labels[:, 0]
        elif labels.ndim == 2 and returns_scores(self.model):
            return np.asarray(labels.argmax(axis=1), dtype=np.int64)
        try:
            return np.array([self.classes.index(label) for label in labels.tolist()])
        except (TypeError, ValueError) as error:
            raise UnsupportedModelError(
                f"the model's own predict does not return one of its classes "
                f"({', '.join(map(repr, self.classes))}) for each row. Explain a model "
                "whose predict returns class labels."
            ) from error

    @cached_property
    def likeliest(self) -> bool:
        """True if the model's own predict returns the class of largest :meth:`probabilities`."""
        return len(self.classes) > 1 and predicts_likeliest(self.model)

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Return the model's own probabilities, float64 (n_rows, n_classes)."""
        with predicting_alone(self.model, len(rows)):
            return native_probabilities(self.model, self._given_soon(rows))

    def values(self, rows: FloatArray, scale: Scale, output: int) -> FloatArray:
        """Return one of the model's own numbers, float64 (n_rows,); see :func:`native_values`."""
        with predicting_alone(self.model, len(rows)):
            return native_values(self.model, self._input(rows), scale, output)

    def isolation(self, rows: FloatArray) -> FloatArray:
        """Return an isolation forest's scores of rows, float64 (n_rows,)."""
        with predicting_alone(self.model, len(rows)):
            scores: FloatArray = self.model.score_samples(self._input(rows))
        return scores

    def leaves(self, rows: FloatArray) -> IntArray | None:
        """Return the library's own leaf indices, or None; see :func:`native_leaves`."""
        with predicting_alone(self.model, len(rows)):
            return native_leaves(self.model, self._input(rows))

    def scores(self, rows: FloatArray, margin_unit: float) -> FloatArray:
        """Return the library's own sums; see :func:`native_scores`."""
        with predicting_alone(self.model, len(rows)):
            return native_scores(self.model, self._input(rows), margin_unit)

    def _input(self, rows: FloatArray) -> Any:
        if self.table is not None:
            frame = self.table.frame(rows)
            # Libraries may have rewritten the user's names.
            names = self.columns if self.names is None else self.names
            return self.form.of(frame if names is None else frame.set_axis(list(names), axis=1))
        if self._names is None:
            return rows
        # A copy in row order: trees read row by row, and libraries do not reorder the memory.
        return pd.DataFrame(rows.copy(), columns=self._names, copy=False)

    def _given_soon(self, rows: FloatArray) -> Any:
        """Return the model's input, without a frame if the library accepts few rows as an array."""
        return rows if len(rows) <= FEW_ROWS and self._by_place else self._input(rows)

    @cached_property
    def _by_place(self) -> bool:
        """True if the library accepts an array in place of a frame of the same numbers.

        XGBoost's classifiers do; they read the same values from both. Reading a frame takes as long
        as predicting a row.
        """
        if self.table is not None or kind_of(self.model).name not in XGBOOST:
            return False
        return "c" not in (self.model.get_booster().feature_types or ())

    @cached_property
    def _names(self) -> "pd.Index[str] | None":
        """Column names as an index; creating it takes five times as long as the frame of a row."""
        return None if self.columns is None else pd.Index(self.columns)

    def class_index(self, target: Any) -> int:
        """Return the index of a label among the classes; raise InputError if it is unknown."""
        single = np.ndim(target) == 0 and target is not pd.NA
        for index, label in enumerate(self.classes if single else ()):
            if type(target) is not bool and label == target:
                return index
            if isinstance(label, bool) and label is target:
                return index
        labels = ", ".join(repr(label) for label in self.classes)
        close = close_names(target, [each for each in self.classes if isinstance(each, str)])
        raise InputError(f"unknown target {target!r}.{close} Use one of {labels}.")


@contextmanager
def predicting_alone(model: Any, n_rows: int) -> Iterator[None]:
    """Hold the prediction lock, and predict few rows in the caller's thread only.

    The model's n_jobs would start a thread pool for one row, and OpenMP threads would spin during
    our search. scikit-learn changes the process-wide warning filters while it predicts, which two
    threads at once would not restore.
    """
    import joblib

    with PREDICTING, joblib.parallel_config(backend="sequential"), _threads_for(model, n_rows):
        yield


def _threads_for(model: Any, n_rows: int) -> AbstractContextManager[Any]:
    """Return a context that limits OpenMP to the caller's thread if there are few rows."""
    if n_rows > FEW_ROWS:
        return nullcontext()
    alone: AbstractContextManager[Any] = _pools(kind_of(model).library).limit(limits=1)
    return alone


@cache
def _pools(library: str) -> Any:
    """Return the OpenMP thread pools of all libraries loaded so far; finding them is slow."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="openmp")


def own_errors(model: Any) -> tuple[type[Exception], ...]:
    """Return the exception types that a model's library raises for rows that it rejects."""
    if is_catboost(model):
        import catboost

        return TypeError, ValueError, catboost.CatBoostError
    return TypeError, ValueError  # XGBoost's and LightGBM's errors are subclasses


def wrap_native(model: Any, n_classes: int, regression: bool = False) -> NativeModel:
    """Return a parsed model with its labels and column names."""
    is_booster = kind_of(model).name == "Booster"
    if is_booster:
        names: Any = model.feature_name() if hasattr(model, "feature_name") else model.feature_names
    else:
        names = getattr(model, "feature_names_in_", None)
        if is_catboost(model):
            names = model.feature_names_
            names = None if names == [str(i) for i in range(len(names))] else names
    columns = None if names is None else [str(name) for name in names]
    # LightGBM invents names if it got none; the user's frame need not have them.
    if columns is not None and columns == [f"Column_{i}" for i in range(len(columns))]:
        columns = None
    if regression:
        return NativeModel(model, (), columns)
    if is_booster:
        return NativeModel(model, tuple(range(n_classes)), columns)
    # scikit-learn's outlier detectors have no classes_; they predict -1 and 1.
    classes = tuple(np.asarray(getattr(model, "classes_", [-1, 1])).tolist())
    if len(classes) != n_classes and len(classes) != 1:
        raise UnsupportedModelError(
            f"the model has {len(classes)} classes in classes_ but scores for {n_classes}. Fit it "
            "again."
        )
    return NativeModel(model, classes, columns)


def _predict_booster(booster: Any, rows: Any) -> IntArray:
    if hasattr(booster, "feature_name"):  # lightgbm
        scores = np.asarray(booster.predict(rows))
        best = scores.argmax(axis=1) if scores.ndim == 2 else scores > 0.5
        return np.asarray(best, dtype=np.int64)
    import xgboost

    scores = np.asarray(booster.predict(xgboost.DMatrix(rows, enable_categorical=True)))
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
    """Return the class index of a row, from the trees if they are clear, else from the model.

    The trees have been checked against the model, and take a tenth of the time.
    """
    scores = ensemble.scores(row[None, :])
    if clear_lead(ensemble, scores)[0]:
        return int(ensemble.outputs(scores)[0].argmax())
    return int(native.predict(row[None, :])[0])


def clear_lead(ensemble: Ensemble, scores: FloatArray) -> BoolArray:
    """Return where the best class leads by more than rounding can change, bool (n_rows,)."""
    ours = SUMMED * np.abs(scores).max(axis=1, initial=1.0)
    if ensemble.blend is not None:
        return ensemble.blend.clear(scores, ours)
    ranked = np.sort(scores, axis=1)
    clear: BoolArray = ranked[:, -1] - ranked[:, -2] > ensemble.rounding.band + ours
    return clear
