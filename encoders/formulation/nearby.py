"""Encoding of a query about large trees, limited to a radius.

Choices that cost at most the radius have only levels that cost at most that. Most leaves of deep
trees hold none of these levels. The others are found by walking down the trees, which visits few
nodes. So a problem with every cheap answer is encoded in milliseconds, the whole one in seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, read_only, runs, starts
from encoders.core.errors import Over, look, never
from encoders.formulation.additive import Additive, AdditiveQuery, additive_query
from encoders.formulation.axes import Axis
from encoders.formulation.layout import Layout, make_layout
from encoders.formulation.literals import level_range, place_literals
from encoders.formulation.pose import Posed, pose_layout
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from encoders.trees.cells import Cells
from encoders.trees.ensemble import Ensemble

if TYPE_CHECKING:  # ways are compiled, and numba takes a while to import
    from encoders.trees.ways import Levels

FIRST_SHARE = 1 / 64  # of the levels, in the first radius; the share doubles from one to the next
# Levels whose costs are sorted for radii, 10 ms; all ten millions of a very large forest take 1 s.
MOST_SORTED = 100_000
# Nodes of trees that are walked in one call, which takes a tenth of a second at most.
MANY_NODES = 2_000_000
MOST_LEAVES = 0.25  # share of the leaves from which on all are encoded
ADDED_UP = 1e-9  # of a radius: far above what sums of costs along a way can be off by


@dataclass(frozen=True, eq=False)
class Nearby:
    """Query that can be encoded within any radius.

    Attributes
    ----------
    ensemble, cells, space, query : arguments of :func:`encoders.formulation.pose.pose`.
    layout : layout of the whole query.
    model : tables of an additive model, else None.
    over : function that returns whether to stop encoding with :class:`OutOfTimeError`
    """

    ensemble: Ensemble
    cells: Cells
    space: FeatureSpace
    query: Query
    layout: Layout
    model: Additive | None = None
    over: Over = never

    @cached_property
    def _additive(self) -> AdditiveQuery | None:
        return additive_query(self.model, self.layout, self.query)

    @property
    def choice(self) -> tuple[float, FloatArray] | None:
        """Cost and row of a choice that is found without encoding, None without one."""
        return None if self._additive is None else self._additive.choice

    @cached_property
    def _costs(self) -> FloatArray:
        """Return ascending costs of levels; if very many, a regular sample and the largest."""
        every = np.concatenate([axis.cost for axis in self.layout.axes])
        return np.sort(np.append(every[:: -(-every.size // MOST_SORTED)], every.max()))

    def wider(self, radius: float) -> float | None:
        """Return a radius with about twice as many levels, None if that is the whole query."""
        least = int(self._costs.size * FIRST_SHARE)
        held = int(np.searchsorted(self._costs, radius, side="right"))
        place = max(least, min(2 * held, self._costs.size - 1))
        found = float(self._costs[place])
        return found if radius < found < self._costs[-1] else None

    def further(self, radius: float) -> float | None:
        """Return twice a radius, or None if most leaves may hold a row of that cost."""
        few = radius > 0 and self.count(2 * radius) < MOST_LEAVES * self.cells.node.size
        return 2 * radius if few else None

    def whole(self) -> Posed:
        """All of the question, as :func:`encoders.formulation.pose.pose` has it."""
        return pose_layout(
            self.ensemble, self.cells, self.space, self.query, self.layout, over=self.over
        )

    def around(self, radius: float, most: float = np.inf) -> Posed | None:
        """Encode the part of the query without levels that cost more than ``radius``, or None."""
        layout = self.layout.within(radius)
        return None if layout is None else self._posed(layout, self._limit(most), self.over)

    def within(self, radius: float) -> Posed | None:
        """Encode a part of the query with all choices of cost at most ``radius``, or None."""
        layout = (self._additive or self.layout).within(radius)
        if layout is None:
            return None
        posed, limit = self._posed(layout, self._limit(radius), self.over), self._limit(radius)
        if limit == np.inf:
            return posed
        parted, additive = partial(self._posed, layout, np.inf), self.choice is not None
        return posed and replace(posed, parted=parted, additive=additive)

    def count(self, radius: float) -> int:
        """Leaves that a choice of at most this cost may lie in."""
        layout = self.layout.within(radius)
        return 0 if layout is None else self._reached(layout, self._limit(radius), self.over).size

    def _limit(self, radius: float) -> float:
        """Return the limit on the sum of levels' costs; inf where only the largest counts."""
        return np.inf if self.query.cost.aggregate == "max" else radius + ADDED_UP * radius

    def _posed(self, layout: Layout, limit: float, over: Over) -> Posed | None:
        """Encode only these levels and the leaves reachable at a cost of at most ``limit``."""
        leaves = self._reached(layout, limit, over)
        look(over)
        cells = self.cells.only(leaves)
        look(over)
        axes = list(layout.axes)
        for at, axis in zip(layout.first[:-1].tolist(), _told_apart(layout, cells), strict=True):
            axes[at] = axis
        layout = replace(layout, axes=axes)
        placed = place_literals(cells, layout, over)
        if not held_by_all(cells.tree_start, placed.source):
            return None
        posed = pose_layout(self.ensemble, cells, self.space, self.query, layout, placed, over)
        return replace(posed, source=leaves[posed.source])

    def _reached(self, layout: Layout, limit: float, over: Over) -> IntArray:
        """Leaves that may hold a row of these levels at such a cost, maybe others; ascending."""
        # Compiled: numba is imported with it.
        from encoders.trees.ways import leaves_within

        ensemble, levels = self.ensemble, self._levels(layout)
        # The walk adds what a leaf's columns cost beyond their least cost.
        base = float(sum(levels.least)) if limit < np.inf else 0.0
        begin = np.append(ensemble.root, ensemble.column.size)
        found, first = [], 0
        while first < ensemble.root.size:
            look(over)
            # As many trees as have not too many nodes together, one at least.
            last = int(np.searchsorted(begin, begin[first] + MANY_NODES, side="right")) - 1
            last = max(last, first + 1)
            room = np.empty(begin[last] - begin[first], dtype=np.int64)
            root = read_only(ensemble.root[first:last])
            count = leaves_within(ensemble.splits, root, levels, base, limit, room)
            found.append(room[:count].copy())
            first = last
        ends = np.sort(np.concatenate(found))
        place = np.searchsorted(self.cells.node, ends)
        known = place < self.cells.node.size
        known[known] = self.cells.node[place[known]] == ends[known]
        return place[known]  # those that no value gets to have been left out of the cells

    def _levels(self, layout: Layout) -> "Levels":
        """Return the values and costs of the axes, in the form for walks through the trees.

        Both sides of each split of a column are taken where it may be missing.
        """
        from encoders.trees.ways import Levels

        axes = first_axes(layout)
        value = [axis.value.astype(self.ensemble.dtype).astype(np.float64) for axis in axes]
        least = np.array([axis.cost.min() for axis in axes])
        for column in layout.classes:
            least[column] = class_costs(layout, column).min()
        sides = self._costs_of_sets(layout)
        return Levels(
            start=starts(np.array([axis.cell.size for axis in axes])),
            value=np.concatenate(value),
            below=np.concatenate([np.minimum.accumulate(axis.cost) for axis in axes]),
            above=np.concatenate([np.minimum.accumulate(axis.cost[::-1])[::-1] for axis in axes]),
            both=np.array([bool(np.isnan(own[-1]) or (own[1:] < own[:-1]).any()) for own in value]),
            least=least,
            left=sides[0],
            right=sides[1],
        )

    def _costs_of_sets(self, layout: Layout) -> FloatArray:
        """Return the least cost of a class that each set sends left, and of one it sends right.

        The result is float64 (2, n_sets), inf if no class of the layout goes there.
        """
        n_sets = 0 if self.ensemble.sets is None else self.ensemble.sets.first.size
        sides = np.zeros((2, n_sets))
        for column, (sets, members) in self._members.items():
            cost = class_costs(layout, column)
            goes_left = members[:, layout.classes[column]]
            sides[0, sets] = np.where(goes_left, cost, np.inf).min(axis=1)
            sides[1, sets] = np.where(goes_left, np.inf, cost).min(axis=1)
        return sides

    @cached_property
    def _members(self) -> dict[int, tuple[IntArray, BoolArray]]:
        """Sets of each column, and which classes each sends left, bool (n_sets, n_classes)."""
        sets, members = self.ensemble.sets, {}
        if sets is None:
            return {}
        for group in self.cells.groups:
            used = self.ensemble.sets_of_column[group.column]
            _, cell = np.unique(group.class_of, return_index=True)
            members[group.column] = used, sets.members(group.column, used)[:, cell]
        return members


