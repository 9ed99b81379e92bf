"""Schema of the answers of a batch that does not depend on the rows of the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa

from encoders.query.features import is_missing
from portfolio.batch.job import PREFIX
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.goals import wanted_of
from portfolio.model.table import Column

NUMBERS = ("distance", "bound", "margin", "seconds", "score_before", "score")
NAMES = (
    "status", "stop_reason", "distance", "bound", "margin", "backend", "target", "seconds",
    "changed", "message", "score_before", "score",
)  # fmt: skip


@dataclass(frozen=True)
class AnswerTable:
    """Columns and types of :meth:`Explainer.explain_batch` for a model and a target.

    All numbers are float64, as an answer may change whole numbers to others.
    """

    schema: pa.Schema

    @classmethod
    def for_target(cls, model: ExplainedModel, target: Any) -> AnswerTable:
        """Return the table of the answers for a target."""
        kinds = dict.fromkeys(NAMES, pa.string()) | dict.fromkeys(NUMBERS, pa.float64())
        if not model.outputs and wanted_of(model, target) is None:
            kinds["target"] = _of_labels(model.native.classes)
        table = model.native.table
        for at, name in enumerate(model.space.columns):
            kinds[f"{PREFIX}{name}"] = pa.float64() if table is None else _of(table.columns[at])
        return cls(pa.schema(list(kinds.items())))

    def of(self, answers: pd.DataFrame, ids: Any) -> pa.Table:
        """Return answers in the schema, after a column of ids if there is one."""
        arrays = [_in_type(answers[field.name], field.type) for field in self.schema]
        table = pa.Table.from_arrays(arrays, schema=self.schema)
        if ids is None:
            return table
        column = ids if isinstance(ids, pa.ChunkedArray) else pa.array(ids)
        return table.add_column(0, "id", column)


def _of(column: Column) -> pa.DataType:
    """Return the type of the values of a column in the rows of users."""
    if column.labels is not None:
        return _of_labels(column.labels)
    if pd.api.types.is_bool_dtype(column.dtype):
        return pa.bool_()
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return pa.Array.from_pandas(pd.Series([], dtype=column.dtype)).type
    return pa.float64()


def _of_labels(labels: tuple[Any, ...]) -> pa.DataType:
    """Return the type of labels; text for labels of several types."""
    try:
        kind = pa.array([label for label in labels if not is_missing(label)], from_pandas=True).type
    except (pa.ArrowException, TypeError, ValueError):
        return pa.string()
    return pa.string() if pa.types.is_null(kind) else kind


def _in_type(column: pd.Series[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return pa.array([None if is_missing(each) else str(each) for each in column], kind)
    if pa.types.is_float64(kind):
        column = pd.to_numeric(column).astype("float64")
    return pa.array(column.tolist(), from_pandas=True).cast(kind)
