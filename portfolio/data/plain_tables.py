"""Ordinary CSV or Parquet tables with a label column, and files of rows for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.core.text_files import names_in
from portfolio.data.datasets import open_table


@dataclass(frozen=True, eq=False)
class PlainTable:
    """Training table as it is in its file."""

    name: str  # file name without endings
    X: pd.DataFrame  # frame of all columns except the labels
    y: "pd.Series[Any] | None"  # label column; None without one, and for several

    def one(self, path: Path) -> pd.DataFrame:
        """Return the single row of a file as a frame."""
        rows = self.rows(path)
        if len(rows) != 1:
            raise InputError(
                f"{path} has {len(rows)} rows, but explain takes exactly one. Keep one of them."
            )
        return rows

    def rows(self, path: Path) -> pd.DataFrame:
        """Return the rows of another file, in this table's columns and dtypes."""
        text = [n for n in self.X.columns if not pd.api.types.is_numeric_dtype(self.X[n].dtype)]
        categories = {str(name): set(self.X[name].dropna().map(str)) - {""} for name in text}
        rows = named_as(open_table(path, text, categories), list(self.X.columns))
        lacking = [name for name in self.X.columns if name not in rows.columns]
        if lacking:
            raise InputError(
                f"{path} lacks the column {lacking[0]!r}.{close_names(lacking[0], rows.columns)} "
                "Add it."
            )
        return rows[list(self.X.columns)]


def read_plain(path: str | Path, label: str | None) -> PlainTable:
    """Read a table without encoding it; feature kinds are later inferred from the values.

    ``label`` names the label column, or several that are separated by commas.
    """
    path = Path(path)
    whole = open_table(path)
    labels = [] if label is None else _labels(path, whole, label)
    X = whole.drop(columns=labels)
    if X.shape[1] == 0:
        raise InputError(
            f"{path} has only the label column {label!r}. Add at least one feature column."
        )
    stem = path.name.removesuffix(".gz").removesuffix(".csv").removesuffix(".parquet")
    return PlainTable(stem, X, whole[labels[0]] if len(labels) == 1 else None)


def _labels(path: Path, whole: pd.DataFrame, label: str) -> list[Any]:
    """Return the columns that a text names: one column, or several separated by commas."""
    columns = {str(name).strip(): name for name in whole.columns}
    columns |= {name: name for name in whole.columns}
    if label in columns:
        return [columns[label]]
    every = names_in(label)
    for name in every:
        if name not in columns:
            names = ", ".join(map(str, whole.columns[:12]))
            raise InputError(
                f"{path} has no column {name!r}.{close_names(name, whole.columns)} Use one of "
                f"{names}."
            )
    return [columns[name] for name in every]


def named_as(frame: pd.DataFrame, columns: Sequence[Any]) -> pd.DataFrame:
    """Return a frame whose column names are the known ones, matched without blanks around them."""
    by_text = {str(name).strip(): name for name in columns if name is not None}
    other = [name for name in frame.columns if name not in columns]
    names = {name: by_text.get(str(name).strip(), name) for name in other}
    free = {name: new for name, new in names.items() if new not in frame.columns}
    return frame.rename(columns=free)
