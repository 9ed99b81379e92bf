"""The values of each feature in the order in which a region may grow to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray
from encoders.query.constraints import Allowed, Fixed, Range
from encoders.query.features import Feature
from encoders.trees.cells import Cells
from encoders.trees.groups import Group
from encoders.trees.input_type import last_read_as
from encoders.trees.set_splits import cell_of
from portfolio.questions.side import Side


@dataclass(frozen=True, eq=False)
class Extent:
    """Options of one feature: cells of numbers in ascending order, or categories.

    Attributes
    ----------
    feature : whose they are
    ordered : whether a region takes neighbours together
    level : int64 (n_options,), of the problem; several options may share one
    own : the row's
    low, high : float64 (n_options,), the numbers of each, both included; indices of categories;
        NaN for what is missing
    """

    feature: Feature
    ordered: bool
    level: IntArray
    own: int
    low: FloatArray
    high: FloatArray

    @property
    def size(self) -> int:
        """How many options there are."""
        return int(self.level.size)

    def option(self, value: float) -> int:
        """Which option holds a value; -1 if none does.

        Parameters
        ----------
        value : of the feature; a category's index
        """
        at = np.flatnonzero((self.low <= value) & (value <= self.high))
        return int(at[0]) if at.size else -1


@dataclass(frozen=True, eq=False)
class Extents:
    """The options of all features of a row.

    Attributes
    ----------
    each : in the order of the features
    standing : bool (n_levels,), levels that say only that a category is another one
    """

    each: Sequence[Extent]
    standing: BoolArray

    def levels(self, allowed: Sequence[BoolArray]) -> BoolArray:
        """The levels of a region, bool (n_levels,).

        Parameters
        ----------
        allowed : per feature bool (n_options,)
        """
        keep = self.standing.copy()
        for extent, chosen in zip(self.each, allowed, strict=True):
            keep[extent.level[chosen]] = True
        return keep

    def rules(self, allowed: Sequence[BoolArray]) -> list[Allowed | Fixed | Range]:
        """The same as constraints.

        Parameters
        ----------
        allowed : per feature bool (n_options,)
        """
        found: list[Allowed | Fixed | Range] = []
        for extent, chosen in zip(self.each, allowed, strict=True):
            feature, low, high = extent.feature, extent.low[chosen], extent.high[chosen]
            if np.isnan(low).any():
                found.append(Fixed(feature.name))
            elif extent.ordered:
                found.append(Range(feature.name, float(low[0]), float(high[-1])))
            else:
                found.append(Allowed(feature.name, [feature.show(v) for v in low.tolist()]))
        return found


def extents_of(side: Side, cells: Cells) -> Extents:
    """The options of every feature.

    Parameters
    ----------
    side : posed with every feature free
    cells : that it was posed for
    """
    posed, groups = side.posed, {group.column: group for group in cells.groups}
    axis = posed.problem.axis_of[: posed.value.size]
    of_level = side.feature[axis]
    one_hot = np.array([feature.one_hot for feature in side.space.features])
    standing = one_hot[of_level] & (posed.value == 0)
    if posed.says is not None:
        standing = standing | ~posed.says
    found = []
    for index, feature in enumerate(side.space.features):
        level = np.flatnonzero((of_level == index) & ~standing)
        if feature.one_hot:
            columns = posed.column[axis[level]].tolist()
            value = np.array([feature.columns.index(c) for c in columns], dtype=np.float64)
        else:
            value = posed.value[level]
        found.append(_extent(side, cells, index, level, value, groups.get(feature.column)))
    return Extents(found, standing)


def _extent(
    side: Side,
    cells: Cells,
    index: int,
    level: IntArray,
    value: FloatArray,
    group: Group | None,
) -> Extent:
    """The options of one feature, given its levels and the values that they stand for."""
    feature, admissible = side.space.features[index], side.query.admissible[index]
    own = float(side.space.values(side.query.row)[index])
    if np.isnan(own):
        absent = np.isnan(value)
        return Extent(feature, False, level[absent], 0, value[absent], value[absent])
    present = ~np.isnan(value)
    level, value = level[present], value[present]
    if feature.kind == "categorical":
        low = high = np.arange(len(feature.labels), dtype=np.float64)
        cell, every = value.astype(np.int64), np.arange(len(feature.labels))
    else:
        boundary, dtype = cells.boundary[feature.column], side.view.ensemble.dtype
        low, high = _ends(feature, boundary, dtype, admissible.lower, admissible.upper, own)
        cell = cell_of(boundary, value.astype(dtype).astype(np.float64))
        every = np.flatnonzero(low <= high)
    if group is None:
        option = np.argsort(cell, kind="stable")
        level, cell = level[option], cell[option]
    else:
        level_of = dict(zip(group.class_of[cell].tolist(), level.tolist(), strict=True))
        known = np.isin(group.class_of[every], list(level_of))
        cell = every[known]
        level = np.array([level_of[c] for c in group.class_of[cell].tolist()], dtype=np.int64)
    mine = np.flatnonzero((low[cell] <= own) & (own <= high[cell]))
    ordered = feature.kind != "categorical"
    return Extent(feature, ordered, level, int(mine[0]), low[cell], high[cell])


def _ends(
    feature: Feature,
    boundary: FloatArray,
    dtype: np.dtype[Any],
    lower: float,
    upper: float,
    own: float,
) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest number of each cell within bounds; none where low is above high."""
    last = last_read_as(boundary, dtype)
    with np.errstate(over="ignore"):
        low = np.maximum(np.r_[-np.inf, np.nextafter(last, np.inf)], lower)
    high = np.minimum(np.r_[last, np.inf], upper)
    if feature.values:
        listed = np.array([v for v in feature.values if lower <= v <= upper] or [own])
        first = np.searchsorted(listed, low)
        end = np.searchsorted(listed, high, side="right") - 1
        held = first <= end
        low = np.where(held, listed[np.minimum(first, listed.size - 1)], np.inf)
        high = np.where(held, listed[np.maximum(end, 0)], -np.inf)
    elif feature.kind != "numeric":
        low, high = np.ceil(low), np.floor(high)
    at = int(np.searchsorted(last, own))  # the row itself may be off its levels
    low[at], high[at] = min(low[at], own), max(high[at], own)
    return low, high
