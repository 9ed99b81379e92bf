"""Rows as users give them <-> float64 arrays in the model's column order."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from encoders.arrays import BoolArray, FloatArray
from encoders.errors import InputError
from encoders.query.features import FeatureSpace, is_missing
from portfolio.model.frames import Shape, as_pandas, in_type
from portfolio.model.table import Table
from portfolio.model.training_frame import check_names, named


@dataclass(frozen=True, eq=False)
class Row:
    """One row: its values in the model's order, and how to give it back as the user does.

    Attributes
    ----------
    values : float64 (n_columns,)
    index : names of a Series, a frame or a mapping, None for an array
    position : for each entry of the user's row, the model's column
    dtype : of the user's array, object where that holds more than numbers, or of a Series; None if
        there was none
    table : the user's columns, where not all of them hold numbers
    shape : of a frame of one row
    """

    values: FloatArray
    index: "pd.Index[Any] | list[str] | None"
    name: Any
    position: np.ndarray[Any, Any]
    dtype: Any
    table: Table | None = None
    shape: Shape | None = None

    @staticmethod
    def of_values(values: FloatArray) -> "Row":
        """A row that was read before; it is given back as an array.

        Parameters
        ----------
        values : float64 (n_columns,)
        """
        return Row(values, None, None, np.arange(values.size), values.dtype)

    def holding(self, values: FloatArray) -> "Row":
        """Other values, to be given back in the same shape.

        Parameters
        ----------
        values : float64 (n_columns,)
        """
        return replace(self, values=values)

    def given(self) -> Any:
        """A fresh row in the user's shape, of his types where they hold the values."""
        if self.table is not None or self.shape is not None:
            return self._as_users()
        ordered = self._numbers()
        if self.index is None:
            return ordered
        return pd.Series(ordered, index=self.index, name=self.name)

    def named(self) -> Any:
        """What :meth:`given` has, as a mapping where it is names and numbers: without a Series."""
        if self.index is None or self.table is not None or self.shape is not None:
            return self.given()
        return dict(zip(map(str, self.index), self._numbers().tolist(), strict=True))

    def _numbers(self) -> Any:
        ordered = self.values[self.position]
        same = self.dtype is None or self.dtype == ordered.dtype
        return ordered if same else in_type(ordered, self.dtype)

    def _as_users(self) -> Any:
        """With the user's categories and dtypes: an array, a Series, or a frame."""
        values = self.values[None, :]
        frame = pd.DataFrame(values) if self.table is None else self.table.frame(values)
        frame = frame.iloc[:, self.position]
        if self.index is None:
            held = frame.to_numpy(dtype=object)[0]
            with contextlib.suppress(TypeError, ValueError):  # text, or a missing category
                return held if self.dtype == object else in_type(held.astype(float), self.dtype)
            return held
        frame = frame.set_axis(self.index, axis=1)
        if self.shape is None:
            return frame.set_axis([self.name], axis=0).iloc[0]
        return self.shape.given(frame, typed=self.table is not None)


def read_row(x: Any, space: FeatureSpace, dtype: np.dtype[Any], table: Table | None = None) -> Row:
    """Check a query against the model's columns and the features.

    Parameters
    ----------
    x : as :meth:`portfolio.explainer.Explainer.explain` takes it
    space : the features
    dtype : that the model reads
    table : the user's columns, where not all of them hold numbers

    Raises
    ------
    InputError
        Wrong number or names of columns, text, inf, a missing value that the model can't take, a
        value beyond the model's input type, a row that is not one-hot where it should be, a value
        that is no level.
    """
    row = _as_row(x, space, table)
    beyond = np.flatnonzero(np.abs(row.values) > float(np.finfo(dtype).max))
    if beyond.size:
        raise InputError(
            f"the query's {space.columns[beyond[0]]} is {row.values[beyond[0]]:g}, "
            f"too large for the model, which reads {dtype.name}."
        )
    missing = np.isnan(row.values).any()
    for feature in space.features:
        if not missing and (feature.coded or feature.kind == "numeric"):
            continue
        own = row.values[list(feature.columns)]
        if missing and np.isnan(own).any():
            if not feature.missing:
                raise InputError(_not_missing(feature.name, space.columns, own, feature.columns))
            continue
        if feature.coded:
            continue
        if feature.kind == "categorical":
            if not np.isin(own, (0, 1)).all() or own.sum() > 1:
                raise InputError(
                    f"the query's columns of {feature.name} hold {[float(v) for v in own]}; give "
                    "them at most one 1 and else 0, or describe each of them under features as "
                    "'binary'."
                )
            continue
        if feature.allow_off_levels or feature.kind == "numeric":
            continue
        on_level = own[0] in feature.values if feature.values else float(own[0]).is_integer()
        if not on_level:
            raise InputError(
                f"the query's {feature.name} is {own[0]:g}, which is not one of its values "
                f"({feature.describe_values()}); set 'allow_off_levels' for this feature "
                "if that is meant."
            )
    return row


