"""Rows in JSON, which lacks the model that they belong to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from portfolio.model.frames import as_pandas
from portfolio.model.row import Row, as_array, row_with, series_of
from portfolio.results.codec import encode


@dataclass(frozen=True, eq=False)
class ReceivedRow(Row):
    """A row that is known by the values of the user's columns only."""

    content: Any = None  # mapping or list, values by name or in order
    like: Any = None  # the query, which gives the type of the row; None for a Series or an array

    def given(self) -> Any:
        """Return the row in the type of the query."""
        like, kind = as_pandas(self.like)
        if isinstance(like, pd.DataFrame):
            changes = {}
            for at, name in enumerate(like.columns):
                value = self.content[str(name)]
                if encode(like.iloc[0, at]) != value:
                    changes[at] = np.nan if value is None else value
            return row_with(like if kind == "pandas" else self.like, changes, {})
        if not isinstance(self.content, Mapping):
            values = [np.nan if value is None else value for value in self.content]
            return (
                np.array(values, dtype=object)
                if any(isinstance(value, str) for value in values)
                else as_array(values)
            )
        series = series_of(dict(self.content))
        if isinstance(like, pd.Series):
            series.index, series.name = like.index, like.name
        return series

    def named(self) -> Any:
        """Return the values by name if the service named them, else the row in the query's type."""
        return dict(self.content) if isinstance(self.content, Mapping) else self.given()
