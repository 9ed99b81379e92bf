"""Trees of any supported model, and the numbers that its library computes, through all wrappers."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.errors import UnsupportedModelError
from encoders.query.goal import Scale
from encoders.readers.kinds import (
    is_pipeline,
    last_step,
    predictor,
    replaced_method,
    require_inherited,
    unwrapped,
)
from encoders.readers.layout import Layout, Place, inputs_of, layout_of
from encoders.readers.reader import in_columns, reader_of
from encoders.trees.ensemble import Ensemble

RAW_COLUMNS = (
    "a linear model of raw columns ({}) is not a sum of steps. It can be read behind steps of a "
    "Pipeline that encode or bin each column; a tree ensemble needs no such steps."
)

Recode = Callable[[Any, Ensemble, IntArray], Ensemble]


def read_ensemble(model: Any, recode: Recode | None = None) -> Ensemble:
    """Return a fitted model as an ensemble; UnsupportedModelError if it cannot be read exactly.

    ``recode`` changes the trees of each model without members; it gets their columns.
    """
    return _read(model, Place(), layout_of(model), recode)


def read_alone(model: Any, columns: IntArray | None = None, /) -> Ensemble:
    """Return a member as an ensemble, without its owner's steps, to learn its units and links.

    Linear members are over inputs of 0 and 1.
    """
    return _read(model, Place(), layout_of(model), None, alone=True)


def _read(
    model: Any, place: Place, layout: Layout, recode: Recode | None, alone: bool = False
) -> Ensemble:
    """Return a model, or a member of one, as an ensemble over the columns of the joint table."""
    model = unwrapped(model)
    require_inherited(model)
    if is_pipeline(model):
        return _read(last_step(model), layout.after(model, place), layout, recode, alone)

    def read(member: Any, columns: IntArray | None = None, /) -> Ensemble:
        return _read(member, place.member(columns, ""), layout, recode, alone)

    reader = reader_of(model)
    if reader.linear and not alone:
        stepped = place.table > 0 and any(leaf is model for leaf, _ in layout.leaves)
        if not stepped:
            raise UnsupportedModelError(RAW_COLUMNS.format(type(model).__name__))
    whole = reader.read(model, read)
    if reader.reads_members:
        return layout.with_ways(whole)
    if recode is not None:
        whole = recode(model, whole, layout.columns_of(place))
    return layout.with_ways(layout.placed(whole, place))


def native_leaves(model: Any, rows: Any) -> IntArray | None:
    """Return the library's own leaf index of each row in each tree, int64 (n_rows, n_trees).

    None if the library does not provide them (histogram gradient boosting).
    """
    model = unwrapped(model)
    if is_pipeline(model):
        return native_leaves(last_step(model), inputs_of(model, rows))
    leaves = reader_of(model).leaves(model, rows)
    if leaves is None:
        return None
    return np.asarray(leaves).astype(np.int64, copy=False).reshape(rows.shape[0], -1)


def leaves_of_members(parts: Iterable[tuple[Any, Any]]) -> IntArray | None:
    """Return the leaves of several models side by side, each with the rows that it gets."""
    leaves = []
    for member, rows in parts:
        part = native_leaves(member, rows)
        if part is None:
            return None
        leaves.append(part)
    return np.concatenate(leaves, axis=1)


def native_scores(model: Any, rows: Any, margin_unit: float) -> FloatArray:
    """Return the sums that the library compares, in units of leaf scores, (n_rows, n_classes).

    If there is one raw score, class 0 has score 0.
    """
    model = unwrapped(model)
    if is_pipeline(model):
        return native_scores(last_step(model), inputs_of(model, rows), margin_unit)
    return in_columns(reader_of(model).scores(model, rows, margin_unit))


def native_values(model: Any, rows: Any, scale: Scale, output: int) -> FloatArray:
    """Return one of the model's numbers for each row, exactly widened to float64, (n_rows,)."""
    if scale == "prediction":
        return np.asarray(native_predictions(model, rows), dtype=np.float64).ravel()
    if scale == "raw":
        return _raw(model, rows, output)
    numbers: FloatArray = native_probabilities(model, rows)[:, output]
    return numbers


def _raw(model: Any, rows: Any, output: int) -> FloatArray:
    model = unwrapped(model)
    if is_pipeline(model):
        return _raw(last_step(model), inputs_of(model, rows), output)
    return reader_of(model).raw(model, rows, output)


def native_predictions(model: Any, rows: Any) -> Any:
    """Return the output of the model's own predict."""
    if returns_scores(model):  # without the library's warning
        model = unwrapped(model)
        if is_pipeline(model):
            return native_predictions(last_step(model), inputs_of(model, rows))
    return reader_of(model).predictions(model, rows)


def native_probabilities(model: Any, rows: Any) -> FloatArray:
    """Return the model's probabilities, exactly widened to float64, (n_rows, n_classes)."""
    return np.asarray(reader_of(model).probabilities(model, rows)).astype(np.float64)


def varies_with_rows(model: Any) -> bool:
    """Return whether the last bits of a prediction may depend on the number of rows."""
    below = predictor(model)
    reader = reader_of(below)
    members = (member for member, _, _ in reader.members(below))
    return reader.varies_with_rows or any(varies_with_rows(member) for member in members)


def predicts_likeliest(model: Any) -> bool:
    """Return whether predict is known to return the first class of largest probability."""
    return reader_of(model).likeliest(model) and replaced_method(model) is None


def returns_scores(model: Any) -> bool:
    """Return whether predict of a classifier returns raw scores, with a warning, and not labels.

    LightGBM's does if it was fitted with a custom objective.
    """
    last = predictor(model)
    return reader_of(last).returns_scores(last)
