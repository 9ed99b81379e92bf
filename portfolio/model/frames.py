"""Conversion between pandas, which is used internally, and the user's frame library."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError

FrameKind = Literal["pandas", "polars", "pyarrow"]


def as_pandas(table: Any) -> tuple[Any, FrameKind]:
    """Return a frame of any library in pandas, and its library; any other object as it is."""
    if isinstance(table, pd.DataFrame | pd.Series):
        return table, "pandas"
    if not hasattr(type(table), "columns"):  # not a frame of any library
        return table, "pandas"
    import narwhals as nw

    if isinstance(table, nw.DataFrame | nw.LazyFrame):
        table = table.to_native()
    try:
        frame = nw.from_native(whole_table(table), pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError("the frame has two columns of the same name. Rename one.") from error
    if isinstance(frame, nw.LazyFrame):
        raise InputError("the frame is lazy. Call collect() first.")
    if not isinstance(frame, nw.DataFrame):
        return table, "pandas"
    kind: FrameKind = "pandas"
    if frame.implementation.is_polars():
        kind = "polars"
    elif frame.implementation.is_pyarrow():
        kind = "pyarrow"
    return _with_none(frame.to_pandas()), kind


@dataclass(frozen=True, eq=False)
class FrameForm:
    """Library and column types of the frames that a model was fitted on."""

    kind: FrameKind = "pandas"
    like: Any = None  # frame of that library without rows; None for pandas

    def of(self, frame: pd.DataFrame) -> Any:
        """Return a frame in this form; numbers with fractions stay float64."""
        return frame if self.like is None else as_kind(frame, self.kind, self.like)


PANDAS = FrameForm()


def form_of(table: Any) -> FrameForm:
    """Return the form of a frame; that of pandas for any other object."""
    if isinstance(table, pd.DataFrame) or not hasattr(type(table), "columns"):
        return PANDAS
    import narwhals as nw

    frame = nw.from_native(whole_table(table), pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return PANDAS
    exact = [name for name, dtype in frame.schema.items() if not dtype.is_float()]
    like = frame.head(0).select(*exact).to_native()
    kind = as_pandas(like)[1]
    return PANDAS if kind == "pandas" else FrameForm(kind, like)


def whole_table(table: Any) -> Any:
    """Return a pyarrow table without views, also of a batch; any other object as it is."""
    import narwhals as nw

    pyarrow = nw.dependencies.get_pyarrow()
    if pyarrow is None or not isinstance(table, pyarrow.RecordBatch | pyarrow.Table):
        return table
    if isinstance(table, pyarrow.RecordBatch):  # whose column names narwhals does not keep
        table = pyarrow.Table.from_batches([table])
    # pyarrow cannot select rows of views, and pandas has no type for them.
    fields = [field.with_type(_without_views(field.type, pyarrow)) for field in table.schema]
    schema = pyarrow.schema(fields, table.schema.metadata)
    return table if schema == table.schema else table.cast(schema)


def _without_views(kind: Any, pyarrow: Any) -> Any:
    """Return a type of pyarrow, with large text in place of views."""
    if pyarrow.types.is_dictionary(kind):
        values = _without_views(kind.value_type, pyarrow)
        return pyarrow.dictionary(kind.index_type, values, kind.ordered)
    return {"string_view": pyarrow.large_string(), "binary_view": pyarrow.large_binary()}.get(
        str(kind), kind
    )


def _with_none(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with None for missing text, as encoders of such frames were fitted."""
    text = [n for n in frame.columns if pd.api.types.is_string_dtype(frame[n].dtype)]
    for name in text:
        if frame[name].isna().any():
            values = [None if value is pd.NA or value != value else value for value in frame[name]]
            frame[name] = pd.Series(values, index=frame.index, dtype=object)
    return frame


def exact_pandas(table: Any) -> Any:
    """Return a frame as :func:`as_pandas` does, in types that hold all of its values exactly."""
    frame, kind = as_pandas(table)
    if kind == "pandas":
        return frame
    import narwhals as nw

    native = nw.from_native(whole_table(nw.to_native(table, pass_through=True)), eager_only=True)
    return native.to_arrow().to_pandas(types_mapper=pd.ArrowDtype)


def as_kind(frame: pd.DataFrame, kind: FrameKind, like: Any = None) -> Any:
    """Return the same frame in another library."""
    if kind == "pandas":
        return frame
    import narwhals as nw

    whole = nw.from_native(frame.reset_index(drop=True), eager_only=True)
    native = whole.to_polars() if kind == "polars" else whole.to_arrow()
    if like is None:
        return native
    converted, schema = (
        nw.from_native(native, eager_only=True),
        nw.from_native(whole_table(like)).schema,
    )
    return converted.with_columns(
        *(
            _of_type(converted[name], kind)
            for name, kind in schema.items()
            if converted[name].dtype != kind
        )
    ).to_native()


def in_type(numbers: FloatArray, dtype: Any) -> Any:
    """Return numbers in another numeric type if it holds them exactly, else as they are."""
    if not pd.api.types.is_numeric_dtype(dtype) or dtype.kind == "c":
        return numbers
    try:
        if isinstance(dtype, np.dtype):
            with np.errstate(all="ignore"):
                cast: Any = numbers.astype(dtype)
            back = cast.astype(np.float64)
        else:
            cast = pd.Series(numbers).astype(dtype)
            back = cast.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return numbers
    return cast if np.array_equal(back, numbers, equal_nan=True) else numbers


def _of_type(column: Any, dtype: Any) -> Any:
    """Return a column in another type, or as it is if that type does not hold its values."""
    try:
        cast = column.cast(dtype)
        same = cast.cast(column.dtype)
    except Exception:  # libraries raise different errors
        return column
    exact = (same.is_null() == column.is_null()).all() and (same == column).drop_nulls().all()
    return cast if exact else column
