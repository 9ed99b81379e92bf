"""Check that pipeline steps treat columns of whole numbers as they treat float64.

A split is located by bisection over float64, and the model gets an answer's whole numbers in the
user's type. NumPy functions may then return another number: ``np.sqrt`` gives float16 for int8,
and ``np.negative`` wraps around below 0 for unsigned numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import UnsupportedModelError
from encoders.trees.cells import codes, cut
from encoders.trees.ensemble import Ensemble
from encoders.trees.sources import Source
from portfolio.model.table import Column, Table

NARROW = 2  # bytes; of such types all numbers are checked, of wider ones the seen ones


def check_whole_numbers(
    ensemble: Ensemble,
    table: Table,
    sources: Sequence[Source],
    low: FloatArray,
    high: FloatArray,
    template: FloatArray,
    seen: FloatArray,
    inputs: Callable[[Table, FloatArray], FloatArray],
) -> None:
    """Raise UnsupportedModelError if whole numbers change sides of a split in float64."""
    whole = [at for at, column in enumerate(table.columns) if _is_whole(column)]
    if not whole:
        return
    numbers = {
        at: _numbers(table.columns[at].dtype, low[at], high[at], seen[:, at]) for at in whole
    }
    rows = np.tile(template, (max(values.size for values in numbers.values()), 1))
    for at, values in numbers.items():
        rows[:, at] = np.resize(values, len(rows))
    double = np.dtype(np.float64)
    plain = Table(
        tuple(
            replace(column, dtype=double) if at in numbers else column
            for at, column in enumerate(table.columns)
        )
    )
    cells = cut(ensemble)
    theirs, ours = (codes(cells, inputs(each, rows), ensemble.dtype) for each in (table, plain))
    wrong = np.flatnonzero((theirs != ours).any(axis=0))
    if wrong.size:
        column = table.columns[sources[int(wrong[0])].column]
        raise UnsupportedModelError(
            f"the pipeline's steps turn {column.name!r} into other numbers in {column.dtype} than "
            "in float64, so that its splits cannot be located. Fit it with int64 or float64 in "
            "this column."
        )


def _is_whole(column: Column) -> bool:
    return column.labels is None and getattr(column.dtype, "kind", "O") in "iub"


def _numbers(dtype: Any, low: float, high: float, seen: FloatArray) -> FloatArray:
    """Return whole numbers of a type within limits, float64 (n,)."""
    if dtype.kind == "b" or dtype.itemsize > NARROW:
        return np.unique(np.rint(seen))
    info = np.iinfo(getattr(dtype, "numpy_dtype", dtype))
    return np.arange(np.ceil(max(low, info.min)), np.floor(min(high, info.max)) + 1.0)