def _not_missing(
    name: str, names: tuple[str, ...], own: FloatArray, columns: tuple[int, ...]
) -> str:
    column = names[columns[int(np.flatnonzero(np.isnan(own))[0])]]
    return (
        f"the query's {column} is missing (NaN); give it a value. If the model was trained "
        f"with values missing there, say so: features={{{name!r}: {{'missing': True}}}}."
    )


def read_rows(
    X: Any, space: FeatureSpace, dtype: np.dtype[Any], table: Table | None = None
) -> tuple["pd.Index[Any]", tuple[str, ...], list[FloatArray | str]]:
    """Index, the model's columns, and each row's values in their order, or what is wrong with it.

    Parameters
    ----------
    X : DataFrame or array (n_rows, n_columns)
    space : the features
    dtype : that the model reads
    table : the user's columns, where not all of them hold numbers

    Raises
    ------
    InputError
        The columns are not the model's.
    """
    X, _ = as_pandas(X)
    if not isinstance(X, pd.DataFrame):
        array = np.asarray(X)
        if array.ndim != 2:
            raise InputError(f"a batch must be a table of rows and columns, got {array.ndim}-d.")
        if array.shape[1] != len(space.columns):
            raise InputError(
                f"the batch has {array.shape[1]} columns, the model takes {len(space.columns)}."
            )
        X = pd.DataFrame(array, columns=list(space.columns))
    frame = named(X)
    if frame.columns.has_duplicates:
        raise InputError("the batch names a column twice.")
    check_names(list(frame.columns), list(space.columns), "the batch")
    ordered = frame[list(space.columns)]
    ordered = ordered.copy(deep=False)
    for at, kind in enumerate(ordered.dtypes):
        if kind.kind == "O" and (table is None or table.columns[at].labels is None):
            ordered.isetitem(at, _of_a_file(ordered.iloc[:, at]).array)
    numbers = _as_numbers(ordered) if table is None else _by_table(ordered, table)
    good = _are_rows(numbers, space, dtype)
    rows: list[FloatArray | str] = list(numbers)
    for place in np.flatnonzero(~good):  # one by one: to say what is wrong, or that nothing is
        try:
            given = np.array(ordered.iloc[place].tolist(), dtype=object)
            rows[place] = read_row(given, space, dtype, table).values
        except InputError as error:
            rows[place] = str(error)
    return X.index, space.columns, rows


