"""The user's own model object: its classes, column names and predictions."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.arrays import BoolArray, FloatArray, IntArray
from encoders.core.close_names import close_names
from encoders.core.errors import InputError, UnsupportedModelError
from encoders.query.goal import ClassGoal, Goal, Scale
from encoders.readers.kinds import is_pipeline, kind_of, last_step
from encoders.readers.read import (
    native_leaves,
    native_predictions,
    native_probabilities,
    native_scores,
    native_values,
    predicts_likeliest,
    returns_scores,
    varies_with_rows,
)
from encoders.readers.reader import reader_of
from encoders.trees.ensemble import Ensemble
from portfolio.model.frames import PANDAS, FrameForm
from portfolio.model.table import Table

# Rounding error of our own float64 sums, relative to the largest score.
SUMMED = 1e-12
PREDICTING = threading.Lock()
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

    def predict(self, rows: FloatArray, clear: bool = False) -> IntArray:
        """Return the class index of each row, int64 (n_rows,).

        ``clear`` says that the last bits of scores change no class, so that one call is enough.
        """
        if 1 < len(rows) <= FEW_ROWS and self.predicts_alone and not clear:
            return np.concatenate([self.predict(row) for row in rows[:, None]])
        table = self._given_soon(rows)
        with predicting_alone(self.model, len(rows)):
            indices = reader_of(self.model).class_indices(self.model, table)
            if indices is not None:
                return indices
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
        if 1 < len(rows) <= FEW_ROWS and self.predicts_alone:
            return np.concatenate([self.values(row, scale, output) for row in rows[:, None]])
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
    def predicts_alone(self) -> bool:
        """True if the last bits of a prediction may differ if other rows are predicted with it."""
        return varies_with_rows(self.model)

    @cached_property
    def _by_place(self) -> bool:
        """True if the library accepts an array in place of a frame of the same numbers.

        XGBoost's classifiers do; they read the same values from both. Reading a frame takes as long
        as predicting a row.
        """
        return self.table is None and reader_of(self.model).takes_arrays(self.model)

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
        raise InputError(
            f"unknown target {target!r}.{close} Use one of {labels}.",
            "unknown-target",
            target=str(target),
            labels=labels,
        )


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
    return reader_of(model).errors()


def _columns_of(model: Any) -> list[str] | None:
    """Return the names of the columns that the model's own predict accepts, None if it has none.

    LightGBM replaces blanks, and VotingRegressor and StackingRegressor take the names of their last
    member; others of their members reject these.
    """
    reader = reader_of(model)
    names = reader.columns(model)
    if names is None:
        return None
    columns = [str(name) for name in names]
    for member, places, _ in reader.members(model):
        fitted_on = [str(name) for name in getattr(member, "feature_names_in_", ())]
        if places is None and [name.replace(" ", "_") for name in fitted_on] == columns:
            columns = fitted_on
    return columns


def wrap_native(model: Any, n_classes: int, regression: bool = False) -> NativeModel:
    """Return a parsed model with its labels and column names."""
    columns = _columns_of(model)
    # LightGBM invents names if it got none; the user's frame need not have them.
    if columns is not None and columns == [f"Column_{i}" for i in range(len(columns))]:
        columns = None
    if regression:
        return NativeModel(model, (), columns)
    classes = reader_of(model).classes(model, n_classes)
    if len(classes) != n_classes and len(classes) != 1:
        raise UnsupportedModelError(
            f"the model has {len(classes)} classes in classes_ but scores for {n_classes}. Fit it "
            "again."
        )
    return NativeModel(model, classes, columns)


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


Said = Mapping[bytes, float]  # keyed by the bytes of a float64 row


@dataclass(frozen=True, eq=False)
class RememberedModel(NativeModel):
    """Native model that is called only for rows without remembered predictions."""

    number: tuple[Scale, int] = ("probability", 0)  # scale and output of the remembered number
    remembered: Said = field(default_factory=dict)  # the number, by row
    labels: Mapping[bytes, int] = field(default_factory=dict)  # remembered class indices, by row

    @property
    def likeliest(self) -> bool:
        """False, as probabilities are not requested together with remembered predictions."""
        return False

    def values(self, rows: FloatArray, scale: Scale, output: int) -> FloatArray:
        """See :class:`NativeModel`."""
        numbers = [self.remembered.get(row.tobytes()) for row in rows]
        if (scale, output) != self.number or None in numbers:
            return super().values(rows, scale, output)
        return np.array(numbers, dtype=np.float64)

    def predict(self, rows: FloatArray, clear: bool = False) -> IntArray:
        """See :class:`NativeModel`."""
        labels = [self.labels.get(row.tobytes()) for row in rows]
        return super().predict(rows, clear) if None in labels else np.array(labels, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RememberedForest(NativeModel):
    """Isolation forest that is called only for rows without remembered scores."""

    remembered: Said = field(default_factory=dict)  # its scores, by row

    def predict(self, rows: FloatArray, clear: bool = False) -> IntArray:
        """Return class indices from scores and ``offset_``, as its own ``predict`` does."""
        scores = [self.remembered.get(row.tobytes()) for row in rows]
        if None in scores:
            return super().predict(rows, clear)
        forest = last_step(self.model) if is_pipeline(self.model) else self.model
        outlier = np.array(scores, dtype=np.float64) - forest.offset_ < 0
        return np.where(outlier, self.classes.index(-1), self.classes.index(1))


def remembering(native: NativeModel, rows: FloatArray, goal: Goal) -> RememberedModel:
    """Return a native model that remembers the goal's class or number of some rows."""
    attributes = _fields(native)
    if native.predicts_alone:  # many rows at once may differ in the last bits
        rows = rows[:0]
    if isinstance(goal, ClassGoal):
        labels = native.predict(rows).tolist() if len(rows) else []
        return RememberedModel(**attributes, labels=_by_row(rows, labels))
    number = (goal.scale, goal.output)
    values = native.values(rows, *number).tolist() if len(rows) else []
    return RememberedModel(**attributes, number=number, remembered=_by_row(rows, values))


