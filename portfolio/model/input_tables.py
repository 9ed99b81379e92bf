"""Input tables that a model's layout derives for its members from the user's rows."""

from typing import Any

import numpy as np
import pandas as pd

from encoders.arrays import IntArray
from encoders.trees.inputs import Layout
from encoders.trees.wrappers import steps_before
from portfolio.model.frames import as_pandas


def inputs_of(pipeline: Any, rows: Any) -> Any:
    """Return the input of a pipeline's last step."""
    for _, step in steps_before(pipeline):
        rows = step.transform(rows)
    return rows


def as_bagging_passes(rows: Any, columns: IntArray) -> Any:
    """Return the array that a bagging passes to a member."""
    from sklearn.utils import check_array

    array = check_array(rows, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False)
    return array[:, columns]


def tables_of(layout: Layout, frame: Any) -> list[Any]:
    """Return the tables that leaves read, in the order of the blocks of the joint table."""
    tables: list[Any] = [frame]
    for table in layout.tables[1:]:
        source = tables[table.source]
        if table.columns is not None:
            source = as_bagging_passes(source, table.columns)
        tables.append(inputs_of(table.pipeline, source))
    return [tables[at] for at, _ in layout.blocks()]


def side_by_side(tables: list[Any]) -> pd.DataFrame:
    """Return the joint table of some tables."""
    frames = [pd.DataFrame(as_pandas(table)[0]).reset_index(drop=True) for table in tables]
    return frames[0] if len(frames) == 1 else pd.concat(frames, axis=1)


def dense(matrix: Any, nothing: float) -> Any:
    """Return a sparse matrix as an array, filled up with a value; other tables as they are."""
    if not hasattr(matrix, "tocoo"):
        return matrix
    entries = matrix.tocoo()
    array = np.full(entries.shape, nothing)
    array[entries.row, entries.col] = entries.data
    return array
