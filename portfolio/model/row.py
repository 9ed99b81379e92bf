"""Rows of numbers, linked to the user's own rows that they were read from."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from encoders.arrays import FloatArray, IntArray
from encoders.query.features import same
from encoders.query.names import feature_name
from portfolio.model.frames import as_pandas
from portfolio.model.replaced import row_with, series_of
from portfolio.model.table import Table


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
    """Row as its user passed it.

    Attributes
    ----------
    row : array, Series, mapping, or frame of one row.
    values : float64 (n_columns,), the row in the model's order.
    position : int64 (n_entries,), the model's column of each entry.
    """

    row: Any
    values: FloatArray
    position: IntArray