def _of_a_file(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Numbers where a column holds text alone, as files are read that have one word in it."""
    if pd.api.types.infer_dtype(column, skipna=True) != "string":
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    return column.astype(object).where(numbers.isna(), numbers)


def _as_numbers(frame: pd.DataFrame) -> FloatArray:
    """float64 (n_rows, n_columns), NaN for what is missing and inf for what is no number."""
    numbers = np.full(frame.shape, np.inf)
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        absent = column.isna().to_numpy()
        if column.dtype == object:
            try:
                texts = np.array([isinstance(value, str | bytes) for value in column], dtype=bool)
                column = pd.to_numeric(column.mask(texts, np.inf), errors="coerce")
            except OverflowError:  # a whole number beyond float64: each row is looked at
                continue
        if pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind in "iufb":
            found = column.to_numpy(dtype=np.float64, na_value=np.nan)
            numbers[:, place] = np.where(np.isnan(found) & ~absent, np.inf, found)
    return numbers


def _by_table(frame: pd.DataFrame, table: Table) -> FloatArray:
    """float64 (n_rows, n_columns), inf in columns that hold something else somewhere."""
    numbers = np.full(frame.shape, np.inf)
    for place, column in enumerate(table.columns):
        with contextlib.suppress(InputError):  # each row is looked at, and told of
            numbers[:, place] = column.numbers(frame.iloc[:, place], "")
    return numbers


def _are_rows(numbers: FloatArray, space: FeatureSpace, dtype: np.dtype[Any]) -> BoolArray:
    """Which rows :func:`read_row` takes, bool (n_rows,)."""
    with np.errstate(invalid="ignore"):
        fits = np.abs(numbers) <= float(np.finfo(dtype).max)
    for feature in space.features:
        if feature.missing:
            fits[:, feature.columns] |= np.isnan(numbers[:, feature.columns])
    good: BoolArray = np.all(fits, axis=1)
    for feature in space.features:
        own = numbers[:, feature.columns]
        if feature.coded:
            continue
        if feature.kind == "categorical":
            good &= ((own == 0) | (own == 1)).all(axis=1) & (own.sum(axis=1) <= 1)
        elif not (feature.allow_off_levels or feature.kind == "numeric"):
            known: BoolArray = (
                np.isin(own, feature.values) if feature.values else own == np.floor(own)
            )
            good &= (known | (np.isnan(own) & feature.missing))[:, 0]
    return good


def _as_row(x: Any, space: FeatureSpace, table: Table | None) -> Row:
    columns = list(space.columns)
    identity = np.arange(len(columns))
    like = x
    x, kind = as_pandas(x)
    if isinstance(x, pd.DataFrame):
        if len(x) != 1:
            raise InputError(f"explain takes one row, got a frame of {len(x)} rows.")
        held = [x.iloc[0, at] for at in range(x.shape[1])] if table else x.to_numpy()[0]
        series = pd.Series(held, index=x.columns, name=x.index[0], dtype=object if table else None)
        shape = Shape(x.index, tuple(x.dtypes), kind, None if kind == "pandas" else like)
        return replace(_as_row(series, space, table), shape=shape)
    if isinstance(x, Mapping):
        plain = None if table else _plain_row(x, columns)
        if plain is not None:
            return plain
        x = pd.Series(dict(x), dtype=object if table else None)
    if isinstance(x, pd.Series):
        names = [str(name) for name in x.index]
        if len(set(names)) != len(names):
            raise InputError("the query names a column twice.")
        check_names(names, columns, "the query")
        position = np.array([columns.index(name) for name in names])
        values = np.empty(len(columns))
        values[position] = _numbers(x.tolist() if table else x.to_numpy(), names, position, table)
        return Row(values, x.index, x.name, position, x.dtype, table)
    if isinstance(x, np.ma.MaskedArray):
        x = np.ma.filled(x.astype(np.float64), np.nan)
    try:
        array = np.asarray(x)
        dtype = array.dtype if array.dtype.kind in "iufb" else np.dtype(object)
        if table or array.dtype.kind in "US":  # one text among numbers makes text of all
            array = np.asarray(x, dtype=object)
    except ValueError as error:
        raise InputError("the query must be one flat row of numbers.") from error
    if array.ndim == 2 and array.shape[0] == 1:
        array = array[0]
    if array.ndim != 1:
        raise InputError(f"explain takes one row, got an array of shape {array.shape}.")
    if array.size != len(columns):
        raise InputError(f"the query has {array.size} columns, the model takes {len(columns)}.")
    numbers = _numbers(array, columns, identity, table)
    return Row(numbers, None, None, identity, dtype, table)


def _plain_row(x: Mapping[Any, Any], columns: list[str]) -> Row | None:
    """A mapping from the model's columns to plain finite numbers, which needs no Series.

    None for all else, whose way is longer, and has words for what is wrong.
    """
    if x.keys() != set(columns) or not set(map(type, x.values())) <= {int, float}:
        return None
    names = list(x)
    try:
        held = np.array(list(x.values()))
    except OverflowError:
        return None
    if held.dtype not in (np.int64, np.float64) or not np.isfinite(held).all():
        return None
    if names == columns:
        return Row(held.astype(np.float64), names, None, np.arange(len(names)), held.dtype)
    places = {name: place for place, name in enumerate(columns)}
    position = np.array([places[name] for name in names])
    values = np.empty(len(names))
    values[position] = held
    return Row(values, names, None, position, held.dtype)


def _numbers(
    values: Any, names: list[str], position: np.ndarray[Any, Any], table: Table | None
) -> FloatArray:
    """What a query's entries mean; NaN where one is missing."""
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
            raise InputError(f"the query's {name} is larger than any float64.") from error
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the query's {name} is {value!r}; the model needs a finite number there."
            ) from error
        if np.isinf(result[i]):
            raise InputError(f"the query's {name} is infinite; give it a finite value.")
    return result
