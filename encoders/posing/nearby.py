"""A question about large trees, posed for what costs at most a radius alone.

Whatever costs at most the radius has only levels that cost at most that, and most leaves of deep
trees hold none of these: they are found by walking down the trees, which looks at few nodes. So a
problem that holds every cheap answer is posed in milliseconds, where all of it would take seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray
from encoders.posing.axes import Axis
from encoders.posing.layout import Layout, make_layout
from encoders.posing.pose import Posed, pose_layout
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from encoders.trees.cells import Cells
from encoders.trees.ensemble import Ensemble

FIRST_SHARE = 1 / 64  # of the levels, in the first radius; the share doubles from one to the next


@dataclass(frozen=True, eq=False)
class Nearby:
    """A question that can be posed within any radius.

    Attributes
    ----------
    ensemble, cells, space, query : as for :func:`encoders.posing.pose.pose`
    layout : of the whole question
    """

    ensemble: Ensemble
    cells: Cells
    space: FeatureSpace
    query: Query
    layout: Layout

    @cached_property
    def _costs(self) -> FloatArray:
        """What levels cost, ascending."""
        return np.sort(np.concatenate([axis.cost for axis in self.layout.axes]))

    def wider(self, radius: float) -> float | None:
        """A radius with about twice as many levels; None where that is the whole question.

        Parameters
        ----------
        radius : less than 0 for the first
        """
        least = int(self._costs.size * FIRST_SHARE)
        held = int(np.searchsorted(self._costs, radius, side="right"))
        place = max(least, min(2 * held, self._costs.size - 1))
        found = float(self._costs[place])
        return found if radius < found < self._costs[-1] else None

    def whole(self) -> Posed:
        """All of the question, as :func:`encoders.posing.pose.pose` has it."""
        return pose_layout(self.ensemble, self.cells, self.space, self.query, self.layout)

    def within(self, radius: float) -> Posed | None:
        """The part of the question that holds every choice of at most this cost; None if empty.

        Parameters
        ----------
        radius : a cost
        """
        axes = [axis.only(np.flatnonzero(axis.cost <= radius)) for axis in self.layout.axes]
        empty = not all(axis.cell.size for axis in axes)
        for columns in self.layout.one_hot:
            own = self.layout.first[list(columns)].tolist()
            empty |= not any((axes[at].value == 1).any() for at in own)
        if empty:
            return None
        layout = replace(self.layout, axes=axes)
        leaves = self._reached(axes)
        cells = self.cells.only(leaves)
        posed = pose_layout(self.ensemble, cells, self.space, self.query, layout)
        return replace(posed, source=leaves[posed.source])

    def _reached(self, axes: list[Axis]) -> IntArray:
        """Leaves that may hold a row of these levels, and maybe others, int64 ascending."""
        ensemble = self.ensemble
        low, high, unsure = self._ends(axes)
        node, found = ensemble.root, []
        while node.size:
            column = ensemble.column[node]
            inner = column >= 0
            found.append(node[~inner])
            node, column = node[inner], column[inner]
            last, both = ensemble.last_left[node], unsure[column]
            left = (low[column] <= last) | both
            right = (high[column] > last) | both
            node = np.concatenate([ensemble.left[node[left]], ensemble.right[node[right]]])
        ends = np.sort(np.concatenate(found))
        place = np.searchsorted(self.cells.node, ends)
        known = place < self.cells.node.size
        known[known] = self.cells.node[place[known]] == ends[known]
        return place[known]  # those that no value gets to have been left out of the cells

    def _ends(self, axes: list[Axis]) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Least and largest value of each column, as the model reads them; and whether both sides
        of each of its splits are taken: it may be missing, or is split into sets."""
        first, n_columns = self.layout.first, self.layout.first.size - 1
        low, high = np.full(n_columns, -np.inf), np.full(n_columns, np.inf)
        unsure = np.zeros(n_columns, dtype=np.bool_)
        for column in range(n_columns):
            values = axes[first[column]].value.astype(self.ensemble.dtype).astype(np.float64)
            unsure[column] = column in self.layout.classes or bool(np.isnan(values).any())
            low[column], high[column] = values.min(), values.max()
        return low, high, unsure


def nearby(
    ensemble: Ensemble,
    cells: Cells,
    space: FeatureSpace,
    query: Query,
    within: Mapping[int, BoolArray],
) -> Nearby:
    """Ready a question to be posed within radii.

    Parameters
    ----------
    ensemble, cells, space, query, within : as for :func:`encoders.posing.pose.pose`

    Raises
    ------
    InputError
        Constraints, bounds and cost tables that leave a feature no value.
    """
    return Nearby(ensemble, cells, space, query, make_layout(ensemble, cells, space, query, within))