def first_axes(layout: Layout) -> list[Axis]:
    """Return the axes that leaves look at, one of each column."""
    return [layout.axes[at] for at in layout.first[:-1].tolist()]


def class_costs(layout: Layout, column: int) -> FloatArray:
    """Return the cost of each class of a column that is split into sets, float64 (n_classes,)."""
    axes = layout.axes[layout.first[column] : layout.first[column + 1]]
    return np.array([axis.cost[-1] for axis in axes])


def _told_apart(layout: Layout, cells: Cells) -> list[Axis]:
    """Keep the query's levels, and the cheapest of neighbours that are in the same leaves."""
    axes = first_axes(layout)
    start = starts(np.array([axis.cell.size for axis in axes]))
    if start[-1] <= cells.column.size:  # not much would be merged
        return axes
    cost = np.concatenate([axis.cost for axis in axes])
    lo, end = level_range(cells, axes)
    cut = np.zeros(cost.size + 1, dtype=np.bool_)
    for at in (start, lo, end):
        cut[at] = True
    missing = np.isnan(np.concatenate([axis.value for axis in axes]))
    cut[:-1] |= missing
    segment = np.cumsum(cut[:-1]) - 1
    least = np.minimum.reduceat(cost, np.flatnonzero(cut[:-1]))
    cheap = np.flatnonzero(cost == least[segment])
    kept = ~np.concatenate([axis.changed for axis in axes])
    kept[cheap[np.diff(segment[cheap], prepend=-1) > 0]] = True
    for column in (*layout.classes, *(each for columns in layout.one_hot for each in columns)):
        kept[start[column] : start[column + 1]] = True
    return [
        axis.only(np.flatnonzero(kept[first:last]))
        for axis, (first, last) in zip(axes, runs(start), strict=True)
    ]


def held_by_all(tree_start: IntArray, leaves: IntArray) -> bool:
    """Return whether each tree has one of the leaves."""
    return bool((np.diff(np.searchsorted(leaves, tree_start)) > 0).all())


def nearby(
    ensemble: Ensemble,
    cells: Cells,
    space: FeatureSpace,
    query: Query,
    within: Mapping[int, BoolArray],
    model: Additive | None = None,
    over: Over = never,
) -> Nearby:
    """Ready a question to be posed within radii."""
    layout = make_layout(ensemble, cells, space, query, within, over)
    return Nearby(ensemble, cells, space, query, layout, model, over)
