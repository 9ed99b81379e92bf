"""Schema of the answers of a batch that does not depend on the rows of the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa

from encoders.core.errors import InputError
from encoders.query.features import Feature, is_missing
from encoders.readers.refusals import first_line
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

    Numbers are float64, as an answer may change whole numbers to others. If a frame has the types
    of all rows, features that have only whole numbers keep their type.
    """

    schema: pa.Schema

    @classmethod
    def for_target(
        cls, model: ExplainedModel, target: Any, like: pd.DataFrame | None = None
    ) -> AnswerTable:
        """Return the table of the answers for a target.

        ``like`` is a frame with the types of the rows and the columns of the model, or None.
        """
        kinds = dict.fromkeys(NAMES, pa.string()) | dict.fromkeys(NUMBERS, pa.float64())
        if model.aim is None and wanted_of(model, target) is None:  # targets of outputs are text
            kinds["target"] = _of_labels(model.native.classes)
        table, names = model.native.table, model.space.columns if like is None else like.columns
        for feature in model.space.features:
            for at in feature.columns:
                kind = pa.float64() if table is None else _of(table.columns[at])
                if like is not None and pa.types.is_float64(kind):
                    kind = _of_numbers(like.iloc[:, at], feature)
                kinds[f"{PREFIX}{names[at]}"] = kind
        ordered = [*NAMES, *(f"{PREFIX}{name}" for name in names)]
        return cls(pa.schema([(name, kinds[name]) for name in ordered]))

    def of(self, answers: pd.DataFrame, beside: Mapping[str, Any]) -> pa.Table:
        """Return answers in the schema, after other columns."""
        arrays = [in_arrow_type(answers[field.name], field.type) for field in self.schema]
        others = [
            each if isinstance(each, pa.Array | pa.ChunkedArray) else pa.array(each)
            for each in beside.values()
        ]
        return pa.Table.from_arrays([*others, *arrays], [*beside, *self.schema.names])


def arrow_type(column: pd.Series[Any]) -> pa.DataType:
    """Return a type for the values of a column, the same for all frames of a table."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _of_labels(tuple(column.dtype.categories))
    values = column if pd.api.types.is_object_dtype(column.dtype) else column.head(0)
    kind = _of_labels(tuple(values)) if len(values) else pa.Array.from_pandas(values).type
    if pa.types.is_integer(kind):
        return pa.uint64() if pa.types.is_unsigned_integer(kind) else pa.int64()
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pa.float64()
    text = pa.types.is_null(kind) or pa.types.is_large_string(kind)
    return pa.string() if text else kind


def in_arrow_type(column: pd.Series[Any], kind: pa.DataType) -> pa.Array:
    """Return a column in a type; InputError if it has other values."""
    if pa.types.is_string(kind):
        return pa.array([None if is_missing(each) else str(each) for each in column], kind)
    try:
        if pa.types.is_float64(kind):
            column = pd.to_numeric(column).astype("float64")
        return pa.array(column.tolist(), from_pandas=True).cast(kind)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"the column {column.name!r} has values that are not of the type {kind} "
            f"({first_line(error)}). Convert it to one type."
        ) from error


def _of_numbers(column: pd.Series[Any], feature: Feature) -> pa.DataType:
    """Return the type of a feature's numbers in the rows of users."""
    kind = arrow_type(column)
    fractional = feature.kind == "numeric" or any(not each.is_integer() for each in feature.values)
    whole = pa.types.is_integer(kind) and not fractional
    return kind if whole or pa.types.is_boolean(kind) else pa.float64()


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