def native_scores_by_row(forest: NativeModel, rows: FloatArray) -> Said:
    """Return an isolation forest's scores of some rows, by row, from one call."""
    return _by_row(rows, forest.isolation(rows).tolist() if len(rows) else [])


def remembering_scores(forest: NativeModel, scores: Said) -> RememberedForest:
    """Return the same forest with remembered scores."""
    return RememberedForest(**_fields(forest), remembered=scores)


def _by_row(rows: FloatArray, values: list[Any]) -> dict[bytes, Any]:
    return {row.tobytes(): one for row, one in zip(rows, values, strict=True)}


def _fields(native: NativeModel) -> dict[str, Any]:
    return {each.name: getattr(native, each.name) for each in fields(NativeModel)}


@dataclass(frozen=True, eq=False)
class Scoring:
    """Lazily computed numbers of the model for a query and its answer.

    Attributes
    ----------
    native : the model.
    scale : scale of the number, as in :meth:`NativeModel.values`.
    output : output of the number, as in :meth:`NativeModel.values`.
    before : float64 (n_columns,), the query.
    after : float64 (n_columns,), the answer, or None.
    probabilities : float64 (2, n_classes), of both rows if already computed, else None.
    name : name of the model's output that ``native`` predicts, or None if it has one output.
    """

    native: NativeModel
    scale: Scale
    output: int
    before: FloatArray
    after: FloatArray | None
    probabilities: FloatArray | None = None
    name: Any = None

    def both(self) -> tuple[float, float | None]:
        """Return the numbers of the query and the answer (None without one), from one call."""
        if self.probabilities is not None and self.scale == "probability":
            return float(self.probabilities[0, self.output]), float(
                self.probabilities[1, self.output]
            )
        numbers = self.native.values(np.array(self.rows), self.scale, self.output).tolist()
        return float(numbers[0]), float(numbers[1]) if len(numbers) > 1 else None

    @property
    def rows(self) -> list[FloatArray]:
        """The query and, if there is one, the answer."""
        return [self.before] if self.after is None else [self.before, self.after]

    def words(self) -> str:
        """Return the name of the number, for sentences."""
        words = "Prediction" if self.scale == "prediction" else "Score"
        if self.scale == "probability":
            words = f"Probability of {self.native.classes[self.output]!r}"
        return words if self.name is None else f"{words} of output {self.name!r}"
