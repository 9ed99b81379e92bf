"""Values that the inputs of linear models can have, and the models as trees over these."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.errors import UnsupportedModelError
from encoders.readers.layout import Layout
from encoders.readers.linear import trees_over
from encoders.readers.read import read_ensemble
from encoders.readers.reader import reader_of
from encoders.trees.ensemble import Ensemble
from encoders.trees.floats import floats, ordered
from encoders.trees.pull_back import RawColumns, Transform

MOST = 2048  # intervals of a column in which its inputs may step
RAW_NUMBERS = (
    "the linear model of this pipeline reads {!r} as a number that is not binned, so it is not a "
    "sum of steps. Bin the column (KBinsDiscretizer, for example), or use a tree ensemble."
)
WITH_CATEGORIES = (
    "a linear model and a model of native categories are members of one model. Encode the "
    "categories for both."
)


def has_linear(layout: Layout) -> bool:
    """Return whether one of the members of a layout is a linear model."""
    return any(reader_of(member).linear for member, _ in layout.leaves)


def over_levels(model: Any, raw: RawColumns, transform: Transform) -> Ensemble:
    """Return a model with linear members as trees over the values that their inputs can have."""
    columns = np.array([source.column for source in raw.sources], dtype=np.int64)
    read = _read_by_linear(model, columns.size)
    inputs = {
        at: np.flatnonzero((columns == at) & read) for at in np.unique(columns[read]).tolist()
    }
    levels: list[FloatArray] = [np.zeros(0)] * columns.size
    for column, outputs in _Outputs(raw, transform, inputs).of_all().items():
        for at, values in zip(inputs[column].tolist(), outputs.T, strict=True):
            levels[at] = np.unique(values[~np.isnan(values)])

    def over(member: Any, trees: Ensemble, places: IntArray) -> Ensemble:
        if not reader_of(member).linear:
            return trees
        return trees_over(member, [levels[at] for at in places.tolist()])

    return read_ensemble(model, over)


def _read_by_linear(model: Any, n_inputs: int) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Return which inputs some linear member reads, bool (n_inputs,)."""
    read = np.zeros(n_inputs, dtype=np.bool_)

    def note(member: Any, trees: Ensemble, places: IntArray) -> Ensemble:
        read[places] |= reader_of(member).linear
        return trees

    read_ensemble(model, note)
    return read


@dataclass(frozen=True, eq=False)
class _Outputs:
    """Inputs of linear members as functions of the column that they depend on."""

    raw: RawColumns
    transform: Transform
    inputs: Mapping[int, IntArray]  # by column

    def of_all(self) -> dict[int, FloatArray]:
        """Return all values that the inputs of each column can have together, (n, n_inputs)."""
        codes = self.raw.n_codes
        named = {at: np.arange(float(codes[at])) for at in self.inputs if at in codes}
        missing = {at: np.array([np.nan]) for at in self.inputs if self.raw.missing[at]}
        outputs_of = self._of(named) | self._on_steps()
        for at, outputs in self._of(missing).items():
            outputs_of[at] = np.vstack([outputs_of[at], outputs])
        return outputs_of

    def _of(self, values: Mapping[int, FloatArray]) -> dict[int, FloatArray]:
        """Return the inputs for values of each column, which are computed in the same rows."""
        height = max((part.size for part in values.values()), default=0)
        if height == 0:
            return {}
        rows = np.tile(self.raw.template, (height, 1))
        for at, part in values.items():
            rows[: part.size, at] = part
        outputs = self.transform(rows, True)
        return {at: outputs[: part.size, self.inputs[at]] for at, part in values.items()}

    def _on_steps(self) -> dict[int, FloatArray]:
        """Return the inputs on each step of columns of numbers, halving between other outputs."""
        numbers = {at: self._seen(at) for at in self.inputs if at not in self.raw.n_codes}
        outputs_of = self._of(numbers)
        open_at = {
            at: _Between(part[:-1], part[1:], outputs_of[at][:-1], outputs_of[at][1:])
            for at, part in numbers.items()
        }
        while open_at := {at: part for at, part in _unlike(open_at) if part.low.size}:
            if wide := [at for at, part in open_at.items() if part.low.size > MOST]:
                raise UnsupportedModelError(RAW_NUMBERS.format(self.raw.names[wide[0]]))
            middle = {at: part.middle for at, part in open_at.items()}
            outputs = self._of(middle)
            for at, part in open_at.items():
                outputs_of[at] = np.unique(np.vstack([outputs_of[at], outputs[at]]), axis=0)
                open_at[at] = part.halved(middle[at], outputs[at])
        return outputs_of

    def _seen(self, column: int) -> FloatArray:
        ends = [self.raw.low[column], self.raw.high[column]]
        numbers: FloatArray = np.unique(np.concatenate([ends, self.raw.seen[:, column]]))
        return numbers[np.isfinite(numbers)]


@dataclass(frozen=True, eq=False)
class _Between:
    """Intervals of a column, with the inputs at their ends."""

    low: FloatArray
    high: FloatArray
    before: FloatArray
    after: FloatArray

    @property
    def middle(self) -> FloatArray:
        """Float64 number in the middle of each interval, counted in floats."""
        low, high = ordered(self.low), ordered(self.high)
        middle: FloatArray = floats(low // 2 + high // 2 + (low & high & 1))
        return middle

    def halved(self, middle: FloatArray, outputs: FloatArray) -> "_Between":
        """Return both halves of each interval."""
        return _Between(
            np.concatenate([self.low, middle]),
            np.concatenate([middle, self.high]),
            np.concatenate([self.before, outputs]),
            np.concatenate([outputs, self.after]),
        )


def _unlike(intervals: Mapping[int, _Between]) -> Iterator[tuple[int, _Between]]:
    """Yield the intervals that contain a float and whose ends have different inputs."""
    for at, part in intervals.items():
        wide = (part.before != part.after).any(axis=1) & (
            np.nextafter(part.low, np.inf) < part.high
        )
        yield at, _Between(*(part[wide] for part in (part.low, part.high, part.before, part.after)))
