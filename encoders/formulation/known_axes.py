"""Axes of earlier queries of a model, which later queries with the same values share.

Most columns of a table have few distinct values, so most axes of a batch are known.
"""

import struct
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from encoders.formulation.layout import FeatureAxes
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from encoders.trees.cells import Cells
from encoders.trees.ensemble import Ensemble

MOST_LEVELS = 200_000  # levels that are kept: 25 bytes each, so 5 MB


@dataclass(frozen=True, eq=False)
class KnownAxes:
    """Axes by feature, value in the query, admissible values and cost; thread safe.

    Attributes
    ----------
    ensemble, cells, space : trees and features that all axes depend on.
    """

    ensemble: Ensemble
    cells: Cells
    space: FeatureSpace
    _known: dict[Hashable, FeatureAxes] = field(default_factory=dict)
    _sizes: list[int] = field(default_factory=lambda: [0])  # levels of all entries

    def fits(self, ensemble: Ensemble, cells: Cells, space: FeatureSpace) -> bool:
        """Return whether the axes are those of a model."""
        return self.ensemble is ensemble and self.cells is cells and self.space is space

    def of(
        self, index: int, start: float, query: Query, compute: Callable[[], FeatureAxes]
    ) -> FeatureAxes:
        """Return the axes of a feature; see :data:`encoders.formulation.layout.AxesOf`."""
        cost = query.cost
        if query.related is not None or cost.own[index] is not None:
            return compute()  # a user's function may return other costs at each call
        # The bits of the value, because NaN equals nothing, and 0.0 equals -0.0.
        bits = struct.pack("d", start)
        cost_key = cost.power, cost.unit[index], cost.weight[index]
        key = index, bits, query.admissible[index], cost_key
        axes = self._known.get(key)
        if axes is None:
            axes = compute()
            self._keep(key, axes)
        return axes

    def _keep(self, key: Hashable, axes: FeatureAxes) -> None:
        size = sum(axis.cell.size for several in axes.by_column.values() for axis in several)
        if self._sizes[0] + size > MOST_LEVELS:
            self._known.clear()
            self._sizes[0] = 0
        self._sizes[0] += size  # threads may count an entry twice, or lose one of them
        self._known[key] = axes
