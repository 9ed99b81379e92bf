"""Options of each feature in the order in which a region can grow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray
from encoders.query.admissible import Admissible
from encoders.query.features import Feature
from encoders.query.grid import Grid
from encoders.trees.cells import Cells
from encoders.trees.floats import Stretches, last_read_as
from encoders.trees.set_splits import Group, cell_of
from portfolio.questions.side import Side


@dataclass(frozen=True, eq=False)
class Extent:
    """Options of one feature: ascending cells of numbers, or categories; then "missing".

    Attributes
    ----------
    feature : Feature, described by the options.
    ordered : bool, whether the options with a value are cells of numbers.
    level : int64 (n_options,), level of the problem; several options may share one.
    row_option : int, option of the row.
    low, high : float64 (n_options,), first and last number of each option, both included. For
        categories these are indices. Missing-value codes are options after the cells of numbers.
        The last option is "missing", with NaN.
    """

    feature: Feature
    ordered: bool
    level: IntArray
    row_option: int
    low: FloatArray
    high: FloatArray

    @property
    def size(self) -> int:
        """Number of options."""
        return int(self.level.size)

    @cached_property
    def absent(self) -> BoolArray:
        """Mask of the options that stand for a missing value or a code, bool (n_options,)."""
        return np.isnan(self.low) | self._is_code

    @cached_property
    def _is_code(self) -> BoolArray:
        single: BoolArray = (self.low == self.high) & np.isin(self.low, self.feature.codes)
        return single

    def codes(self, chosen: BoolArray) -> tuple[float, ...]:
        """Return the missing-value codes among some options."""
        return tuple(self.low[chosen & self._is_code].tolist())

    @cached_property
    def present(self) -> IntArray:
        """Indices of the options that have a value, int64."""
        return np.flatnonzero(~self.absent)

    def option(self, value: float) -> int:
        """Return the option that contains a value, or -1."""
        inside = (self.low <= value) & (value <= self.high)
        if np.isnan(value):
            inside = np.isnan(self.low)
        elif self.feature.codes:
            inside &= self._is_code == (value in self.feature.codes)
        at = np.flatnonzero(inside)
        return int(at[0]) if at.size else -1

    def narrowed(self, chosen: BoolArray, whole: Admissible) -> Admissible:
        """Return what the feature may become if only some options are allowed."""
        missing = whole.missing if chosen[np.isnan(self.low)].any() else None
        codes = self.codes(chosen)
        if not self.ordered:
            values = tuple(self.low[chosen & ~self.absent].tolist())
            return replace(whole, values=values, missing=missing)
        low, high = self.low[chosen & ~self.absent], self.high[chosen & ~self.absent]
        ends = (float(low[0]), float(high[-1])) if low.size else (np.inf, -np.inf)
        return replace(whole, lower=ends[0], upper=ends[1], missing=missing, codes=codes)


@dataclass(frozen=True, eq=False)
class Extents:
    """Options of all features of a row."""

    each: Sequence[Extent]  # in the order of the features
    standing: BoolArray  # bool (n_levels,), levels that mean only "another category"

    def levels(self, allowed: Sequence[BoolArray]) -> BoolArray:
        """Return the levels of a region, bool (n_levels,)."""
        keep = self.standing.copy()
        for extent, chosen in zip(self.each, allowed, strict=True):
            keep[extent.level[chosen]] = True
        return keep

    def narrowed(
        self, allowed: Sequence[BoolArray], whole: Sequence[Admissible]
    ) -> Iterator[Admissible]:
        """Return what each feature may become in a region."""
        for extent, chosen, each in zip(self.each, allowed, whole, strict=True):
            yield extent.narrowed(chosen, each)


def extents_of(side: Side, cells: Cells) -> Extents:
    """Return the options of all features."""
    posed, groups = side.posed, {group.column: group for group in cells.groups}
    axis = posed.problem.axis_of[: posed.value.size]
    of_level = side.feature[axis]
    one_hot = np.array([feature.one_hot for feature in side.space.features])
    standing = one_hot[of_level] & (posed.value == 0)
    if posed.says is not None:
        standing = standing | (~posed.says & ~one_hot[of_level])
    extents = []
    for index, feature in enumerate(side.space.features):
        level = np.flatnonzero((of_level == index) & ~standing)
        if feature.one_hot:
            columns = posed.column[axis[level]]
            value = np.array([feature.columns.index(c) for c in columns.tolist()], dtype=np.float64)
            value[axis[level] > np.searchsorted(posed.column, columns)] += 1  # a row of zeros
        else:
            value = posed.value[level]
        extents.append(_extent(side, cells, index, level, value, groups.get(feature.column)))
    return Extents(extents, standing)


def _extent(
    side: Side,
    cells: Cells,
    index: int,
    level: IntArray,
    value: FloatArray,
    group: Group | None,
) -> Extent:
    """Return the options of one feature, given its levels and the values of these."""
    feature, admissible = side.space.features[index], side.query.admissible[index]
    row_value = float(side.space.values(side.query.row)[index])
    if feature.kind == "categorical":
        n_labels = len(feature.labels)  # the category of the row may be an additional one
        low = np.arange(
            n_labels + 1 if feature.coded or row_value == n_labels else n_labels, dtype=np.float64
        )
        if feature.coded:
            low[~np.isin(low, [*(feature.values or range(n_labels)), row_value])] = np.inf
        high = np.where(np.isfinite(low), low, -np.inf)
        option = np.where(np.isnan(value), low.size, value).astype(np.int64)
        cell = np.arange(low.size + 1)
    else:
        boundary, dtype = cells.boundary[feature.column], side.view.ensemble.dtype
        unsure = (side.view.ensemble.unsure or {}).get(feature.column)
        edges = last_read_as(boundary, dtype)
        last = np.union1d(edges, admissible.cuts) if admissible.cuts else edges
        bounds = admissible.lower, admissible.upper
        low, high = _ends(feature, last, *bounds, feature.without_code(row_value), unsure)
        if feature.codes:
            low, high = _with_codes(low, high, admissible.codes)
        option = _option_of(value, last, admissible.codes)
        cell = cell_of(edges, np.concatenate([last, [np.inf], admissible.codes, [np.nan]]))
    every = np.flatnonzero(low <= high)
    if admissible.missing is not None:
        every = np.append(every, low.size)
    low, high = np.append(low, np.nan), np.append(high, np.nan)
    if group is None:
        order = np.argsort(option, kind="stable")
        level, option = level[order], option[order]
    else:
        own_class = group.class_of[cell]
        level_of = dict(zip(own_class[option].tolist(), level.tolist(), strict=True))
        option = every[np.isin(own_class[every], list(level_of))]
        level = np.array([level_of[c] for c in own_class[option].tolist()], dtype=np.int64)
    low, high = low[option], high[option]
    ordered = feature.kind != "categorical"
    extent = Extent(feature, ordered, level, 0, low, high)
    return replace(extent, row_option=extent.option(row_value))


def _with_codes(
    low: FloatArray, high: FloatArray, codes: Sequence[float]
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of options, with missing-value codes as options after the numbers."""
    is_code = (low == high) & np.isin(low, codes)
    low, high = np.where(is_code, np.inf, low), np.where(is_code, -np.inf, high)
    return np.append(low, codes), np.append(high, codes)


