"""Fitted models parsed into trees over the user's own columns."""

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray
from encoders.core.errors import CounterfolioError, InputError, UnsupportedModelError
from encoders.query.features import FeatureSpace
from encoders.query.infer_features import infer_features
from encoders.readers.kinds import unwrapped
from encoders.readers.layout import Layout, layout_of
from encoders.readers.read import read_ensemble
from encoders.readers.reader import reader_of
from encoders.readers.refusals import first_line
from encoders.trees.ensemble import Ensemble, with_codes
from portfolio.model.categories import in_codes_of_all, library_codes, other_code, own_codes
from portfolio.model.evidence import check_sums
from portfolio.model.frames import PANDAS, FrameForm, form_of
from portfolio.model.native import NativeModel, own_errors, predicting_alone, wrap_native
from portfolio.model.pipeline import (
    dense,
    joint_table,
    missing_number,
    missing_numbers,
    over_raw_columns,
    preprocessing_of,
    side_by_side,
    tables_of,
)
from portfolio.model.pipeline_steps import check_declarations
from portfolio.model.step_kinds import Said
from portfolio.model.table import Column, Table, make_table, value_key
from portfolio.model.training_frame import (
    as_numbers,
    has_no_rows,
    made_up_rows,
    refuse_values,
    training_frame,
    without_spread,
)

ROWS = 20  # training rows that are tested with a new category


def tested(table: Table, models: Sequence["Reading"], rows: FloatArray) -> Table:
    """Return the table, which accepts new categories only where every model reads them as we do."""
    new = {
        at: float(len(column.labels))
        for at, column in enumerate(table.columns)
        if column.labels is not None and column.new is not None and not column.unread
    }
    some = rows[:ROWS]
    parts = []
    for at, code in new.items():
        parts.append(some.copy())
        parts[-1][:, at] = code
    if not new or not len(some):
        return table
    if _as_read(models, np.concatenate(parts)):
        refused: set[int] = set()
    else:
        refused = {at for at, part in zip(new, parts, strict=True) if not _as_read(models, part)}
    columns = tuple(
        replace(column, new=None) if at in refused else column
        for at, column in enumerate(table.columns)
    )
    natives = tuple(model.native for model in models)
    return Table(columns, NewCategories(natives, Table(columns)))


def _as_read(models: Sequence["Reading"], rows: FloatArray) -> bool:
    for model in models:
        errors: tuple[type[Exception], ...] = (*_own(model.native), CounterfolioError)
        try:
            check_sums(model.ensemble, model.native, rows)
        except errors:
            return False
    return True


@dataclass(frozen=True, eq=False)
class NewCategories:
    """Check that a query's new categories are treated as the value that stands for them."""

    natives: tuple[NativeModel, ...]  # models that a query is about
    table: Table  # the user's columns

    def check(self, row: FloatArray, values: Mapping[int, Any]) -> None:
        """Raise InputError if a model treats a new category differently from its stand-in."""
        frame = self.table.frame(row[None, :])
        at, value = next(iter(values.items()))
        column = self.table.columns[at]
        for native in self.natives:
            try:
                actual = self._with(frame, values)
                same = _same(native, frame, actual) and not _tested(native, frame, actual)
            except _own(native) as error:
                raise InputError(
                    f"the query's {column.name} is {value!r}, which the model rejects "
                    f"({first_line(error)}). {column.remedy}."
                ) from error
            if not same:
                raise InputError(
                    f"the query's {column.name} is {value!r}, which no training row has and the "
                    f"model treats differently from other new values. {column.remedy}."
                )

    def _with(self, frame: pd.DataFrame, values: Mapping[int, Any]) -> pd.DataFrame:
        """Return the frame with some values as the user has them."""
        actual = frame.copy()
        for at, value in values.items():
            actual.isetitem(at, _as_column(value, self.table.columns[at]))
        return actual


def _own(native: NativeModel) -> tuple[type[Exception], ...]:
    return own_errors(native.model)


def _as_column(value: Any, column: Column) -> Any:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Categorical([value], categories=[*column.dtype.categories, value])
    try:
        return pd.Series([value], dtype=column.dtype)
    except (TypeError, ValueError):
        return pd.Series([value], dtype=object)


@dataclass(frozen=True, eq=False)
class _OneRow(Table):
    """Table that passes a fixed row to a model, whatever the numbers are."""

    row: pd.DataFrame = field(default_factory=pd.DataFrame)  # frame of the row

    def frame(self, rows: FloatArray) -> pd.DataFrame:
        """Return the row."""
        return self.row


