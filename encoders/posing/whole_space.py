"""All that any query could choose from, and where the levels of one query lie in it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray
from encoders.posing.axes import Axis
from encoders.posing.layout import Layout, make_layout
from encoders.posing.pose import pose_layout
from encoders.problem.problem import Problem
from encoders.query.cost import make_cost
from encoders.query.features import FeatureSpace
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
    """One level for each cell of each column, whatever a query admits.

    Attributes
    ----------
    ensemble : with its companions
    cells : of the same ensemble; no column is split into sets
    space : features of its columns
    """

    ensemble: Ensemble
    cells: Cells
    space: FeatureSpace

    @cached_property
    def layout(self) -> Layout:
        """Axes in the order of the columns; they cost nothing."""
        n_columns = len(self.cells.boundary)
        return Layout(
            axes=[self._axis(column) for column in range(n_columns)],
            first=np.arange(n_columns + 1),
            classes={},
            one_hot=[feature.columns for feature in self.space.features if feature.one_hot],
        )

    @cached_property
    def _categories(self) -> BoolArray:
        """Columns that are one category each."""
        found = np.zeros(len(self.cells.boundary), dtype=np.bool_)
        for columns in self.layout.one_hot:
            found[list(columns)] = True
        return found

    def _axis(self, column: int) -> Axis:
        boundary = self.cells.boundary[column]
        if any(column in feature.columns for feature in self.space.features if feature.one_hot):
            value = np.array([0.0, 1.0])
            cell = np.searchsorted(boundary, value).astype(np.int64)
        else:
            missing = self.cells.takes_missing is not None
            cell = np.arange(boundary.size + 1 + missing)
            value = np.zeros(cell.size)
        return Axis(cell, value, np.zeros(cell.size), np.zeros(cell.size, dtype=np.bool_))

    def problem(self, goals: Sequence[Goal], margin: float) -> tuple[Problem, IntArray] | None:
        """The whole space with the rows of some goals, and which goal each row is of.

        None where rows over leaves do not say all of a goal.

        Parameters
        ----------
        goals : classes, or limits of a number
        margin : in the user's score unit
        """
        row, cost = np.zeros(len(self.cells.boundary)), make_cost(self.space, 1, "none", None)
        each = []
        for goal in goals:
            query = Query(row, goal, cost, (), (), margin)
            posed = pose_layout(self.ensemble, self.cells, self.space, query, self.layout)
            if posed.relaxation is not None or not posed.problem.exact:
                return None
            each.append(posed.problem)
        rows = tuple(row for problem in each for row in problem.leaf_rows)
        goal_of = np.repeat(np.arange(len(each)), [len(problem.leaf_rows) for problem in each])
        return replace(each[0], leaf_rows=rows), goal_of

    def levels(self, query: Query) -> Levels:
        """Where a query's levels lie, and what they cost.

        Parameters
        ----------
        query : without relations, which part cells

        Raises
        ------
        NothingAdmissibleError
            Constraints, bounds and cost tables that leave a feature no value.
        """
        layout = make_layout(self.ensemble, self.cells, self.space, query, {})
        cell = np.concatenate([axis.cell for axis in layout.axes])
        own = np.repeat(np.arange(layout.size.size), layout.size)
        of_category = self._categories[own]
        cell[of_category] = layout.value[of_category].astype(np.int64)
        place: IntArray = self.layout.level_start[own] + cell
        cost = np.full(int(self.layout.level_start[-1]), np.inf)
        value = np.full(cost.size, np.nan)
        cost[place] = np.concatenate([axis.cost for axis in layout.axes])
        value[place] = layout.value
        return Levels(cost, value)

    def decode(self, levels: Levels, choice: IntArray) -> FloatArray:
        """The row of a choice, float64 (n_columns,).

        Parameters
        ----------
        levels : of the query
        choice : int64 (n_columns,), levels that the query can have
        """
        row: FloatArray = levels.value[self.layout.level_start[:-1] + choice]
        return row


def why_not_whole(cells: Cells, space: FeatureSpace) -> str:
    """Why the whole space of a model has no such levels, "" if it has.

    Parameters
    ----------
    cells : of the model
    space : features of its columns
    """
    coded = [feature.name for feature in space.features if feature.coded]
    if cells.groups or coded:
        named = f" ({coded[0]})" if coded else ""
        return f"columns that hold categories as they are{named} can't be mapped"
    return ""
