"""Conversion of the user's rows to float64 arrays in the model's column order."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.arrays import BoolArray, FloatArray
from encoders.core.errors import InputError
from encoders.query.features import Feature, FeatureSpace, is_missing, listed
from encoders.query.names import feature_name
from portfolio.model.frames import as_pandas, exact_pandas
from portfolio.model.row import Origin, Row, as_array, row_with
from portfolio.model.table import Table
from portfolio.model.training_frame import check_names, named


def read_row(x: Any, space: FeatureSpace, dtype: np.dtype[Any], table: Table | None = None) -> Row:
    """Return a query in the model's order; raise InputError if columns or values are invalid."""
    row = _as_row(x, space, table)
    if table is not None:
        _check_new(row, table)
    beyond = np.flatnonzero(np.abs(row.values) > float(np.finfo(dtype).max))
    if beyond.size:
        raise InputError(
            f"the query's {space.columns[beyond[0]]} is {row.values[beyond[0]]:g}, "
            f"too large for the model, which reads {dtype.name}. Give it a smaller value.",
            "too-large",
            name=space.columns[beyond[0]],
        )
    missing = np.isnan(row.values).any()
    for feature in space.features:
        if not missing and (feature.coded or feature.kind == "numeric"):
            continue
        values = row.values[list(feature.columns)]
        if missing and np.isnan(values).any():
            if not feature.missing:
                raise _not_missing(feature.name, space.columns, values, feature.columns)
            continue
        if feature.coded:
            continue
        if feature.kind == "categorical":
            if not np.isin(values, (0, 1)).all() or values.sum() > 1:
                raise InputError(
                    f"the query's one-hot columns of {feature.name} hold "
                    f"{[float(v) for v in values]}. Set at most one of them to 1 and the others to "
                    "0, or describe each as 'binary' in features."
                )
            continue
        if feature.allow_off_levels or feature.kind == "numeric":
            continue
        on_level = values[0] in feature.values if feature.values else float(values[0]).is_integer()
        if not (on_level or values[0] in feature.codes):
            raise _not_on_level(feature, float(values[0]))
    return row


def _not_on_level(feature: Feature, value: float) -> InputError:
    """Return the error of a value that a feature cannot have."""
    words = (
        f"the query's {feature.name} is {value:g}, which is not one of its values "
        f"({feature.describe_values()}). Set 'allow_off_levels' for this feature "
        "if this is intended."
    )
    if not feature.values:
        low, high = feature.lower, feature.upper
        return InputError(
            words, "no-whole-number", name=feature.name, value=value, low=low, high=high
        )
    values = listed([str(feature.show(each)) for each in feature.values])
    return InputError(words, "not-a-value", name=feature.name, value=value, values=values)


def _check_new(row: Row, table: Table) -> None:
    """Raise InputError if the model rejects a category that training rows lack."""
    new = np.flatnonzero(table.new_in(row.values))
    if new.size == 0 or table.accepts is None or row.origin is None:
        return
    users_row = as_pandas(row.origin.row)[0]
    if isinstance(users_row, pd.DataFrame):
        values = users_row.iloc[0].tolist()
    elif isinstance(users_row, Mapping | pd.Series):
        values = list(users_row.values()) if isinstance(users_row, Mapping) else users_row.tolist()
    else:
        values = np.asarray(users_row, dtype=object).ravel().tolist()
    places = row.origin.position.tolist()
    value_of = dict(zip(places, values, strict=True))
    labels = {at: table.columns[at].like_labels(value_of[at]) for at in new.tolist()}
    table.accepts.check(row.values, labels)


def _not_missing(
    name: str, names: tuple[str, ...], values: FloatArray, columns: tuple[int, ...]
) -> InputError:
    column = names[columns[int(np.flatnonzero(np.isnan(values))[0])]]
    return InputError(
        f"the query's {column} is missing (NaN). Give it a value. If the model was trained with "
        f"missing values in this column, set features={{{name!r}: {{'missing': True}}}}.",
        "missing-value",
        name=column,
    )


def read_rows(
    X: Any, space: FeatureSpace, dtype: np.dtype[Any], table: Table | None = None
) -> tuple["pd.Index[Any]", tuple[str, ...], list[FloatArray | str]]:
    """Return the index, the model's columns, and for each row its values or an error message."""
    X = _frame(as_pandas(X)[0], space)
    ordered = _in_order(X, space, table)
    numbers = _as_numbers(ordered) if table is None else _by_table(ordered, table)
    good = _are_rows(numbers, space, dtype)
    if table is not None:
        good &= ~table.new_in(numbers).any(axis=1)
    rows: list[FloatArray | str] = list(numbers)
    for place in np.flatnonzero(~good):  # each alone, for its error message, if any
        try:
            users_row = np.array(ordered.iloc[place].tolist(), dtype=object)
            rows[place] = read_row(users_row, space, dtype, table).values
        except InputError as error:
            rows[place] = str(error)
    return X.index, space.columns, rows