def _same(native: NativeModel, one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Return whether a model, and the steps before it, treat two rows alike."""
    if not np.array_equal(_outputs(native, one), _outputs(native, other), equal_nan=True):
        return False
    layout = layout_of(native.model)
    if not layout.piped:
        return True
    return np.array_equal(
        _inputs(layout, native.form.of(one)), _inputs(layout, native.form.of(other)), equal_nan=True
    )


def _tested(native: NativeModel, one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Return whether a split of any member tests a category that only the other row has.

    Both rows may end in the same leaves, but rows that differ from them in other columns may not.
    """
    layout = layout_of(native.model)
    first, second = (_joint(layout, native.form.of(row)) for row in (one, other))
    keys = [[value_key(value) for value in row.iloc[0]] for row in (first, second)]
    differ = {
        at for at, (stand_in, actual) in enumerate(zip(*keys, strict=True)) if stand_in != actual
    }
    return any(
        at in differ and reader_of(member).tests_category(member, second.iloc[:, columns], inner)
        for member, place in layout.leaves
        for columns in [layout.columns_of(place)]
        for inner, at in enumerate(columns.tolist())
    )


def _joint(layout: Layout, frame: Any) -> pd.DataFrame:
    """Return the inputs of the members in one table."""
    return side_by_side([dense(part, 0.0) for part in tables_of(layout, frame)])


def _outputs(native: NativeModel, frame: pd.DataFrame) -> FloatArray:
    model, row = replace(native, table=_OneRow((), row=frame)), np.zeros((1, frame.shape[1]))
    if not native.classes:
        return model.values(row, "prediction", 0)
    outputs = [model.predict(row).astype(np.float64)]
    if hasattr(native.model, "predict_proba"):
        outputs += [model.values(row, "probability", k) for k in range(len(native.classes))]
    return np.concatenate(outputs)


def _inputs(layout: Layout, frame: Any) -> FloatArray:
    """Return the numeric inputs of the members, float64 (1, n)."""
    table = _joint(layout, frame)
    numbers = [at for at, dtype in enumerate(table.dtypes) if pd.api.types.is_numeric_dtype(dtype)]
    return table.iloc[:, numbers].to_numpy(dtype=np.float64, na_value=np.nan)


NARROW = ("float32", "float16", "Float32")
FRAME_ROWS = 300  # rows of the user's own frame whose predictions are compared with ours


@dataclass(frozen=True, eq=False)
class Reading:
    """Model as trees.

    Attributes
    ----------
    name : prefix of errors about it, "" for the explained model.
    ensemble : trees over the model's own inputs at first, over the user's columns in the end.
    native : the user's own object.
    """

    name: str
    ensemble: Ensemble
    native: NativeModel

    @property
    def piped(self) -> bool:
        """True if the model has steps, so that its trees read other columns than the user's."""
        return layout_of(self.native.model).piped

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Prefix errors with the model's name."""
        try:
            yield
        except CounterfolioError as error:
            if not self.name:
                raise
            raise type(error)(f"{self.name}: {error}") from error


@dataclass(frozen=True, eq=False)
class Readings:
    """Models over the same columns.

    Attributes
    ----------
    models : tuple of the explained model and its companions.
    space : features of the columns.
    values : float64 (n_rows, n_columns), training rows in numbers, without missing values in
        features that may not be missing.
    """

    models: tuple[Reading, ...]
    space: FeatureSpace
    values: FloatArray


Features = Mapping[str, Any] | str | Path | FeatureSpace | None


def read_alone(model: Any, name: str = "") -> Reading:
    """Return a model as trees over its own inputs."""
    model = unwrapped(model)
    ensemble = read_ensemble(model)
    return Reading(name, ensemble, wrap_native(model, ensemble.n_classes, ensemble.regression))


def over_columns(
    alone: Sequence[Reading], X_train: Any, features: Features, declarations: Mapping[str, Said]
) -> Readings:
    """Return models as trees over the columns of the training frame.

    If one of them needs a table (of text, categories or the columns of a pipeline), all use it. A
    column that one of them reads value by value has categories for all of them.
    """
    main = alone[0]
    if has_no_rows(X_train):
        piped_main = main.piped
        width = _width(main.native.model, X_train) if piped_main else main.ensemble.n_columns
        rows, described = made_up_rows(X_train, features, main.native.columns, width, piped_main)
        readings = over_columns(alone, rows, described, declarations)
        if isinstance(features, FeatureSpace):
            return readings
        return replace(readings, space=without_spread(readings.space))
    check_declarations([reading.native.model for reading in alone], declarations)
    frame = _frame_of(main, X_train)
    for other in alone[1:]:
        _check_columns(other, main, frame)
    piped = [reading.piped for reading in alone]
    codes_of = [
        {}
        if reading.piped
        else library_codes(reading.native.model, layout_of(reading.native.model), frame)
        for reading in alone
    ]
    # A library without codes may read columns that the frame declares categorical as numbers.
    declared = any(isinstance(dtype, pd.CategoricalDtype) for dtype in frame.dtypes)
    if any(piped) or (any(codes_of) and len(alone) > 1) or (declared and not any(codes_of)):
        return _through_table(alone, X_train, frame, features, declarations)
    codes = codes_of[0]
    table = make_table(frame, codes, False) if codes else None
    rows = _rows(frame, table, main.ensemble.default_left is not None)
    missing = missing_number(layout_of(main.native.model))
    absent = {} if np.isnan(missing) else dict.fromkeys(rows.columns, missing)
    space = _space(rows, table, features, frame, absent)
    labels = own_codes(codes, table, other_code(main.native.model))
    ensembles = [
        in_codes_of_all(reading.native.model, reading.ensemble, codes, frame) for reading in alone
    ]
    models = [
        _in_codes(reading, ensemble, labels, table, space)
        for reading, ensemble in zip(alone, ensembles, strict=True)
    ]
    values = _without_gaps(rows.to_numpy(), space)
    return Readings(_taking_new(models, table, values), space, values)


def _through_table(
    alone: Sequence[Reading],
    X_train: Any,
    frame: pd.DataFrame,
    features: Features,
    declarations: Mapping[str, Said],
) -> Readings:
    """Return each model as a pipeline, with a single step if it has none."""
    parts = []
    for reading in alone:
        with reading.named():
            form = _form(reading.native.model, X_train, frame) if reading.piped else PANDAS
            parts.append(
                preprocessing_of(reading.native.model, reading.ensemble, frame, declarations, form)
            )
    table = joint_table(frame, [steps for steps, _ in parts])
    rows = _rows(frame, table, True)
    values = rows.to_numpy()
    absent = missing_numbers(parts[0][0], values)
    space = _space(rows, table, features, frame, absent)
    pulled = []
    for reading, (steps, ensemble) in zip(alone, parts, strict=True):
        with reading.named():
            if reading.piped:
                _check_frames(reading.native.model, X_train, table, values, steps.form)
            over, table = over_raw_columns(
                reading.native.model, ensemble, replace(steps, table=table), values, space
            )
            pulled.append(over)
    names = _other_names(X_train, frame.shape[1])
    models = [
        _in_codes(
            replace(reading, native=replace(reading.native, form=steps.form)),
            ensemble,
            {},
            table,
            space,
            names if reading.native.columns is None else None,
        )
        for reading, ensemble, (steps, _) in zip(alone, pulled, parts, strict=True)
    ]
    values = _without_gaps(values, space)
    return Readings(_taking_new(models, table, values), space, values)


def _other_names(X_train: Any, width: int) -> Sequence[Any] | None:
    """Return the names of a model's frames if some are not text, else None."""
    if isinstance(X_train, np.ndarray):
        return range(width)
    names = list(X_train.columns) if isinstance(X_train, pd.DataFrame) else []
    return None if all(isinstance(name, str) for name in names) else names


def _taking_new(
    models: Sequence[Reading], table: Table | None, values: FloatArray
) -> tuple[Reading, ...]:
    """Return the models, with a table that accepts new categories if all of them do."""
    if table is None:
        return tuple(models)
    with_new = tested(table, models, values)
    return tuple(
        replace(reading, native=replace(reading.native, table=with_new)) for reading in models
    )


def _frame_of(main: Reading, X_train: Any) -> pd.DataFrame:
    width = main.ensemble.n_columns
    if main.piped:
        width = _width(main.native.model, X_train)
    return training_frame(X_train, main.native.columns, width)


def _width(pipeline: Any, X_train: Any) -> int:
    """Return the number of the user's columns, which some first steps do not store."""
    with contextlib.suppress(AttributeError):
        return int(pipeline.n_features_in_)
    return 0 if X_train is None else int(np.shape(X_train)[1])


def _check_columns(other: Reading, main: Reading, frame: pd.DataFrame) -> None:
    """Raise an error unless a companion takes the same columns in the same order."""
    names, width = other.native.columns, frame.shape[1]
    n_columns = other.ensemble.n_columns
    if other.piped:
        n_columns = getattr(other.native.model, "n_features_in_", width)
    if names is not None and main.native.columns is not None:
        blank = [name.replace(" ", "_") for name in names]  # LightGBM replaces blanks
        same = names == main.native.columns
        if not (same or blank == [name.replace(" ", "_") for name in frame.columns]):
            raise InputError(
                f"{other.name} was fitted on other columns than the model, or in another order: "
                f"{', '.join(names[:5])}. Fit it on X_train."
            )
    if n_columns != width:
        raise UnsupportedModelError(
            f"{other.name} takes {n_columns} columns, the model {width}. Fit both on the same "
            "frame."
        )


def _form(model: Any, X_train: Any, frame: pd.DataFrame) -> FrameForm:
    """Return the form of frames that steps get: pandas unless only that of X_train works."""
    form = form_of(X_train)
    if form is PANDAS:
        return PANDAS
    rows = frame.head(FRAME_ROWS)
    with predicting_alone(model, FRAME_ROWS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = np.asarray(model.predict(form.of(rows)))
        except own_errors(model):  # it was fitted on a pandas frame
            return PANDAS
        try:
            ours = np.asarray(model.predict(rows))
        except own_errors(model):
            return form
    return PANDAS if np.array_equal(theirs, ours) else form


def _check_frames(
    model: Any, X_train: Any, table: Table, rows: FloatArray, form: FrameForm
) -> None:
    """Raise an error if the model predicts our frames differently from the user's own."""
    if not hasattr(X_train, "head"):
        return
    with predicting_alone(model, FRAME_ROWS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = np.asarray(model.predict(X_train.head(FRAME_ROWS)))
            ours = np.asarray(model.predict(form.of(table.frame(rows[:FRAME_ROWS]))))
        except own_errors(model) as error:
            raise InputError(
                f"the model's own predict rejects rows of X_train ({first_line(error)}). Pass the "
                "frame that it was fitted on, or put a SimpleImputer before a step that does not "
                "accept missing values."
            ) from error
    # Threads may sum the trees of a regression forest in another order.
    same = np.allclose(theirs, ours) if theirs.dtype.kind == "f" else np.array_equal(theirs, ours)
    if same:
        return
    narrow = [
        column.name for column in table.columns if getattr(column.dtype, "name", "") in NARROW
    ]
    if narrow:
        raise UnsupportedModelError(
            "the pipeline predicts rows of X_train differently from the same rows in float64, the "
            f"type of answers, because its steps compute in the type of {narrow[0]!r}. Pass "
            "X_train.astype('float64') to the Explainer, and query rows in float64."
        )
    raise UnsupportedModelError(
        "the pipeline predicts rows of X_train differently from the same rows in a pandas frame of "
        "float64. Fit it on a pandas frame without columns of mixed types."
    )


def _rows(frame: pd.DataFrame, table: Table | None, takes_missing: bool) -> pd.DataFrame:
    """Return the training rows in numbers."""
    if table is None:
        return as_numbers(frame, "X_train", takes_missing)
    numbers = table.numbers(frame, "X_train:")
    for at, column in enumerate(table.columns):
        refuse_values(numbers[:, at], column.name, "X_train", takes_missing)
    return pd.DataFrame(numbers, columns=frame.columns)


def _space(
    rows: pd.DataFrame,
    table: Table | None,
    features: Features,
    frame: pd.DataFrame,
    absent: Mapping[str, float],
) -> FeatureSpace:
    if isinstance(features, FeatureSpace):
        return features.ordered(list(rows.columns))
    labels = None if table is None else table.labels
    dtypes = zip(rows.columns, frame.dtypes, strict=True)
    truths = [name for name, dtype in dtypes if pd.api.types.is_bool_dtype(dtype)]
    unread = frozenset() if table is None else table.unread
    return infer_features(rows, features, labels, truths, absent, unread)


def _without_gaps(rows: FloatArray, space: FeatureSpace) -> FloatArray:
    """Return the training rows, with values imputed where a feature may not be missing."""
    rows = rows.copy()
    for feature in space.features:
        columns = np.array(feature.columns)
        gaps = np.isnan(rows[:, columns]).any(axis=1)
        if gaps.any() and not feature.missing:
            rows[np.ix_(np.flatnonzero(gaps), columns)] = rows[~gaps][:1, columns]
    return rows


def _in_codes(
    reading: Reading,
    ensemble: Ensemble,
    codes: Mapping[int, FloatArray],
    table: Table | None,
    space: FeatureSpace,
    names: Sequence[Any] | None = None,
) -> Reading:
    """Return a model as trees in the user's codes, with paths of missing values where allowed."""
    missing = [feature.name for feature in space.features if feature.missing]
    if missing and ensemble.default_left is None:
        with reading.named():
            raise InputError(
                f"feature {missing[0]}: the model does not accept missing values. Set 'missing' to "
                "False for this feature."
            )
    ensemble = with_codes(ensemble, codes)
    if not missing:
        ensemble = replace(ensemble, default_left=None)
    return Reading(reading.name, ensemble, replace(reading.native, table=table, names=names))
