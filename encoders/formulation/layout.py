"""The axes of a query: what may be chosen, at what cost, in the order of the model's columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, owners, runs, starts
from encoders.core.errors import NothingAdmissibleError, Over, look, never
from encoders.formulation.axes import Axis, category_axes, class_axes, coded_axis, ordered_axis
from encoders.query.features import Feature, FeatureSpace
from encoders.query.query import Query
from encoders.trees.cells import Cells
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import Group


@dataclass(frozen=True, eq=False)
class Nearest:
    """Function from codes of a column to the nearest levels of an axis.

    Attributes
    ----------
    levels : function from codes to the level nearest to each, int64 (n,)
    n_codes : number of codes; all are below it
    """

    levels: Callable[[IntArray], IntArray]
    n_codes: int

    def prices(self, codes: IntArray, cost: FloatArray) -> FloatArray:
        """Return the costs of the nearest levels, float64 (n,); by a table if codes are fewer."""
        if codes.size <= self.n_codes:
            return cost[self.levels(codes)]
        return cost[self._table][codes]

    @cached_property
    def _table(self) -> IntArray:
        """Nearest level of each code; queries whose axes have the same cells share it."""
        return self.levels(np.arange(self.n_codes))


@dataclass(frozen=True, eq=False)
class Layout:
    """Axes of a query: their columns and levels.

    Attributes
    ----------
    axes : axes in the order of their columns.
    first : int64 (n_columns + 1,), first axis of each column. A group has one for each class that
        can be chosen. The last column of a one-hot feature has a second axis if all of its columns
        may be 0.
    classes : int64, ascending classes of each column that is split into sets.
    one_hot : columns of each one-hot feature.
    """

    axes: Sequence[Axis]
    first: IntArray
    classes: Mapping[int, IntArray]
    one_hot: Sequence[Sequence[int]]

    @cached_property
    def level_start(self) -> IntArray:
        """Levels of each axis, int64 (n_axes + 1,)."""
        return starts(np.array([axis.cell.size for axis in self.axes]))

    @cached_property
    def value(self) -> FloatArray:
        """Return the value of each level, float64 (n_levels,)."""
        return np.concatenate([axis.value for axis in self.axes])

    @cached_property
    def size(self) -> IntArray:
        """Levels per axis, int64 (n_axes,)."""
        return np.diff(self.level_start)

    @property
    def column(self) -> IntArray:
        """The column of each axis, int64 (n_axes,)."""
        return owners(self.first)

    @property
    def one_per_column(self) -> bool:
        """Return whether each column has a single axis."""
        return len(self.axes) == self.first.size - 1

    @cached_property
    def of_zeros(self) -> BoolArray:
        """Axes that say whether all columns of a one-hot feature are 0, bool (n_axes,)."""
        found = np.zeros(len(self.axes), dtype=np.bool_)
        for columns in self.one_hot:
            begin, end = self.first[columns[-1] : columns[-1] + 2]
            found[begin + 1 : end] = True
        return found

    def within(self, radius: float) -> "Layout | None":
        """Return the layout of the levels of cost at most ``radius``; None if it has no row."""
        axes = [axis.only(np.flatnonzero(axis.cost <= radius)) for axis in self.axes]
        by_column = [axes[begin:end] for begin, end in runs(self.first)]
        classes = dict(self.classes)
        for column in classes:
            chosen = [k for k, axis in enumerate(by_column[column]) if (axis.cell == 1).any()]
            classes[column] = classes[column][chosen]
            by_column[column] = [by_column[column][k] for k in chosen]
            if len(chosen) == 1:  # no choice is left
                axis = by_column[column][0]
                by_column[column] = [axis.only(np.flatnonzero(axis.cell == 1))]
        some = all(group and group[0].cell.size for group in by_column)
        for columns in self.one_hot:
            some &= any((axes[at].value == 1).any() for at in self.axes_of(columns).tolist())
        if not some:
            return None
        first = starts(np.array([len(group) for group in by_column]))
        return Layout([axis for group in by_column for axis in group], first, classes, self.one_hot)

    def only(self, keep: BoolArray) -> "Layout | None":
        """Return the layout of some levels, where each column has one axis; None without a row."""
        chosen = [np.flatnonzero(keep[begin:end]) for begin, end in runs(self.level_start)]
        if not all(levels.size for levels in chosen):
            return None
        axes = [axis.only(levels) for axis, levels in zip(self.axes, chosen, strict=True)]
        return Layout(axes, self.first, self.classes, self.one_hot)

    def axes_of(self, columns: Sequence[int]) -> IntArray:
        """Return the axes of a one-hot feature by category, that of a row of zeros the last."""
        last = columns[-1]
        second = np.arange(self.first[last] + 1, self.first[last + 1])
        return np.concatenate([self.first[list(columns)], second])

    @cached_property
    def says(self) -> BoolArray:
        """Levels that give their column's value, bool (n_levels,): not a class' "no"."""
        axes = zip(self.axes, self.column.tolist(), self.of_zeros.tolist(), strict=True)
        parts = [
            axis.cell == 1 if column in self.classes else np.full(axis.cell.size, not of_zeros)
            for axis, column, of_zeros in axes
        ]
        return np.concatenate(parts)

    def exactly_one(self) -> Iterator[IntArray]:
        """Levels of which exactly one is chosen, for each feature that has several axes."""
        for columns in self.one_hot:
            yield self._levels(self.axes_of(columns), self.value == 1)
        for column in sorted(self.classes):
            yield self._levels(np.arange(*self.first[column : column + 2]), self.says)

    def _levels(self, axes: IntArray, chosen: BoolArray) -> IntArray:
        own = [np.arange(*self.level_start[axis : axis + 2]) for axis in axes]
        levels = np.concatenate(own)
        return levels[chosen[levels]]

    def nearest(self, cells: Cells) -> Iterator[Nearest]:
        """Yield for each axis the function from codes of its column to the nearest level.

        Codes are as in :class:`encoders.formulation.starting_points.Reference`.
        """
        one_hot = {column for columns in self.one_hot for column in columns}
        n_cells = cells.n_cells
        n_classes = {group.column: group.n_classes for group in cells.groups}
        for column, (begin, end) in enumerate(
            zip(self.first[:-1].tolist(), self.first[1:].tolist(), strict=True)
        ):
            own = self.axes[begin:end]
            if column in self.classes:
                tables = _nearest_classes(own, self.classes[column], n_classes[column])
                yield from (Nearest(partial(np.take, table), table.size) for table in tables)
            elif column in one_hot:  # code 2 of the last column: all of them are 0
                yes = own[0].value.size - 1
                yield Nearest(partial(np.take, np.array([0, yes, 0])), 3)
                for axis in own[1:]:
                    yield Nearest(partial(np.take, np.array([0, 0, axis.value.size - 1])), 3)
            else:
                yield Nearest(partial(_nearest, own[0].cell), int(n_cells[column]))


class FeatureAxes(NamedTuple):
    """Axes of one feature.

    Attributes
    ----------
    by_column : axes of each of its columns.
    classes : class of each axis, int64, if its column is split into sets; else None.
    empty : whether no value is admissible.
    """

    by_column: Mapping[int, Sequence[Axis]]
    classes: IntArray | None
    empty: bool


# Index of a feature, its value in the query, the query, and a function that computes -> axes.
AxesOf = Callable[[int, float, Query, Callable[[], FeatureAxes]], FeatureAxes]


def computed(
    index: int, start: float, query: Query, compute: Callable[[], FeatureAxes]
) -> FeatureAxes:
    """Return the axes of a feature, computed each time."""
    return compute()


def make_layout(
    ensemble: Ensemble,
    cells: Cells,
    space: FeatureSpace,
    query: Query,
    within: Mapping[int, BoolArray],
    over: Over = never,
    axes_of: AxesOf = computed,
) -> Layout:
    """Give every option its cost and drop what the constraints rule out.

    ``axes_of`` may return the axes that it has for a feature instead of computing them.
    """
    values = space.values(query.row)
    groups = {group.column: group for group in cells.groups}
    axes: dict[int, Sequence[Axis]] = {}
    classes: dict[int, IntArray] = {}
    for index, feature in enumerate(space.features):
        look(over)
        start = float(values[index])
        compute = partial(_axes, ensemble, cells, groups, feature, index, start, query, within)
        axes_here = axes_of(index, start, query, compute)
        axes.update(axes_here.by_column)
        if axes_here.classes is not None:
            classes[feature.column] = axes_here.classes
        if axes_here.empty:
            raise NothingAdmissibleError(
                f"contradictory constraints on {feature.name}: together with its bounds, levels "
                "and cost table they leave no admissible value.",
                "contradiction",
                name=feature.name,
            )
    ordered = [axes[column] for column in range(len(axes))]
    return Layout(
        axes=[axis for some in ordered for axis in some],
        first=starts(np.array([len(some) for some in ordered])),
        classes=classes,
        one_hot=[f.columns for f in space.features if f.one_hot],
    )


def _axes(
    ensemble: Ensemble,
    cells: Cells,
    groups: Mapping[int, Group],
    feature: Feature,
    index: int,
    start: float,
    query: Query,
    within: Mapping[int, BoolArray],
) -> FeatureAxes:
    """Return the axes of a feature whose value in the query is ``start``."""
    admissible, cost = query.admissible[index], query.cost
    if feature.one_hot:
        boundaries = [cells.boundary[c] for c in feature.columns]
        axes = category_axes(boundaries, index, feature, int(start), admissible, cost)
        by_column = {c: [axis] for c, axis in zip(feature.columns, axes, strict=False)}
        by_column[feature.columns[-1]] += axes[len(feature.columns) :]
        return FeatureAxes(by_column, None, all(axis.value.max(initial=0.0) < 1 for axis in axes))
    column = feature.column
    if feature.coded:
        options = coded_axis(index, feature, start, admissible, cost)
    else:
        boundary, unsure = cells.boundary[column], (ensemble.unsure or {}).get(column)
        options = ordered_axis(
            boundary, ensemble.dtype, index, feature, start, admissible, cost, unsure
        )
    empty = options.cell.size == 0
    if column not in groups:
        return FeatureAxes({column: [options]}, None, empty)
    group = groups[column]
    if column in within:
        options = options.only(np.flatnonzero(within[column][group.class_of[options.cell]]))
    apart, related = admissible.cuts, False
    if query.related is not None:
        related = index in query.related.features
        if index in query.related.any_number:
            apart = tuple(options.value.tolist())  # of one class, but not of one cell
    # Conditions, sums and joint costs treat a missing value as a separate value.
    classes, axes = class_axes(group, options, apart, related)
    return FeatureAxes({column: axes}, classes, empty)


def _nearest(known: IntArray, codes: IntArray) -> IntArray:
    """For each code the level nearest to it."""
    above = np.minimum(np.searchsorted(known, codes), known.size - 1)
    below = np.maximum(above - 1, 0)
    closer_below = np.abs(codes - known[below]) < np.abs(known[above] - codes)
    return np.where(closer_below, below, above)


def _nearest_classes(axes: Sequence[Axis], classes: IntArray, n_classes: int) -> Iterator[IntArray]:
    """For each class and axis its level, where what can't be chosen becomes the cheapest class."""
    price = np.array([axis.cost[-1] for axis in axes])
    chosen = np.full(n_classes, int(np.argmin(price)))
    dearest_first = np.argsort(-price, kind="stable")  # a class may have several axes
    chosen[classes[dearest_first]] = dearest_first
    for own, axis in enumerate(axes):
        yield np.where(chosen == own, axis.cell.size - 1, 0)
