"""Queries about additive models: a cheap choice, and the levels that cheaper ones may have.

Trees of one or two columns, such as the terms of explainable boosting machines, are tables. A walk
over the tables finds a nearly optimal choice, and a bound excludes most levels, before anything is
encoded.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from encoders.core.arrays import FloatArray, IntArray, frozen, read_only
from encoders.formulation.goal_rows import goal_rows
from encoders.formulation.layout import Layout
from encoders.query.query import Query
from encoders.trees.cells import Cells
from encoders.trees.ensemble import Ensemble
from encoders.trees.terms import Terms, tabulate_terms

if TYPE_CHECKING:  # the search is compiled, and numba takes a while to import
    from encoders.trees.term_search import TermLevels

EXACT = 2.0**50  # sums of weights below it are exact in float64, and halves of them
WALKS = (1.0, 1.5, 2.0)  # exponents of the gain: with larger ones a walk prefers large gains
MOST_GOALS = 8  # whose rows are kept: computing one takes as long as the walks


class _GoalRow(NamedTuple):
    """Leaf row of a goal: the weight of each table entry and the least sum of them."""

    value: FloatArray
    need: float


@dataclass(frozen=True, eq=False)
class Additive:
    """Additive model, with the rows of recent goals."""

    ensemble: Ensemble
    cells: Cells
    terms: Terms
    leaf: IntArray  # leaf of each table entry, int64
    rows: dict[Any, tuple[_GoalRow | None]] = field(default_factory=dict)

    def row(self, query: Query) -> _GoalRow | None:
        """Return the row of a query's goal, None if the goal has several or its sums are large."""
        key = query.goal, query.margin
        entry = self.rows.get(key)
        if entry is None:
            entry = (self._row(query),)
            if len(self.rows) >= MOST_GOALS:
                self.rows.clear()
            self.rows[key] = entry
        return entry[0]

    def _row(self, query: Query) -> _GoalRow | None:
        cells = self.cells
        score = cells.score(np.arange(cells.node.size))
        (row, *more), _ = goal_rows(
            score, cells.tree_start, self.ensemble, query.goal, query.margin
        )
        if more or max(row.largest(cells.tree_start), abs(row.minimum)) > EXACT:
            return None
        return _GoalRow(frozen(row.weight[self.leaf].astype(np.float64)), float(row.minimum))


def additive(ensemble: Ensemble, cells: Cells) -> Additive | None:
    """Return the tables of an additive model, None for any other."""
    tables = None if ensemble.companions else tabulate_terms(cells)
    return None if tables is None else Additive(ensemble, cells, *tables)


@dataclass(frozen=True, eq=False)
class AdditiveQuery:
    """Query about an additive model whose costs are added up."""

    terms: Terms
    row: _GoalRow
    layout: Layout
    query: Query

    @cached_property
    def choice(self) -> tuple[float, FloatArray] | None:
        """Cost and row of some choice that the trees assign to the target, or None."""
        from encoders.trees.term_search import walk

        choices, levels = [], self._levels
        is_change = np.concatenate([axis.changed for axis in self.layout.axes])
        most = min((limit.count for limit in self.query.max_changes), default=np.inf)
        for power in WALKS:
            point = levels.cheapest.copy()
            # A walk does not count changes.
            if walk(self.terms, levels, *self.row, power, point) and is_change[point].sum() <= most:
                choices.append((float(levels.cost[point].sum()), self.layout.value[point]))
        return min(choices, key=lambda pair: pair[0], default=None)

    def within(self, radius: float) -> Layout | None:
        """Return the layout with all levels of choices within a radius; None if there is none."""
        from encoders.trees.term_search import drop_levels

        keep = np.ones(self.layout.level_start[-1], dtype=np.bool_)
        drop_levels(self.terms, self._levels, *self.row, radius, keep)
        return self.layout.only(keep)

    @cached_property
    def _levels(self) -> "TermLevels":
        from encoders.trees.term_search import TermLevels

        axes, start = self.layout.axes, self.layout.level_start
        return TermLevels(
            start=read_only(start),
            cell=read_only(np.concatenate([axis.cell for axis in axes])),
            cost=read_only(np.concatenate([axis.cost for axis in axes])),
            cheapest=read_only(start[:-1] + np.array([axis.cost.argmin() for axis in axes])),
        )


def additive_query(model: Additive | None, layout: Layout, query: Query) -> AdditiveQuery | None:
    """Return a query as one about tables, None if it is more than costs and one leaf row."""
    several = not layout.one_per_column or layout.one_hot or layout.classes
    if model is None or several or query.cost.aggregate != "sum":
        return None
    row = model.row(query)
    return None if row is None else AdditiveQuery(model.terms, row, layout, query)
