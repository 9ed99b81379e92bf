"""Rows of a table, as a batch or a group reads them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow

from encoders.core.arrays import BoolArray, FloatArray
from encoders.query.features import same
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.row import Origin, Row, frame_with
from portfolio.model.table import Table
from portfolio.model.tabular import in_labels, own_columns, read_rows


@dataclass(frozen=True, eq=False)
class BatchRows:
    """Rows of a batch: labels, values, and the errors of rows that cannot be read."""

    index: "pd.Index[Any]"  # (n_rows,), ids of the rows
    columns: Sequence[str]  # names of the columns in the model's order
    values: Sequence[FloatArray | str]  # float64 array (n_columns,) or error message, per row
    own: pd.DataFrame  # rows in the model's order, with the values of the user
    table: Table | None = None  # columns of the user if not all of them are numeric, else None
    whole: bool = False  # whether tasks contain the values of the user and not only numbers
    order: Sequence[int] = ()  # positions of the rows as they are solved; () for their own order

    @cached_property
    def payloads(self) -> Sequence[FloatArray | Row | str]:
        """Contents of the tasks: numbers, rows, or error messages."""
        if not self.whole:
            return self.values
        rows = zip(*(self.own.iloc[:, at].tolist() for at in range(self.own.shape[1])), strict=True)
        return [
            value if isinstance(value, str) else self._row(value, row)
            for value, row in zip(self.values, rows, strict=True)
        ]

    def _row(self, values: FloatArray, user_values: tuple[Any, ...]) -> Row:
        by_name = dict(zip(self.columns, user_values, strict=True))
        return in_labels(
            Row(values, Origin(by_name, values, np.arange(values.size)), self.table), user_values
        )

    def identities(self) -> Iterator[tuple[Any, ...]]:
        """Yield the values on which the answer to each row depends."""
        for value in self.payloads:
            if isinstance(value, Row):
                beyond = value.beyond()
                yield (value.values, beyond) if beyond else (value.values,)
            else:
                yield (value,)

    def some(self, places: Sequence[int]) -> "BatchRows":
        """Return some of the rows."""
        values = [self.values[at] for at in places]
        own, index = self.own.iloc[list(places)], self.index[list(places)]
        return replace(self, index=index, values=values, own=own)

    def answered(self, answers: Sequence[FloatArray | None]) -> pd.DataFrame:
        """Return the answers in the types of the rows; unchanged values are copied."""
        none = np.full(len(self.columns), np.nan)
        pairs = list(zip(self.values, answers, strict=True))
        good = np.array([not isinstance(old, str) and row is not None for old, row in pairs], bool)
        before = np.array([none if isinstance(old, str) else old for old, _ in pairs])
        after = np.array([none if row is None else row for _, row in pairs])
        shape = len(pairs), len(self.columns)
        before, after = before.reshape(shape), after.reshape(shape)
        spelled = self._respelled()
        if self.table is not None:
            spelled &= ~self.table.new_in(before)
        moved = (~same(before, after) | spelled) & good[:, None]
        return frame_with(self.own, moved, after, good, self._user_values)

    def _respelled(self) -> BoolArray:
        """Return where a category is spelled differently from training, (n_rows, n_columns)."""
        other = np.zeros(self.own.shape, dtype=np.bool_)
        for at, column in enumerate(() if self.table is None else self.table.columns):
            if column.labels is not None and not column.unread:
                index, labels = pd.factorize(self.own.iloc[:, at].astype(object))
                other[:, at] = np.array([*map(column.respells, labels), False])[index]
        return other

    def _user_values(self, column: int, numbers: FloatArray) -> Any:
        return numbers if self.table is None else self.table.columns[column].values(numbers)

    def ids(self) -> Any:
        """Return the labels of the rows, as text if Parquet does not support their type."""
        index = self.index
        try:
            pyarrow.array(index, from_pandas=True)
        except (pyarrow.ArrowException, TypeError, ValueError):
            return [str(label) for label in index]
        return [str(label) for label in index] if isinstance(index, pd.MultiIndex) else index


def rows_of(model: ExplainedModel, X: Any, whole: bool = False) -> BatchRows:
    """Read the rows of a table; rows that cannot be read get an error message."""
    model.check_unchanged()
    table = model.native.table
    read = read_rows(X, model.space, model.input_type, table)
    return BatchRows(*read, own_columns(X, model.space, table), table, whole)
