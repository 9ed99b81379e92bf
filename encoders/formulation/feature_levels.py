"""The levels of one feature, wherever its axes are."""

from dataclasses import dataclass, replace

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.formulation.axes import Axis
from encoders.formulation.layout import Layout
from encoders.problem.problem import Box
from encoders.query.features import Feature

Literal = tuple[int, int, int]  # axis, first and last level


@dataclass(frozen=True, eq=False)
class LevelsOf:
    """Levels of one feature that determine its value.

    Attributes
    ----------
    axis, level : int64 (n_options,), place of each option.
    value : float64 (n_options,), value of the feature; the index of a category.
    low, high : float64 (n_options,), numbers that are treated alike; ``value`` if none are.
    ordered : whether all are levels of one axis; else each has its own.
    """

    axis: IntArray
    level: IntArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    ordered: bool

    def without(self, codes: tuple[float, ...]) -> "LevelsOf":
        """Return the same levels; those of codes for a missing value have none."""
        if not codes:
            return self
        value, low, high = (
            np.where(np.isin(self.value, codes), np.nan, own)
            for own in (self.value, self.low, self.high)
        )
        return replace(self, value=value, low=low, high=high)

    def chosen(self, levels: IntArray) -> int:
        """Which option a choice takes."""
        return int(np.flatnonzero(levels[self.axis] == self.level)[0])


def levels_of(
    feature: Feature, layout: Layout, ends: tuple[FloatArray, FloatArray] | None
) -> LevelsOf:
    """Return the options of a feature, with the axis and level that encode each."""
    if feature.one_hot:
        own = layout.axes_of(feature.columns)
        able = np.array([layout.axes[axis].value[-1] == 1 for axis in own.tolist()])
        axis, value = own[able], np.flatnonzero(able).astype(np.float64)
        return LevelsOf(axis, layout.size[axis] - 1, value, value, value, ordered=False)
    first, end = int(layout.first[feature.column]), int(layout.first[feature.column + 1])
    if feature.column in layout.classes:
        axis = np.arange(first, end)
        level = layout.size[axis] - 1
        value = np.array([layout.axes[a].value[-1] for a in range(first, end)])
        low, high = ends or (value, value)
        return LevelsOf(axis, level, value, low, high, ordered=False)
    options: Axis = layout.axes[first]
    level = np.arange(options.value.size)
    low, high = ends or (options.value, options.value)
    return LevelsOf(np.full(level.size, first), level, options.value, low, high, ordered=True)


def box_of(literals: list[Literal]) -> Box:
    """Literals that hold together, as a box."""
    axis, lo, hi = (np.array(part, dtype=np.int64) for part in zip(*sorted(literals), strict=True))
    return Box(axis, lo, hi)
