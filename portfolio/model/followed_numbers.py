"""Range of each column in which the steps of a pipeline can be analysed."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from encoders.arrays import BoolArray, FloatArray
from encoders.errors import InputError
from encoders.trees.sources import Source
from portfolio.model.table import Table

# Distances beyond the training data, relative to a column's size, up to which it is analysed. The
# first one that its transformers accept is used; the last one is the training data's own range.
REACHES = (1e6, 1e3, 10.0, 1.0, 0.0)


class Steps(Protocol):
    """Steps before a model, over the user's columns."""

    @property
    def table(self) -> Table: ...

    @property
    def sources(self) -> Sequence[Source]: ...

    def inputs(self, rows: FloatArray, keep_zeros: bool) -> FloatArray: ...


def numbers_followed(
    steps: Steps, rows: FloatArray, template: FloatArray, dtype: Any
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of each column within which its inputs are readable, (n_columns,) each."""
    values = np.where(np.isnan(rows).all(axis=0), 0.0, rows)  # also for columns without any value
    lowest, highest = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    size = np.maximum(np.maximum(np.abs(lowest), np.abs(highest)), 1.0)
    numeric = np.array([column.labels is None for column in steps.table.columns])
    low, high = lowest.copy(), highest.copy()
    source = np.array([each.column for each in steps.sources], dtype=np.int64)
    declared = [each.column for each in steps.sources if each.told]
    for reach in reversed(REACHES):
        for ends, way, limit in ((lowest, -1.0, low), (highest, 1.0, high)):
            probe = np.where(numeric, ends + way * reach * size, template)
            try:
                able = numeric & _readable(steps, probe, source, dtype)
            except InputError:  # a step rejects the output of another one
                continue
            if reach == 0.0:
                empty = np.isnan(rows).all(axis=0)
                _refuse_no_numbers(steps.table, probe, numeric & ~able & ~empty)
            able[declared] &= reach == 0.0
            limit[able] = probe[able]
    unread = sorted(steps.table.unread)
    low[unread], high[unread] = -np.inf, np.inf
    return low, high


def limits_of_queries(numbers: FloatArray, low: float, high: float) -> tuple[float, float]:
    """Return the smallest and the largest number that a query may hold, inf and -inf for none.

    None is accepted where no training row has a value and the steps cannot transform one.
    """
    closed = low == high and np.isnan(numbers).all()
    return (np.inf, -np.inf) if closed else (float(low), float(high))


def _refuse_no_numbers(table: Table, row: FloatArray, wrong: BoolArray) -> None:
    """Raise InputError if the steps turn training values into NaN or infinity."""
    for at in np.flatnonzero(wrong & ~np.isnan(row)).tolist():
        raise InputError(
            f"X_train: a step of the pipeline turns {row[at]:g} in column "
            f"{table.columns[at].name!r} into NaN or infinity, as np.log1p does below -1. Drop "
            "such rows, or clip the column before it enters the pipeline."
        )


def _readable(steps: Steps, row: FloatArray, source: Any, dtype: Any) -> BoolArray:
    """Return the columns whose inputs are all numbers that the model takes, bool (n_columns,)."""
    fine: BoolArray = np.ones(row.size, dtype=np.bool_)
    values = steps.inputs(row[None, :], True)[0]
    limit = float(np.finfo(dtype).max)
    fine[source[~(np.abs(values) <= limit)]] = False
    return fine
