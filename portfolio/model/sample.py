"""Training rows of an explainer that are saved with it, in the user's own form of frame."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray, IntArray, evenly
from encoders.core.errors import InputError
from encoders.query.features import FeatureSpace, is_missing
from encoders.query.names import feature_name
from encoders.readers.refusals import first_line
from portfolio.model.frames import FrameKind, as_kind, as_pandas, whole_table
from portfolio.model.table import Table
from portfolio.model.training_frame import has_no_rows, in_dtype, random_values

ROWS = 200  # evenly spread; a row for each category is added
SEED = 0
NAMES = str, int, float, bool  # types of column names that JSON keeps


def representative(rows: FloatArray, table: Table | None) -> IntArray:
    """Return positions of training rows with every category and the ends of all ranges, int64 (n,).

    The others are evenly spread.
    """
    chosen = [evenly(len(rows), ROWS)]
    for column in rows.T:  # one at a time, as copies of all rows may be large
        gaps = np.isnan(column)
        ends = np.where(gaps, np.inf, column).argmin(), np.where(gaps, -np.inf, column).argmax()
        chosen.append(np.array([gaps.argmax(), *ends]))
    backwards = np.arange(len(rows))[::-1]
    for at, column in enumerate(table.columns if table else ()):
        if column.labels is not None:
            first = np.zeros(len(column.labels) + 2, dtype=np.int64)
            codes = np.nan_to_num(rows[::-1, at], nan=len(column.labels) + 1).astype(np.int64)
            first[codes] = backwards  # the last assignment counts, which is the first row
            chosen.append(first)
    return np.unique(np.concatenate(chosen))


def rows_at(X_train: Any, positions: IntArray) -> Any:
    """Return some rows of training data of any form; data without rows as they are."""
    if has_no_rows(X_train):
        return X_train
    if isinstance(X_train, pd.DataFrame):
        return X_train.iloc[positions].reset_index(drop=True)
    if not hasattr(type(X_train), "columns"):
        return np.asarray(X_train)[positions]
    import narwhals as nw

    frame = nw.from_native(whole_table(nw.to_native(X_train, pass_through=True)), eager_only=True)
    return frame[positions.tolist()].to_native()


@dataclass(frozen=True, eq=False)
class Sample:
    """Training rows as a frame of pandas, and the form in which the explainer got them.

    Attributes
    ----------
    frame : the rows; columns of another library's types have the nearest types of pandas.
    kind : form of the rows.
    other : the rows as a frame of another library than pandas, or None.
    """

    frame: pd.DataFrame
    kind: FrameKind | Literal["array"]
    other: Any = None

    @classmethod
    def of(cls, rows: Any) -> "Sample | None":
        """Return the sample of rows in any form; None without rows."""
        if rows is None:
            return None
        frame, kind = as_pandas(rows)
        if kind != "pandas":
            return cls(frame, kind, whole_table(rows))
        if isinstance(frame, pd.DataFrame):
            return cls(frame, "pandas")
        return cls(pd.DataFrame(np.asarray(rows)), "array")

    def native(self) -> Any:
        """Return the rows in their own form."""
        if self.kind == "array":
            return self.frame.to_numpy()
        return self.frame if self.other is None else self.other


def without_rows(sample: Sample, space: FeatureSpace, table: Table | None) -> Sample:
    """Return a sample that copies no row of the training data.

    Categories and text are shuffled within their column. All other values are random ones within
    the bounds of their feature.
    """
    rng = np.random.default_rng(SEED)
    frame, random = sample.frame, random_values(space, rng)
    names = [feature_name(name) for name in frame.columns]
    columns: dict[int, Any] = {}
    for at, name in enumerate(space.columns):
        place = at if sample.kind == "array" else names.index(name)
        column = frame.iloc[:, place]
        numeric = pd.api.types.is_numeric_dtype(column.dtype)
        if numeric and (table is None or table.columns[at].labels is None):
            values = np.resize(random[name], len(column))
        else:
            values = column.to_numpy()[rng.permutation(len(column))]
        columns[place] = in_dtype(values, column.dtype)
    rows = pd.DataFrame({at: columns[at] for at in sorted(columns)}).set_axis(frame.columns, axis=1)
    if sample.kind == "array" or sample.other is None:
        return replace(sample, frame=rows)
    return replace(sample, frame=rows, other=as_kind(rows, sample.kind, sample.other))


def write_sample(sample: Sample, path: Path) -> dict[str, Any]:
    """Write the rows to an Arrow file, and return for JSON what such a file does not keep.

    Other than a Parquet file, it keeps categories that are numbers or that no row has.
    """
    import pyarrow as pa

    names = list(sample.frame.columns)
    for name in names:
        if type(name) not in NAMES:
            raise InputError(
                f"the column name {name!r} is neither text nor a number. Rename the column to save "
                "the explainer."
            )
    try:
        if sample.other is None:
            numbered = sample.frame.set_axis(list(map(str, range(len(names)))), axis=1)
            table = pa.Table.from_pandas(numbered, preserve_index=False)
        else:
            import narwhals as nw

            table = nw.from_native(sample.other, eager_only=True).to_arrow()
        table = table.unify_dictionaries()
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"the training rows cannot be saved ({first_line(error)}). Give every column values of "
            "one type."
        ) from error
    objects = {
        str(at): _blank(sample.frame.iloc[:, at])
        for at, dtype in enumerate(sample.frame.dtypes)
        if sample.other is None and isinstance(dtype, np.dtype) and dtype.kind == "O"
    }
    return {"kind": sample.kind, "names": names, "objects": objects}


def read_sample(path: Path, form: Mapping[str, Any]) -> Sample:
    """Return the rows that :func:`write_sample` wrote, with what it returned."""
    import pyarrow as pa

    table, kind = pa.ipc.open_file(path.read_bytes()).read_all(), form["kind"]
    table.validate(full=True)  # a wrong offset would crash the process
    if kind == "pyarrow":
        return Sample(as_pandas(table)[0], kind, table)
    if kind == "polars":
        import polars

        other = polars.from_arrow(table)
        return Sample(as_pandas(other)[0], kind, other)
    frame = table.to_pandas()
    for at, blank in form["objects"].items():
        column = frame[at].astype(object)
        missing = {"nan": np.nan, "NA": pd.NA}.get(blank)
        frame[at] = pd.Series(
            [missing if is_missing(value) else value for value in column], dtype=object
        )
    return Sample(frame.set_axis(pd.Index(form["names"]), axis=1), kind)


def _blank(column: "pd.Series[Any]") -> str:
    """Return the name of the object that marks the first missing value of a column."""
    first = next((value for value in column if is_missing(value)), None)
    return "None" if first is None else "NA" if first is pd.NA else "nan"
