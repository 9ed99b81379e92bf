"""Encodings of earlier queries of a model, which later queries share.

Queries of one batch often have axes with the same cells: then their boxes are the same, and only
costs and values differ.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np

from encoders.core.arrays import frozen
from encoders.core.errors import Over, never
from encoders.formulation.known_axes import KnownAxes
from encoders.formulation.layout import AxesOf, Layout, make_layout
from encoders.formulation.pose import Posed, pose_layout, sparsity
from encoders.problem.flat_problem import priced
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from encoders.trees.cells import Cells
from encoders.trees.ensemble import Ensemble

MOST = 4  # encodings that are kept, one per goal; with 10,000 leaves each has up to 4 MB


@dataclass(frozen=True, eq=False)
class Encodings:
    """Last encoding of each goal, and known axes; thread safe, and empty in pickled copies."""

    _known: dict[Hashable, tuple[tuple[bytes, ...], Posed]] = field(default_factory=dict)
    _axes: list[KnownAxes] = field(default_factory=list)  # of the last model, at most one
    _turn: Lock = field(default_factory=Lock)  # of threads that store an encoding

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made: without encodings."""
        return Encodings, ()

    def pose(
        self,
        ensemble: Ensemble,
        cells: Cells,
        space: FeatureSpace,
        query: Query,
        over: Over = never,
    ) -> Posed:
        """Return the encoding of a query; see :func:`encoders.formulation.pose.pose`."""
        axes_of = self._axes_of(ensemble, cells, space)
        layout = make_layout(ensemble, cells, space, query, {}, over, axes_of)
        if query.related is not None:
            return pose_layout(ensemble, cells, space, query, layout, over=over)
        key = (ensemble, cells, query.goal, query.margin, query.cost.aggregate)
        axes = _cells_of(layout)
        earlier = self._known.get(key)
        if earlier is not None and earlier[0] == axes:
            return _with_costs(earlier[1], cells, space, query, layout)
        posed = pose_layout(ensemble, cells, space, query, layout, over=over)
        with self._turn:
            self._known.pop(key, None)
            while len(self._known) >= MOST:
                del self._known[next(iter(self._known))]
            self._known[key] = axes, posed
        return posed

    def _axes_of(self, ensemble: Ensemble, cells: Cells, space: FeatureSpace) -> AxesOf:
        """Return the function that knows the axes of earlier queries of a model."""
        memory = next(iter(self._axes), None)
        if memory is None or not memory.fits(ensemble, cells, space):
            memory = KnownAxes(ensemble, cells, space)
            self._axes[:] = [memory]
        return memory.of


def _with_costs(
    posed: Posed, cells: Cells, space: FeatureSpace, query: Query, layout: Layout
) -> Posed:
    """Return an encoding with the costs and values of another query."""
    cost = frozen(np.concatenate([axis.cost for axis in layout.axes]))
    problem = priced(posed.problem, cost, sparsity(layout, query, space))
    # Rows of classes that cannot be chosen are read as the cheapest class.
    nearest = tuple(layout.nearest(cells)) if layout.classes else posed.nearest
    return replace(posed, problem=problem, value=frozen(layout.value), nearest=nearest)


def _cells_of(layout: Layout) -> tuple[bytes, ...]:
    """Return what the boxes of an encoding depend on, beside the trees."""
    cells = np.concatenate([axis.cell for axis in layout.axes])
    grouped = [layout.axes[at].value for each in layout.one_hot for at in layout.axes_of(each)]
    classes = layout.classes.values()
    return tuple(
        part.tobytes() for part in (layout.level_start, layout.first, cells, *grouped, *classes)
    )
