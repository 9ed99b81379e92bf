"""Categories that training rows do not have, and how a model treats them.

One value that is not a label stands for all of them when the model is read. A query's own value is
compared with it before the query is solved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd

from encoders.arrays import FloatArray
from encoders.errors import CounterfolioError, InputError
from encoders.trees.ensemble import Ensemble
from encoders.trees.inputs import Layout, layout_of
from encoders.trees.refusals import first_line
from portfolio.model.evidence import check_sums
from portfolio.model.input_tables import dense, side_by_side, tables_of
from portfolio.model.native import NativeModel, own_errors
from portfolio.model.table import Column, Table

ROWS = 20  # training rows that are tested with a new category


class Read(Protocol):
    """Model as trees over the user's columns, with the user's own object."""

    @property
    def ensemble(self) -> Ensemble: ...

    @property
    def native(self) -> NativeModel: ...


def tested(table: Table, models: Sequence[Read], rows: FloatArray) -> Table:
    """Return the table, which accepts new categories only where every model reads them as we do."""
    new = {
        at: float(len(column.labels))
        for at, column in enumerate(table.columns)
        if column.labels is not None and column.new is not None and not column.unread
    }
    some = rows[:ROWS]
    parts = []
    for at, code in new.items():
        parts.append(some.copy())
        parts[-1][:, at] = code
    if not new or not len(some):
        return table
    if _as_read(models, np.concatenate(parts)):
        refused: set[int] = set()
    else:
        refused = {at for at, part in zip(new, parts, strict=True) if not _as_read(models, part)}
    columns = tuple(
        replace(column, new=None) if at in refused else column
        for at, column in enumerate(table.columns)
    )
    natives = tuple(model.native for model in models)
    return Table(columns, NewCategories(natives, Table(columns)))


def _as_read(models: Sequence[Read], rows: FloatArray) -> bool:
    for model in models:
        errors: tuple[type[Exception], ...] = (*_own(model.native), CounterfolioError)
        try:
            check_sums(model.ensemble, model.native, rows)
        except errors:
            return False
    return True


@dataclass(frozen=True, eq=False)
class NewCategories:
    """Check that a query's new categories are treated as the value that stands for them.

    Attributes
    ----------
    natives : models that a query is about.
    table : the user's columns.
    """

    natives: tuple[NativeModel, ...]
    table: Table

    def check(self, row: FloatArray, values: Mapping[int, Any]) -> None:
        """Raise InputError if a model treats a new category differently from its stand-in."""
        frame = self.table.frame(row[None, :])
        actual = frame.copy()
        for at, value in values.items():
            actual.isetitem(at, _as_column(value, self.table.columns[at]))
        at, value = next(iter(values.items()))
        column = self.table.columns[at]
        for native in self.natives:
            try:
                same = _same(native, frame, actual)
            except _own(native) as error:
                raise InputError(
                    f"the query's {column.name} is {value!r}, which the model rejects "
                    f"({first_line(error)}). {column.remedy}."
                ) from error
            if not same:
                raise InputError(
                    f"the query's {column.name} is {value!r}, which no training row has and the "
                    f"model treats differently from other new values. {column.remedy}."
                )


def _own(native: NativeModel) -> tuple[type[Exception], ...]:
    return own_errors(native.model)


def _as_column(value: Any, column: Column) -> Any:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Categorical([value], categories=[*column.dtype.categories, value])
    try:
        return pd.Series([value], dtype=column.dtype)
    except (TypeError, ValueError):
        return pd.Series([value], dtype=object)


@dataclass(frozen=True, eq=False)
class _OneRow(Table):
    """Table that passes a fixed row to a model, whatever the numbers are.

    Attributes
    ----------
    row : frame of the row.
    """

    row: pd.DataFrame = field(default_factory=pd.DataFrame)

    def frame(self, rows: FloatArray) -> pd.DataFrame:
        """Return the row."""
        return self.row


def _same(native: NativeModel, one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Return whether a model, and the steps before it, treat two rows alike."""
    if not np.array_equal(_outputs(native, one), _outputs(native, other), equal_nan=True):
        return False
    layout = layout_of(native.model)
    if not layout.piped:
        return True
    return np.array_equal(
        _inputs(layout, native.form.of(one)), _inputs(layout, native.form.of(other)), equal_nan=True
    )


def _outputs(native: NativeModel, frame: pd.DataFrame) -> FloatArray:
    model, row = replace(native, table=_OneRow((), row=frame)), np.zeros((1, frame.shape[1]))
    if not native.classes:
        return model.values(row, "prediction", 0)
    outputs = [model.predict(row).astype(np.float64)]
    if hasattr(native.model, "predict_proba"):
        outputs += [model.values(row, "probability", k) for k in range(len(native.classes))]
    return np.concatenate(outputs)


def _inputs(layout: Layout, frame: Any) -> FloatArray:
    """Return the numeric inputs of the members, float64 (1, n)."""
    table = side_by_side([dense(part, 0.0) for part in tables_of(layout, frame)])
    numbers = [at for at, dtype in enumerate(table.dtypes) if pd.api.types.is_numeric_dtype(dtype)]
    return table.iloc[:, numbers].to_numpy(dtype=np.float64, na_value=np.nan)
