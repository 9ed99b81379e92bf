"""Options of each feature in an action on several rows, and the effect of each on a row.

An option of a number is to leave it, raise it to at least a limit, or lower it to at most one.
Rows beyond the limit stay as they are. An option of a category is to leave it, or to change it to
another one. Missing values stay missing.

Limits in one cell are represented by its first number (for "at most" by its last). All rows end in
the same cells, and none moves further. So a few limits suffice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray
from encoders.formulation.axes import ordered_axis
from encoders.query.features import Feature, same
from encoders.query.query import Query
from encoders.trees.cells import Cells
from encoders.trees.ensemble import Ensemble

Way = Literal["none", "at most", "at least", "becomes"]


@dataclass(frozen=True, eq=False)
class Options:
    """Options of one feature, and the effect of each on each row.

    Those of a number are ordered such that no row's value falls from one to the next: "at most" by
    ascending limit, "none", "at least" by ascending limit.
    """

    way: tuple[Way, ...]  # one per option
    limit: FloatArray  # float64 (n_options,), a number or the index of a category; NaN of "none"
    value: FloatArray  # float64 (n_rows, n_options), values as in :meth:`FeatureSpace.values`
    cost: FloatArray  # float64 (n_rows, n_options)
    fits: BoolArray  # bool (n_rows, n_options), whether the value is admissible
    moves: BoolArray  # bool (n_rows, n_options), whether it differs from the row's own

    @property
    def none(self) -> int:
        """The option that leaves every row as it is."""
        return self.way.index("none")


def options_of(
    index: int,
    feature: Feature,
    ensemble: Ensemble,
    cells: Cells,
    queries: Sequence[Query],
    own: FloatArray,
) -> Options:
    """All options of a feature that matter."""
    if feature.kind == "categorical":
        ways, limit, value = _categories(index, feature, queries, own)
    else:
        ways, limit, value = _numbers(index, feature, ensemble, cells, queries, own)
    moves = ~same(own[:, None], value)
    cost, fits = np.empty(value.shape), np.empty(value.shape, dtype=np.bool_)
    for row, query in enumerate(queries):
        admissible = query.admissible[index]
        start = float(own[row])
        cost[row] = query.cost.of(index, feature, start, value[row], admissible)
        within = (admissible.lower <= value[row]) & (value[row] <= admissible.upper)
        if admissible.values is not None:
            within &= np.isin(value[row], admissible.values)
        if feature.codes:
            within &= ~np.isin(value[row], feature.codes)
        fits[row] = np.where(moves[row], within, admissible.stay)
    return Options(ways, limit, value, cost, fits, moves)


def _numbers(
    index: int,
    feature: Feature,
    ensemble: Ensemble,
    cells: Cells,
    queries: Sequence[Query],
    own: FloatArray,
) -> tuple[tuple[Way, ...], FloatArray, FloatArray]:
    below: set[float] = set()
    above: set[float] = set()
    boundary, unsure = cells.boundary[feature.column], (ensemble.unsure or {}).get(feature.column)
    for start, query in zip(own.tolist(), queries, strict=True):
        if start != start or start in feature.codes:
            continue
        admissible = replace(query.admissible[index], codes=())
        if admissible.values is not None:  # staying within a cell may not be enough
            cuts = sorted({*admissible.values, *admissible.cuts})
            admissible = replace(admissible, cuts=tuple(cuts))
        axis = ordered_axis(
            boundary, ensemble.dtype, index, feature, start, admissible, query.cost, unsure
        )
        below.update(axis.value[axis.value < start].tolist())
        above.update(axis.value[axis.value > start].tolist())
    down, up = np.array(sorted(below)), np.array(sorted(above))
    lower: list[Way] = ["at most"] * down.size
    higher: list[Way] = ["at least"] * up.size
    column = own[:, None]
    moved = np.hstack([np.minimum(column, down[None, :]), column, np.maximum(column, up[None, :])])
    is_code = np.isin(own, feature.codes)
    moved[is_code] = column[is_code]
    return (*lower, "none", *higher), np.concatenate([down, [np.nan], up]), moved


def _categories(
    index: int, feature: Feature, queries: Sequence[Query], own: FloatArray
) -> tuple[tuple[Way, ...], FloatArray, FloatArray]:
    known = np.arange(len(feature.labels), dtype=np.float64)
    if feature.values:
        known = known[np.isin(known, feature.values)]
    able = np.zeros(known.size, dtype=np.bool_)
    for query in queries:
        admissible = query.admissible[index]
        within = (admissible.lower <= known) & (known <= admissible.upper)
        able |= within if admissible.values is None else within & np.isin(known, admissible.values)
    told = known[able]
    value = np.hstack([own[:, None], np.tile(told, (own.size, 1))])
    value[np.isnan(own)] = np.nan
    others: list[Way] = ["becomes"] * told.size
    return ("none", *others), np.concatenate([[np.nan], told]), value
