"""The rows of a job, read within limits from the uploaded file."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd
import pyarrow
import pyarrow.parquet

from encoders.core.errors import InputError
from encoders.query.features import FeatureSpace
from portfolio.data.datasets import open_table
from portfolio.data.plain_tables import named_as

if TYPE_CHECKING:  # the child that reads files does not need models
    from portfolio.service.catalogue import Model

INDEX = "__index_level_"  # of columns in which pandas stores an index without a name
MOST_BYTES = 2**28  # of the columns that are read, uncompressed
Read = tuple[pd.DataFrame, "pd.Series[Any] | None"]


@dataclass(frozen=True, eq=False)
class RowsFile:
    """A file with rows, and the columns to read from it.

    Attributes
    ----------
    path : Path, ending in .csv, .parquet, or .json for a list of rows.
    columns : tuple of str, columns of the model, which the file must have.
    beside : str or None, another column to read if the file has it.
    text : tuple of str, columns of a CSV file that contain text, even if it looks like numbers.
    categories : mapping from column to set of str, texts that do not mean a missing value.
    most_rows : int, maximum number of rows.
    """

    path: Path
    columns: tuple[str, ...]
    beside: str | None
    text: tuple[str, ...]
    categories: Mapping[str, set[str]]
    most_rows: int
    content: bytes = b""  # not used: the child reads the file itself

    @classmethod
    def of(cls, path: Path, model: "Model", most_rows: int, by: Any = None) -> Self:
        """Return the file with the columns that a model needs."""
        space = model.explainer.features
        beside = by if isinstance(by, str) and space.named(by) is None else None
        text = tuple(name for name, value in model.example.items() if isinstance(value, str))
        return cls(path, tuple(space.columns), beside, text, _categories(space), most_rows)

    def read(self) -> Read:
        """Return (the model's columns, the other column or None)."""
        try:
            frame = self._frame()
        except InputError as error:  # clients must not see folders of the server
            words = str(error).replace(str(self.path), self.path.name)
            raise InputError(words, error.code, **error.arguments) from error
        self._check(frame)
        beside = None if self.beside not in frame.columns else frame[self.beside]
        return frame[list(self.columns)], beside

    def other_columns(self) -> list[str]:
        """Return the names of the columns that the model does not have."""
        if self.path.suffix == ".parquet":
            names = pyarrow.parquet.read_schema(self.path).names
        elif self.path.suffix == ".csv":
            with self.path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
                names = next(csv.reader(file), [])
        else:
            names = list(json.loads(self.path.read_bytes())[0])
        model_columns = {column.strip() for column in self.columns}
        return [
            name
            for name in names
            if name.strip() not in model_columns and not name.startswith(INDEX)
        ]

    def _frame(self) -> pd.DataFrame:
        if self.path.suffix == ".parquet":
            return self._parquet()
        if self.path.suffix == ".csv":
            frame = named_as(
                open_table(self.path, self.text, self.categories), [*self.columns, self.beside]
            )
            self._check_names(list(frame.columns))
            return frame
        rows = json.loads(self.path.read_bytes())
        self._check_count(len(rows))
        names = [name for name in (*self.columns, self.beside) if name in rows[0]]
        return pd.DataFrame({name: _column([row.get(name) for row in rows]) for name in names})

    def _parquet(self) -> pd.DataFrame:
        """Read the needed columns, after checking their size by the footer of the file."""
        try:
            with pyarrow.parquet.ParquetFile(self.path) as file:
                footer, schema = file.metadata, file.schema_arrow
                self._check_names(schema.names)
                self._check_count(footer.num_rows)
                ids = (schema.pandas_metadata or {}).get("index_columns", ())
                needed = (
                    *self.columns,
                    self.beside,
                    *(index for index in ids if isinstance(index, str)),
                )
                names = [name for name in schema.names if name in needed]
                for name in names:
                    if pyarrow.types.is_nested(schema.field(name).type):
                        raise _neither(name)
                self._check_bytes(8 * footer.num_rows * len(names))
                self._check_bytes(_unpacked(footer, names))
                frame: pd.DataFrame = file.read(columns=names).to_pandas()
                return frame
        except (InputError, MemoryError):
            raise
        except (pyarrow.ArrowException, ValueError, OSError, KeyError, TypeError) as error:
            reason = str(error).rstrip(".")
            words = f"cannot read {self.path.name} as Parquet: {reason}. Send a valid file."
            raise InputError(words, "damaged-parquet") from error

    def _check(self, frame: pd.DataFrame) -> None:
        self._check_names(list(frame.columns))
        self._check_count(len(frame))
        self._check_bytes(int(frame.memory_usage(deep=True).sum()))
        for name in self.columns:
            column = frame[name]  # only columns of dtype object can contain lists and objects
            if column.dtype == object and not column.map(pd.api.types.is_hashable).all():
                raise _neither(name)

    def _check_names(self, names: list[str]) -> None:
        lacking = [name for name in self.columns if name not in names]
        if lacking:
            one = self.path.suffix == ".csv" and len(names) == 1
            single = f" It has a single column {names[0]!r}. Separate columns by commas."
            words = f"the file has no column {lacking[0]!r}.{single if one else ' Add it.'}"
            raise InputError(words, "lacking-column", name=lacking[0])
        if twice := [name for name in self.columns if names.count(name) > 1]:
            words = f"the rows have two columns named {twice[0]!r}. Rename one."
            raise InputError(words, "column-twice", name=twice[0])

    def _check_count(self, count: int) -> None:
        if count > self.most_rows:
            words = f"the file has {count} rows. Send at most {self.most_rows} at once."
            raise InputError(words, "too-many-rows", count=count, most=self.most_rows)
        if not count:
            raise InputError(f"{self.path.name} has no rows. Send at least one.", "no-rows")

    def _check_bytes(self, count: int) -> None:
        if count > MOST_BYTES:
            words = (
                f"the rows take {count >> 20} MB uncompressed. Send at most {MOST_BYTES >> 20} MB."
            )
            raise InputError(words, "large-rows", size=count >> 20, most=MOST_BYTES >> 20)


def _neither(name: str) -> InputError:
    words = f"column {name!r} has values that are neither numbers nor text. Convert them."
    return InputError(words, "neither-number-nor-text", name=name)


def _unpacked(footer: Any, names: list[str]) -> int:
    """Return the uncompressed size in bytes of columns of a Parquet file, as its footer says."""
    groups = [footer.row_group(at) for at in range(footer.num_row_groups)]
    every = (group.column(at) for group in groups for at in range(group.num_columns))
    return sum(column.total_uncompressed_size for column in every if column.path_in_schema in names)


def _column(values: list[Any]) -> "pd.Series[Any]":
    """Return a column; keep text that is not valid Unicode, so that only its row is rejected."""
    try:
        return pd.Series(values)
    except UnicodeEncodeError:
        return pd.Series(values, dtype=object)


def _categories(space: FeatureSpace) -> dict[str, set[str]]:
    """Return the categories of each column by name, without "", which means a missing value."""
    return {
        space.columns[feature.column]: set(feature.labels) - {""}
        for feature in space.features
        if feature.labels and not feature.one_hot
    }
