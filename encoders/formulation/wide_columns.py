"""Columns with very many classes: which of them can be part of anything cheaper than an answer.

Posed as a whole, a thousand classes are a thousand axes, and a leaf has a literal for each class
that does not get there. What they have in common is posed once, without these columns: it bounds
what any class can lead to. A *region* names the classes of each such column that are asked about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, frozen
from encoders.formulation.pose import Posed, pose
from encoders.problem.flat_problem import Tables, tabulate
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from encoders.trees.cells import Cells
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import Group, cell_of

WIDE = 64  # classes of a column that are posed at once; with more, parts are faster
PART = 32  # classes of a part; fewer make more parts, more take longer each
SLICE = 128  # classes that are bounded at once; more need more memory

Region = Mapping[int, BoolArray]  # column -> bool (n_classes,)


@dataclass(frozen=True, eq=False)
class WideColumn:
    """Column that is split into sets, and has many classes.

    Attributes
    ----------
    column : index in the model's order.
    cost : float64 (n_classes,), cost of the cheapest option of each, inf without one. For "sum",
        without the cost of the cheapest class.
    allowed : bool (n_leaves, n_classes), whether a class reaches a leaf.
    """

    column: int
    cost: FloatArray
    allowed: BoolArray


@dataclass(frozen=True, eq=False)
class WideColumns:
    """Columns with many classes, and the problem without them."""

    tables: Tables  # tables of a problem in which their values may be any at each split
    columns: Sequence[WideColumn]  # columns with many classes, at least one

    @property
    def everything(self) -> Region:
        """All classes that can be chosen."""
        return {wide.column: np.isfinite(wide.cost) for wide in self.columns}

    def part(self, region: Region) -> tuple[Region, list[Region]]:
        """Return a region of the most promising classes, and regions of all other classes."""
        rest: list[Region] = []
        for wide, order in zip(self.columns, self._orders, strict=True):
            mask = region[wide.column]
            if mask.sum() > WIDE:
                best = np.zeros_like(mask)
                best[order[mask[order]][:PART]] = True
                rest.append({**region, wide.column: mask & ~best})
                region = {**region, wide.column: best}
        return region, rest

    def holding(self, codes: IntArray) -> Region | None:
        """Classes of some rows, few enough to be posed; None where a column has none of them."""
        region = {}
        for wide in self.columns:
            classes = codes[:, wide.column]
            classes = classes[np.isfinite(wide.cost[classes])]
            first = np.sort(np.unique(classes, return_index=True)[1])[:PART]
            region[wide.column] = np.isin(np.arange(wide.cost.size), classes[first])
        return region if all(mask.any() for mask in region.values()) else None

    def narrowed(self, region: Region, upper: float) -> Region | None:
        """Return the classes that a choice that costs less can use; None if there are none."""
        kept, live = {}, np.ones(self._extra.size, dtype=np.bool_)
        for wide in self.columns:
            live &= wide.allowed[:, region[wide.column]].any(axis=1)
        for wide in self.columns:
            mask = region[wide.column].copy()
            others = [w.cost[region[w.column]].min() for w in self.columns if w is not wide]
            whole = self._joined(self.tables.base, wide.cost, *others)
            mask &= whole < upper
            mask[mask] = self._fits(wide.allowed[:, mask], whole[mask], live, upper)
            if not mask.any():
                return None
            kept[wide.column] = mask
        return kept

    def _joined(self, *costs: FloatArray | float) -> FloatArray:
        total = np.zeros(1)
        for cost in costs:
            total = np.maximum(total, cost) if self.tables.is_max else total + cost
        return total

    def _fits(
        self, allowed: BoolArray, whole: FloatArray, live: BoolArray, upper: float
    ) -> BoolArray:
        """Return whether the best affordable leaves for each class keep every row, (n_classes,)."""
        t = self.tables
        fits = np.ones(whole.size, dtype=np.bool_)
        for begin in range(0, whole.size, SLICE):
            own = slice(begin, begin + SLICE)
            open_to = allowed[:, own] & live[:, None]
            open_to &= self._joined(whole[own], self._extra[:, None]) < upper
            fits[own] = np.logical_or.reduceat(open_to, t.tree_start[:-1]).all(axis=0)
            for weight, need in zip(t.weight, t.need, strict=True):
                best = np.maximum.reduceat(weight[:, None] * open_to, t.tree_start[:-1])
                fits[own] &= best.sum(axis=0) >= need
        return fits

    @cached_property
    def _extra(self) -> FloatArray:
        """Return the cost of each leaf beyond ``base`` ("sum"), or of its worst axis ("max")."""
        t = self.tables
        extra = np.zeros(t.tree_of.size)
        if t.axis.size:
            first = t.level_start[t.axis]
            ends = np.column_stack([first + t.lo, first + t.hi + 1]).ravel()
            least = np.minimum.reduceat(np.append(t.cost, np.inf), ends)[::2]
            (np.maximum if t.is_max else np.add).at(extra, t.leaf_of, least)
        return extra

    @cached_property
    def _orders(self) -> list[IntArray]:
        """Classes of each column, those first from which the cheapest answers may be expected.

        They are the ones that come nearer to keeping the rows than all that cost less, and then
        the nearest, if nothing else is changed.
        """
        t = self.tables
        wrong = (t.best[t.axis] < t.lo) | (t.best[t.axis] > t.hi)
        active = np.bincount(t.leaf_of[wrong], minlength=t.tree_of.size) == 0
        orders = []
        for wide in self.columns:
            mine = active.copy()
            for other in self.columns:
                mine &= other is wide or other.allowed[:, np.argmin(other.cost)]
            sums = t.weight[:, mine] @ wide.allowed[mine]
            missing = np.maximum(t.need[:, None] - sums, 0).sum(axis=0, dtype=np.float64)
            by_cost = np.lexsort((missing, wide.cost))
            nearest = np.minimum.accumulate(missing[by_cost])
            ahead = np.zeros(missing.size, dtype=np.bool_)
            ahead[by_cost[np.r_[True, missing[by_cost][1:] < nearest[:-1]]]] = True
            orders.append(np.lexsort((wide.cost, missing, ~ahead)))
        return orders


def wide_columns(
    ensemble: Ensemble, cells: Cells, space: FeatureSpace, query: Query
) -> WideColumns | None:
    """Return the columns with too many classes to encode at once, None if there are none."""
    wide = [group for group in cells.groups if group.n_classes > WIDE]
    if not wide:
        return None
    others = tuple(group for group in cells.groups if group not in wide)
    posed = pose(ensemble, replace(cells, groups=others), space, query)
    tables = tabulate(posed.problem)
    return WideColumns(tables, [_wide(group, posed, tables, cells, ensemble) for group in wide])


def _wide(
    group: Group, posed: Posed, tables: Tables, cells: Cells, ensemble: Ensemble
) -> WideColumn:
    axis = int(np.searchsorted(posed.column, group.column))
    levels = slice(int(tables.level_start[axis]), int(tables.level_start[axis + 1]))
    cost = np.full(group.n_classes, np.inf)
    seen = posed.value[levels].astype(ensemble.dtype).astype(np.float64)
    cell = cell_of(cells.boundary[group.column], seen)
    np.minimum.at(cost, group.class_of[cell], tables.cost[levels])
    place = np.full(cells.leaf_start.size - 1, -1, dtype=np.int64)
    place[posed.source] = np.arange(posed.source.size)
    allowed = np.ones((posed.source.size, group.n_classes), dtype=np.bool_)
    known = place[group.leaf] >= 0
    allowed[place[group.leaf[known]]] = group.allowed[known]
    return WideColumn(group.column, frozen(cost), frozen(allowed))
