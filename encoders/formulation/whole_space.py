"""Space of all queries, and where the levels of one query lie in it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from encoders.core.arrays import FloatArray, IntArray, owners, starts
from encoders.formulation.axes import Axis, ordered_axis
from encoders.formulation.layout import Layout, make_layout
from encoders.formulation.pose import pose_layout
from encoders.problem.problem import Problem
from encoders.query.admissible import Admissible
from encoders.query.cost import Cost, make_cost
from encoders.query.features import Feature, FeatureSpace
from encoders.query.goal import Goal
from encoders.query.query import Query
from encoders.trees.cells import Cells
from encoders.trees.ensemble import Ensemble


@dataclass(frozen=True, eq=False)
class Levels:
    """A query's costs and values over the levels of the whole space.

    Attributes
    ----------
    cost : float64 (n_levels,), infinite where the query can't have a level
    value : float64 (n_levels,), what a level stands for; NaN where the query can't have it
    """

    cost: FloatArray
    value: FloatArray


@dataclass(frozen=True, eq=False)
class WholeSpace:
    """Levels of all queries: one per cell of a column with a value within the features' bounds."""

    ensemble: Ensemble  # the ensemble and its companions
    cells: Cells  # cells of the same ensemble; no column is split into sets
    space: FeatureSpace  # features of its columns

    @cached_property
    def layout(self) -> Layout:
        """Axes in the order of the columns; what they cost says nothing."""
        axes: dict[int, Axis] = {}
        for index, feature in enumerate(self.space.features):
            for column in feature.columns:
                axes[column] = self._axis(index, feature, column)
        return Layout(
            axes=[axes[column] for column in range(len(axes))],
            first=np.arange(len(axes) + 1),
            classes={},
            one_hot=[feature.columns for feature in self.space.features if feature.one_hot],
        )

    def _axis(self, index: int, feature: Feature, column: int) -> Axis:
        boundary = self.cells.boundary[column]
        if feature.one_hot:
            value = np.array([0.0, 1.0])
            nothing = np.zeros(2, dtype=np.bool_)
            return Axis(np.searchsorted(boundary, value), value, np.zeros(2), nothing)
        missing = None if self.cells.takes_missing is None else 0.0
        free = Admissible(feature.lower, feature.upper, None, stay=False, missing=missing)
        unsure = (self.ensemble.unsure or {}).get(column)
        dtype, cost = self.ensemble.dtype, self._no_cost
        return ordered_axis(boundary, dtype, index, feature, feature.lower, free, cost, unsure)

    @cached_property
    def _no_cost(self) -> Cost:
        return make_cost(self.space, 0, "none", None)

    @cached_property
    def _place(self) -> IntArray:
        """The level of each cell of each column, or of each value of a category; -1 for none."""
        layout, begin = self.layout, starts(self.cells.n_cells)
        place = np.full(int(begin[-1]), -1, dtype=np.int64)
        own = owners(layout.level_start)
        place[begin[own] + self._cell(layout)] = np.arange(own.size)
        return place

    def _cell(self, layout: Layout) -> IntArray:
        """Return the cell of each level, int64; for one-hot columns, the value 0 or 1 instead."""
        cell = np.concatenate([axis.cell for axis in layout.axes])
        grouped = np.zeros(len(layout.axes), dtype=np.bool_)
        for columns in layout.one_hot:
            grouped[list(columns)] = True
        of_category = np.repeat(grouped, layout.size)
        cell[of_category] = layout.value[of_category].astype(np.int64)
        return cell

    def problem(self, goals: Sequence[Goal], margin: float) -> tuple[Problem, IntArray] | None:
        """Return the whole space with the rows of all goals, and the goal index of each row.

        Return None if leaf rows do not represent every goal exactly.
        """
        row = np.zeros(len(self.cells.boundary))
        each = []
        for goal in goals:
            query = Query(row, goal, self._no_cost, (), (), margin)
            posed = pose_layout(self.ensemble, self.cells, self.space, query, self.layout)
            if posed.relaxation is not None or not posed.problem.exact:
                return None
            each.append(posed.problem)
        rows = tuple(row for problem in each for row in problem.leaf_rows)
        goal_of = np.repeat(np.arange(len(each)), [len(problem.leaf_rows) for problem in each])
        return replace(each[0], leaf_rows=rows), goal_of

    def levels(self, query: Query) -> Levels | None:
        """Return the places and costs of a query's levels; None if some are beyond this space."""
        layout = make_layout(self.ensemble, self.cells, self.space, query, {})
        if not layout.one_per_column:  # a row of zeros
            return None
        begin = starts(self.cells.n_cells)[:-1]
        place = self._place[np.repeat(begin, layout.size) + self._cell(layout)]
        if (place < 0).any():
            return None
        cost = np.full(int(self.layout.level_start[-1]), np.inf)
        value = np.full(cost.size, np.nan)
        cost[place] = np.concatenate([axis.cost for axis in layout.axes])
        value[place] = layout.value
        return Levels(cost, value)

    def decode(self, levels: Levels, choice: IntArray) -> FloatArray:
        """Return the row of a choice, float64 (n_columns,)."""
        row: FloatArray = levels.value[self.layout.level_start[:-1] + choice]
        return row


def why_not_whole(cells: Cells, space: FeatureSpace) -> str:
    """Why the whole space of a model has no such levels, "" if it has."""
    with_codes = [feature.name for feature in space.features if feature.codes]
    if with_codes:
        return f"columns with codes for a missing value ({with_codes[0]}) can't be mapped"
    with_base = [feature.name for feature in space.features if feature.has_base]
    if with_base:
        return f"categories without a column of their own ({with_base[0]}) can't be mapped"
    coded = [feature.name for feature in space.features if feature.coded]
    if cells.groups or coded:
        named = f" ({coded[0]})" if coded else ""
        return f"columns that hold categories as they are{named} can't be mapped"
    return ""