def _option_of(value: FloatArray, last: FloatArray, codes: Sequence[float]) -> IntArray:
    """Return the option of each value: its cell, a missing-value code, or missing."""
    option = np.searchsorted(last, value)
    for place, code in enumerate(codes, last.size + 1):
        option[value == code] = place
    option[np.isnan(value)] = last.size + 1 + len(codes)
    return option


def _ends(
    feature: Feature,
    last: FloatArray,
    lower: float,
    upper: float,
    row_value: float,
    unsure: Stretches | None,
) -> tuple[FloatArray, FloatArray]:
    """Return the first and last number of each cell within bounds; low > high if it has none."""
    with np.errstate(over="ignore"):
        low = np.maximum(np.r_[-np.inf, np.nextafter(last, np.inf)], lower)
    high = np.minimum(np.r_[last, np.inf], upper)
    if unsure is not None:
        low, high = unsure.up(low), unsure.down(high)
    if feature.values:
        listed = np.array([*(v for v in feature.values if lower <= v <= upper), np.nan])
        first = np.searchsorted(listed[:-1], low)
        end = np.searchsorted(listed[:-1], high, side="right")
        low = np.where(first < end, listed[first], np.inf)
        high = np.where(first < end, listed[end - 1], -np.inf)
    elif feature.step:
        grid = Grid(feature.step)
        low, high = grid.at_least(low), grid.at_most(high)
    elif feature.kind != "numeric":
        low, high = np.ceil(low), np.floor(high)
    if not np.isnan(row_value):  # the row itself may lie between its levels
        at = int(np.searchsorted(last, row_value))
        low[at], high[at] = min(low[at], row_value), max(high[at], row_value)
    return low, high
