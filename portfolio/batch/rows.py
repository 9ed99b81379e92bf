"""The rows of a batch, as they were read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow

from encoders.arrays import FloatArray
from portfolio.model.table import Table


@dataclass(frozen=True, eq=False)
class BatchRows:
    """The rows of a batch: their labels, values, and what is wrong with those without values.

    Attributes
    ----------
    index : (n_rows,), the ids of the table
    columns : names in the model's order
    values : float64 (n_columns,) or a sentence, per row
    table : the user's columns, where not all of them hold numbers
    """

    index: "pd.Index[Any]"
    columns: Sequence[str]
    values: Sequence[FloatArray | str]
    table: Table | None = None

    def ids(self) -> Any:
        """Labels as they are, or as text where a table on disk could not hold them."""
        index = self.index
        try:
            pyarrow.array(index, from_pandas=True)
        except (pyarrow.ArrowException, TypeError, ValueError):
            return [str(label) for label in index]
        return [str(label) for label in index] if isinstance(index, pd.MultiIndex) else index
