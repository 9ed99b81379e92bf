"""Values that the inputs of linear models can have, and the models as trees over these."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.query.features import FeatureSpace
from encoders.readers.layout import Layout
from encoders.readers.linear import FLAG, trees_over
from encoders.readers.read import read_ensemble
from encoders.readers.reader import reader_of
from encoders.trees.ensemble import Ensemble
from encoders.trees.floats import Stretches
from encoders.trees.pull_back import RawColumns, Transform, inputs_by_column
from portfolio.model.bin_cuts import steps_of

RAW_NUMBERS = (
    "the linear model of this pipeline reads {!r} as a number that is not binned, so it is not a "
    "sum of steps. Bin it (KBinsDiscretizer), encode it if it has few values (OneHotEncoder) or "
    "list these in features, or use a tree ensemble."
)
WITH_CATEGORIES = (
    "a linear model and a model of native categories are members of one model. Encode the "
    "categories for both."
)


def has_linear(layout: Layout) -> bool:
    """Return whether one of the members of a layout is a linear model."""
    return any(reader_of(member).linear for member, _ in layout.leaves)


def listed_values(space: FeatureSpace) -> dict[int, FloatArray]:
    """Return the values of each column that has no others: flags, and those that are listed."""
    listed: dict[int, FloatArray] = {}
    for feature in space.features:
        if feature.one_hot:
            listed |= dict.fromkeys(feature.columns, FLAG)
        elif feature.values and not feature.coded and not feature.allow_off_levels:
            listed[feature.column] = np.union1d(feature.values, feature.codes)
    return listed


def over_levels(
    model: Any, raw: RawColumns, transform: Transform, listed: Mapping[int, FloatArray]
) -> tuple[Ensemble, dict[int, Stretches]]:
    """Return a model with linear members as trees over the values that their inputs can have.

    Inputs that are not constant between cuts are read at the values of ``listed``. The intervals
    between these are returned by column.
    """
    columns = np.array([source.column for source in raw.sources], dtype=np.int64)
    read = _read_by_linear(model, columns.size)
    inputs = {
        at: np.flatnonzero((columns == at) & read) for at in np.unique(columns[read]).tolist()
    }
    levels: list[FloatArray] = [np.zeros(0)] * columns.size
    every, between = _outputs(raw, transform, inputs, listed)
    for column, outputs in every.items():
        for at, values in zip(inputs[column].tolist(), outputs.T, strict=True):
            levels[at] = np.unique(values[~np.isnan(values)])

    def over(member: Any, trees: Ensemble, places: IntArray) -> Ensemble:
        if not reader_of(member).linear:
            return trees
        return trees_over(member, [levels[at] for at in places.tolist()])

    return read_ensemble(model, over), between


def _read_by_linear(model: Any, n_inputs: int) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Return which inputs some linear member reads, bool (n_inputs,)."""
    read = np.zeros(n_inputs, dtype=np.bool_)

    def note(member: Any, trees: Ensemble, places: IntArray) -> Ensemble:
        read[places] |= reader_of(member).linear
        return trees

    read_ensemble(model, note)
    return read


def _outputs(
    raw: RawColumns,
    transform: Transform,
    inputs: Mapping[int, IntArray],
    listed: Mapping[int, FloatArray],
) -> tuple[dict[int, FloatArray], dict[int, Stretches]]:
    """Return all values that the inputs of each column can have together, (n, n_inputs).

    Also return the intervals between listed values, for columns that are read at these only.
    """
    outputs_of = inputs_by_column(raw, transform, inputs)
    codes = {at: np.arange(float(raw.n_codes[at])) for at in inputs if at in raw.n_codes}
    missing = {at: np.array([np.nan]) for at in inputs if raw.missing[at]}
    numbers = {at: _starts(raw, at) for at in inputs if at not in raw.n_codes}

    def refuse(column: int) -> str | None:
        return None if column in listed else RAW_NUMBERS.format(raw.names[column])

    steps = steps_of(numbers, outputs_of, refuse)
    flags = {at: listed[at] for at in numbers if at not in steps}
    outputs = outputs_of(codes | flags) | {at: levels for at, (_, levels) in steps.items()}
    for at, values in outputs_of(missing).items():
        outputs[at] = np.vstack([outputs[at], values])
    between = {
        at: Stretches.joined(values[:-1], np.nextafter(values[1:], -np.inf))
        for at, values in flags.items()
    }
    return outputs, between


def _starts(raw: RawColumns, column: int) -> FloatArray:
    """Return the numbers between which the inputs of a column are searched for steps."""
    cuts = raw.cuts.get(column, np.zeros(0))
    ends = np.array([raw.low[column], raw.high[column]])
    parts = [ends, raw.seen[:, column], cuts, np.nextafter(cuts, np.inf)]
    numbers: FloatArray = np.unique(np.concatenate(parts))
    return numbers[np.isfinite(numbers)]