def own_columns(X: Any, space: FeatureSpace, table: Table | None) -> pd.DataFrame:
    """Return the rows of a batch in the model's order, with all values as their user has them."""
    return _in_order(_frame(exact_pandas(X), space), space, table)


def _frame(X: Any, space: FeatureSpace) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        return X
    array = np.asarray(X)
    if array.ndim != 2:
        raise InputError(f"a batch must be a table of rows and columns, got {array.ndim}-d.")
    if array.shape[1] != len(space.columns):
        raise InputError(
            f"the batch has {array.shape[1]} columns, the model takes {len(space.columns)}. Use "
            "the columns of the model."
        )
    return pd.DataFrame(array, columns=list(space.columns))


def _in_order(X: pd.DataFrame, space: FeatureSpace, table: Table | None) -> pd.DataFrame:
    frame = named(X)
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise InputError(f"the batch has two columns named {twice!r}. Rename one.")
    columns = list(space.columns)
    check_names(list(frame.columns), columns, "the batch", table.unread if table else ())
    ordered = frame.reindex(columns=columns) if len(columns) > frame.shape[1] else frame[columns]
    ordered = ordered.copy(deep=False)
    for at, kind in enumerate(ordered.dtypes):
        if kind.kind == "O" and (table is None or table.columns[at].labels is None):
            ordered.isetitem(at, _of_a_file(ordered.iloc[:, at]).array)
    return ordered


