"""Rows of numbers, linked to the user's own rows that they were read from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.arrays import BoolArray, FloatArray, IntArray
from encoders.query.features import is_missing, same
from encoders.query.names import feature_name
from portfolio.model.frames import FrameKind, as_kind, as_pandas, whole_table
from portfolio.model.table import Table

EXACT = 2**53  # beyond, float64 does not hold every whole number
LARGEST = 2**1023
NULLABLE = {"b": "boolean", "i": "Int", "u": "UInt"}  # pandas dtypes by kind of NumPy dtype


def row_with(row: Any, changes: Mapping[int, Any], dtypes: Mapping[int, Any]) -> Any:
    """Return a copy of a row with some of its entries replaced."""
    if isinstance(row, pd.DataFrame):
        frame = row.copy()
        for at, value in changes.items():
            column: Any = _in_column(value, row.iloc[:, at], dtypes.get(at))
            frame.isetitem(
                at, column.set_axis(frame.index)
            )  # a plain array of text would become str
        return frame
    if isinstance(row, Mapping):
        changed, names = dict(row), list(row) if changes else []
        for at, value in changes.items():
            changed[names[at]] = like_value(value, row[names[at]])
        return changed
    if isinstance(row, pd.Series):
        return _series_with(row, changes)
    if isinstance(row, np.ndarray):
        return _array_with(row, changes)
    return _native_with(row, changes, dtypes)


def like_value(value: Any, original: Any) -> Any:
    """Return a value in the Python type of the one that it replaces, where that type holds it."""
    if not isinstance(value, float) or is_missing(value):
        return value
    if isinstance(original, bool | np.bool_) and value in (0.0, 1.0):
        return bool(value)
    if (
        isinstance(original, int | np.integer)
        and not isinstance(original, bool)
        and value.is_integer()
    ):
        return int(value)
    return Decimal(repr(value)) if isinstance(original, Decimal) else value


def as_array(values: Any) -> "np.ndarray[Any, Any]":
    """Return a sequence as an array; one of objects where float64 would change whole numbers."""
    array = np.asarray(values)
    if array.dtype.kind == "f" and isinstance(values, list | tuple):
        flat = values[0] if array.ndim == 2 and len(values) == 1 else values
        if any(map(_is_long, flat)):
            return np.asarray(values, dtype=object)
    return array


def column_with(
    original: "pd.Series[Any]", moved: BoolArray, new: Any, answered: BoolArray
) -> "pd.Series[Any]":
    """Return a column with some of its values replaced, and others missing."""
    column = original.reset_index(drop=True)
    if moved.any():
        column = _widened(column, pd.Series(new).reset_index(drop=True), ~moved)
        new_values = (
            pd.Series(new).astype(column.dtype) if column.dtype != object else pd.Series(new)
        )
        values = column.array.copy()
        if column.dtype == object:
            values[moved] = _objects(
                [like_value(*pair) for pair in zip(new_values, original[moved], strict=True)]
            )
        else:
            values[moved] = new_values.array
        column = pd.Series(values, dtype=column.dtype)
    return column if answered.all() else _emptied(column, ~answered)


def frame_with(
    original: pd.DataFrame,
    moved: BoolArray,
    after: FloatArray,
    answered: BoolArray,
    new: Callable[[int, FloatArray], Any],
) -> pd.DataFrame:
    """Return the rows of a batch with the values of their answers; others stay as they are."""
    columns = {}
    for at in range(original.shape[1]):
        changed = new(at, after[moved[:, at], at]) if moved[:, at].any() else None
        columns[at] = column_with(original.iloc[:, at], moved[:, at], changed, answered)
    return pd.DataFrame(columns, index=range(len(original))).set_axis(original.columns, axis=1)


def _is_long(value: Any) -> bool:
    """Return whether a value is a whole number that float64 does not hold."""
    whole = isinstance(value, int | np.integer) and abs(int(value)) > EXACT
    return whole and (abs(int(value)) >= LARGEST or int(value) != int(float(value)))


def _objects(values: list[Any]) -> "np.ndarray[Any, Any]":
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _emptied(column: "pd.Series[Any]", where: BoolArray) -> "pd.Series[Any]":
    """Return a column without some of its values; whole numbers and booleans become nullable."""
    dtype: Any = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in NULLABLE:
        bits = "" if dtype.kind == "b" else str(8 * dtype.itemsize)
        dtype = NULLABLE[dtype.kind] + bits
    emptied: pd.Series[Any] = column.astype(dtype).copy()
    emptied[where] = None
    return emptied


def _widened(
    column: "pd.Series[Any]", new: "pd.Series[Any]", unchanged: BoolArray
) -> "pd.Series[Any]":
    """Return a column in the first type that holds its values and new ones: its own, theirs, ..."""
    for dtype in (column.dtype, new.dtype, np.dtype(np.float64)):
        try:
            with np.errstate(all="ignore"):
                cast, wider = new.astype(dtype), column.astype(dtype)
                back = wider.astype(column.dtype)
        except (TypeError, ValueError, OverflowError):
            continue
        if (
            _equal(cast, new)
            and _equal(back[unchanged], column[unchanged])
            and _equal(wider[unchanged], column[unchanged])
        ):
            return wider
    return column.astype(object)


def _equal(first: "pd.Series[Any]", second: "pd.Series[Any]") -> bool:
    gone = first.isna().to_numpy()
    if not np.array_equal(gone, second.isna().to_numpy()):
        return False
    pairs = zip(first[~gone].tolist(), second[~gone].tolist(), strict=True)
    return all(bool(a == b) for a, b in pairs)


def _in_column(value: Any, original: "pd.Series[Any]", training_dtype: Any) -> "pd.Series[Any]":
    """Return one value as a column in the type of the one it replaces, or of the training frame."""
    if original.dtype == object:
        return pd.Series(_objects([like_value(value, original.iloc[0])]), dtype=object)
    for dtype in (original.dtype, training_dtype):
        if dtype is not None and _holds(dtype, value):
            return pd.Series([value]).astype(dtype)
    return pd.Series([value])


def _holds(dtype: Any, value: Any) -> bool:
    """Return whether a pandas type holds a value exactly."""
    try:
        with np.errstate(all="ignore"):
            cast = pd.Series([value]).astype(dtype).iloc[0]
        # NumPy compares a float32 with a Python float after rounding that one to float32.
        cast = cast.item() if isinstance(cast, np.generic) else cast
        return is_missing(value) if is_missing(cast) else bool(cast == value)
    except (TypeError, ValueError, OverflowError):
        return False


def _array_with(original: "np.ndarray[Any, Any]", changes: Mapping[int, Any]) -> Any:
    array = original if original.dtype == object else _wide_enough(original, list(changes.values()))
    array = array.copy()
    for at, value in changes.items():
        array[at] = like_value(value, original[at]) if array.dtype == object else value
    return array


def _wide_enough(original: "np.ndarray[Any, Any]", values: list[Any]) -> "np.ndarray[Any, Any]":
    """Return an array in the first type that holds its numbers and new values."""
    for dtype in (original.dtype, np.dtype(np.float64)):
        with np.errstate(all="ignore"):
            wide = original.astype(dtype)
            exact = np.array_equal(
                wide.astype(original.dtype), original, equal_nan=original.dtype.kind == "f"
            )
        if exact and all(_holds(dtype, value) for value in values):
            return wide
    return original.astype(object)


def _series_with(original: "pd.Series[Any]", changes: Mapping[int, Any]) -> "pd.Series[Any]":
    if not changes:
        return original.copy()
    dtype: Any = original.dtype
    changed: pd.Series[Any]
    if isinstance(dtype, np.dtype) and dtype.kind in "iufbO":
        values: Any = _array_with(original.to_numpy(), changes)
        return pd.Series(values, index=original.index, name=original.name)
    if all(_holds(dtype, value) for value in changes.values()):
        changed = original.copy()
        changed.iloc[list(changes)] = pd.Series(list(changes.values())).astype(dtype).array
        return changed
    entries = _objects(original.tolist())
    for at, value in changes.items():
        entries[at] = like_value(value, entries[at])
    series = series_of(dict(enumerate(entries)))
    series.index, series.name = original.index, original.name
    return series


def series_of(row: dict[Any, Any]) -> "pd.Series[Any]":
    """Return a mapping as a Series; one of objects where float64 would change whole numbers."""
    series = pd.Series(row)
    if series.dtype.kind == "f":
        return pd.Series(row, dtype=object) if any(map(_is_long, row.values())) else series
    return series


def _native_with(original: Any, changes: Mapping[int, Any], dtypes: Mapping[int, Any]) -> Any:
    """Return a frame of polars or pyarrow with some values replaced."""
    import narwhals as nw

    frame = nw.from_native(whole_table(original), eager_only=True)
    kind: FrameKind = "polars" if frame.implementation.is_polars() else "pyarrow"
    if not changes:
        return frame.to_native()
    columns = {
        frame.columns[at]: pd.Series([value]).astype(dtypes[at])
        if at in dtypes and _holds(dtypes[at], value)
        else pd.Series([value])
        for at, value in changes.items()
    }
    new = nw.from_native(as_kind(pd.DataFrame(columns), kind, frame.select(*columns).to_native()))
    return frame.with_columns(*new.iter_columns()).to_native()


@dataclass(frozen=True, eq=False)
class Row:
    """Row in the model's column order, and the user's own row that it was read from.

    Attributes
    ----------
    values : float64 (n_columns,).
    origin : the user's row; None for a row of numbers, which is returned as an array.
    table : the user's columns if not all of them hold numbers, else None.
    """

    values: FloatArray
    origin: "Origin | None" = None
    table: Table | None = None

    def holding(self, values: FloatArray) -> "Row":
        """Return a row of other values in the same form."""
        return replace(self, values=values)

    def given(self) -> Any:
        """Return a fresh row in the user's form; unchanged values are the user's own."""
        row = self._renewed()
        return series_of(row) if isinstance(row, dict) else row

    def named(self) -> Any:
        """Return :meth:`given`, as a mapping where the user's row is a mapping or a Series."""
        row = self._renewed()
        if isinstance(row, dict | pd.Series):
            return {feature_name(name): value for name, value in row.items()}
        return row

    def own_names(self) -> dict[str, Any]:
        """Return the user's own names of the columns by their text; empty for an array."""
        row = None if self.origin is None else as_pandas(self.origin.row)[0]
        names = row.keys() if isinstance(row, Mapping | pd.Series | pd.DataFrame) else ()
        return {feature_name(name): name for name in names}

    def _renewed(self) -> Any:
        if self.origin is None:
            return self.values.copy()
        return row_with(self.origin.row, self._changes(), self.dtypes())

    def beyond(self) -> tuple[Any, ...]:
        """Return the user's values that :attr:`values` do not determine, such as long numbers."""
        if self.origin is None or not isinstance(self.origin.row, Mapping):
            return ()
        pairs = zip(self.origin.position, self.origin.row.values(), strict=True)
        return tuple(
            (int(column), str(value))
            for column, value in pairs
            if isinstance(value, int | Decimal) and value != self.origin.values[column]
        )

    def _changes(self) -> dict[int, Any]:
        """Return the new values by their position in the user's row."""
        assert self.origin is not None
        position = self.origin.position
        moved = ~same(self.origin.values, self.values)[position]
        return {at: self.value(position[at]) for at in np.flatnonzero(moved).tolist()}

    def value(self, column: int) -> Any:
        """Return the user's value in a column of the model."""
        value = self.values[column : column + 1]
        if self.table is None:
            return float(value[0])
        users_value = pd.Series(self.table.columns[column].values(value)).iloc[0]
        return users_value.item() if isinstance(users_value, np.number | np.bool_) else users_value

    def dtypes(self) -> dict[int, Any]:
        """Return types of the training frame by position in the user's row."""
        if self.table is None or self.origin is None:
            return {}
        columns = self.table.columns
        return {at: columns[column].dtype for at, column in enumerate(self.origin.position)}


@dataclass(frozen=True, eq=False)
class Origin:
    """Row as its user passed it."""

    row: Any  # array, Series, mapping, or frame of one row
    values: FloatArray  # float64 (n_columns,), the row in the model's order
    position: IntArray  # int64 (n_entries,), the model's column of each entry