def _of_a_file(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return numbers for a column of text, as a file has if a single word is in the column."""
    if pd.api.types.infer_dtype(column, skipna=True) != "string":
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    return column.astype(object).where(numbers.isna(), numbers)


def _as_numbers(frame: pd.DataFrame) -> FloatArray:
    """Return float64 (n_rows, n_columns): NaN for missing values, inf for what is not a number."""
    numbers = np.full(frame.shape, np.inf)
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        absent = column.isna().to_numpy()
        if column.dtype == object:
            try:
                texts = np.array([isinstance(value, str | bytes) for value in column], dtype=bool)
                column = pd.to_numeric(column.mask(texts, np.inf), errors="coerce")
            except OverflowError:  # a whole number beyond float64: rows are read one by one
                continue
        if pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind in "iufb":
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            numbers[:, place] = np.where(np.isnan(values) & ~absent, np.inf, values)
    return numbers


def _by_table(frame: pd.DataFrame, table: Table) -> FloatArray:
    """Return float64 (n_rows, n_columns), inf in columns that hold an invalid value somewhere."""
    numbers = np.full(frame.shape, np.inf)
    for place, column in enumerate(table.columns):
        with contextlib.suppress(InputError):  # rows are read one by one, for their errors
            numbers[:, place] = column.numbers(frame.iloc[:, place], "")
    return numbers


def _are_rows(numbers: FloatArray, space: FeatureSpace, dtype: np.dtype[Any]) -> BoolArray:
    """Return which rows :func:`read_row` accepts, bool (n_rows,)."""
    with np.errstate(invalid="ignore"):
        fits = np.abs(numbers) <= float(np.finfo(dtype).max)
    for feature in space.features:
        if feature.missing:
            fits[:, feature.columns] |= np.isnan(numbers[:, feature.columns])
    good: BoolArray = np.all(fits, axis=1)
    for feature in space.features:
        values = numbers[:, feature.columns]
        if feature.coded:
            continue
        if feature.kind == "categorical":
            good &= ((values == 0) | (values == 1)).all(axis=1) & (values.sum(axis=1) <= 1)
        elif not (feature.allow_off_levels or feature.kind == "numeric"):
            allowed: BoolArray = (
                np.isin(values, feature.values) if feature.values else values == np.floor(values)
            )
            allowed |= np.isin(values, feature.codes) | (np.isnan(values) & feature.missing)
            good &= allowed[:, 0]
    return good


def _as_row(x: Any, space: FeatureSpace, table: Table | None) -> Row:
    columns = list(space.columns)
    users_row, kind = as_pandas(x)
    if isinstance(users_row, pd.DataFrame):
        if len(users_row) != 1:
            raise InputError(
                f"expected one row, got a frame of {len(users_row)} rows. Use explain_batch for "
                "several."
            )
        wide = range(users_row.shape[1])
        values = (
            [users_row.iloc[0, at] for at in wide] if table else users_row.to_numpy()[0].tolist()
        )
        row = users_row.copy() if kind == "pandas" else x
        return _by_name(row, list(users_row.columns), values, columns, table)
    if isinstance(users_row, Mapping):
        plain = None if table else _plain_row(users_row, columns)
        return plain or _by_name(
            dict(users_row), list(users_row), list(users_row.values()), columns, table
        )
    if isinstance(users_row, pd.Series):
        return _by_name(users_row.copy(), list(users_row.index), users_row.tolist(), columns, table)
    if isinstance(x, np.ma.MaskedArray):
        x = np.ma.filled(x.astype(np.float64), np.nan)
    try:
        array = as_array(x)
        if array.dtype.kind not in "iufb":  # numpy converts all entries to text if one is
            array = np.asarray(x, dtype=object)
    except ValueError as error:
        raise InputError("the query must be one flat row of numbers.") from error
    if array.ndim == 2 and array.shape[0] == 1:
        array = array[0]
    if array.ndim != 1:
        raise InputError(
            f"expected one row, got an array of shape {array.shape}. Use explain_batch for several."
        )
    if array.size != len(columns):
        raise InputError(
            f"the query has {array.size} columns, the model takes {len(columns)}. Use the columns "
            "of the model."
        )
    position = np.arange(array.size)
    numbers = _numbers(array, columns, position, table)
    return in_labels(Row(numbers, Origin(array.copy(), numbers, position), table), array)


def _by_name(
    row: Any, names: list[Any], entries: list[Any], columns: list[str], table: Table | None
) -> Row:
    """Return a row whose entries have names."""
    texts = [feature_name(name) for name in names]
    if len(set(texts)) != len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise InputError(f"the query has two columns named {twice!r}. Rename one.")
    check_names(texts, columns, "the query", table.unread if table else ())
    position = np.array([columns.index(name) for name in texts])
    values = np.full(len(columns), np.nan)
    values[position] = _numbers(entries, texts, position, table)
    return in_labels(Row(values, Origin(row, values, position), table), entries)


def in_labels(row: Row, entries: Any) -> Row:
    """Return a row whose categories are the training frame's, however the user wrote them."""
    if row.table is None or row.origin is None:
        return row
    columns = [row.table.columns[at] for at in row.origin.position]
    new = row.table.new_in(row.values)[row.origin.position]  # in the user's order
    spelled = {
        at: row.value(row.origin.position[at])
        for at, (column, value) in enumerate(zip(columns, entries, strict=True))
        if column.respells(value) and not (is_missing(value) or new[at])
    }
    if not spelled:
        return row
    renamed = row_with(row.origin.row, spelled, row.dtypes())
    return replace(row, origin=replace(row.origin, row=renamed))


def _plain_row(x: Mapping[Any, Any], columns: list[str]) -> Row | None:
    """Return the row of a mapping from the model's columns to finite numbers, else None."""
    entries = dict(x)
    if entries.keys() != set(columns) or not set(map(type, entries.values())) <= {int, float}:
        return None
    try:
        numbers = np.array(list(entries.values()), dtype=np.float64)
    except OverflowError:
        return None
    if not np.isfinite(numbers).all():
        return None
    names = list(entries)
    if names == columns:
        return Row(numbers, Origin(entries, numbers, np.arange(numbers.size)))
    places = {name: place for place, name in enumerate(columns)}
    position = np.array([places[name] for name in names])
    values = np.empty(numbers.size)
    values[position] = numbers
    return Row(values, Origin(entries, values, position))


def _numbers(
    values: Any, names: list[str], position: np.ndarray[Any, Any], table: Table | None
) -> FloatArray:
    """Return a query's entries as numbers, NaN where one is missing."""
    if table is not None:
        columns = [table.columns[place] for place in position]
        pairs = zip(columns, values, strict=True)
        return np.array([column.number(value, "the query's") for column, value in pairs])
    result = np.empty(len(names))
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        if is_missing(value):
            result[i] = np.nan
            continue
        try:
            if isinstance(value, complex | np.complexfloating | str | bytes):
                raise TypeError
            result[i] = float(value)
        except OverflowError as error:
            raise InputError(
                f"the query's {name} is larger than any float64. Give it a smaller value.",
                "too-large",
                name=name,
            ) from error
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the query's {name} is {value!r}. Give it a finite number.",
                "no-number",
                name=name,
                value=str(value),
            ) from error
        if np.isinf(result[i]):
            raise InputError(f"the query's {name} is infinite. Give it a finite number.")
    return result
