"""The levels of each axis for one query: a value, a cell and a cost per option."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.query.admissible import Admissible
from encoders.query.cost import Cost, table_values
from encoders.query.features import Feature
from encoders.trees.input_type import last_read_as

# Levels of an ordinal feature that a user's function prices one by one; where there are more, the
# value nearest to the query stands for its cell.
MOST_PRICED = 10_000


@dataclass(frozen=True, eq=False)
class Axis:
    """Options of one column, by ascending cell.

    Attributes
    ----------
    cell : int64 (n_levels,), non-decreasing
    value : float64 (n_levels,), what the column is set to
    cost : float64 (n_levels,)
    changed : bool (n_levels,), counts as a change of the feature
    """

    cell: IntArray
    value: FloatArray
    cost: FloatArray
    changed: np.ndarray[Any, np.dtype[np.bool_]]


def ordered_axis(
    boundary: FloatArray,
    dtype: np.dtype[Any],
    index: int,
    feature: Feature,
    start: float,
    admissible: Admissible,
    cost: Cost,
) -> Axis:
    """One level per cell that holds an admissible value: the cheapest such value.

    Parameters
    ----------
    boundary : ascending last values of the cells, as in :class:`encoders.trees.cells.Cells`
    dtype : the model's input type
    index : of the feature
    feature : numeric, ordinal or binary
    start : the query's value
    admissible : what it may become
    cost : of moving it

    Raises
    ------
    InputError
        A cost that is no number, or out of its range.
    """
    listed = _listed_values(index, feature, start, admissible, cost)
    own_cell = int(np.searchsorted(boundary, _cast(start, dtype)))
    if listed is not None:
        value = listed
        cell = np.searchsorted(boundary, _cast(value, dtype))
    else:
        low, high = _cell_limits(boundary, dtype, admissible, feature.kind == "ordinal")
        value = np.clip(start, low, high)
        cell = np.flatnonzero(low <= high)
        value = value[cell]
        if admissible.stay:
            cell, value = _with_own(cell, value, own_cell, start)
    price = cost.of(index, feature, start, value)
    order = np.lexsort((np.abs(value - start), price, cell))
    first = order[np.r_[True, np.diff(cell[order]) > 0]] if order.size else order
    return Axis(
        cell=cell[first].astype(np.int64),
        value=value[first],
        cost=price[first],
        changed=value[first] != start,
    )


def _cast(values: float | FloatArray, dtype: np.dtype[Any]) -> FloatArray:
    """What the model sees of a value."""
    return np.asarray(values, dtype=np.float64).astype(dtype).astype(np.float64)


def _cell_limits(
    boundary: FloatArray, dtype: np.dtype[Any], admissible: Admissible, whole: bool
) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest admissible number that the model takes for one of each cell.

    Numbers are float64 whatever the model reads: bounds, and what the user may enter, need not be
    values of its input type.
    """
    last = last_read_as(boundary, dtype)
    low = np.concatenate([[float(np.finfo(dtype).min)], np.nextafter(last, np.inf)])
    high = np.concatenate([last, [float(np.finfo(dtype).max)]])
    low = np.maximum(low, admissible.lower)
    high = np.minimum(high, admissible.upper)
    return (np.ceil(low), np.floor(high)) if whole else (low, high)


def _with_own(
    cell: IntArray, value: FloatArray, own_cell: int, start: float
) -> tuple[IntArray, FloatArray]:
    """In its own cell the query stays exactly as it is, representable or not."""
    others = cell != own_cell
    return np.append(cell[others], own_cell), np.append(value[others], start)


def _listed_values(
    index: int, feature: Feature, start: float, admissible: Admissible, cost: Cost
) -> FloatArray | None:
    """The admissible values where they are a list, else None (an interval of numbers)."""
    lists = [set(v) for v in (feature.values, admissible.values) if v]
    table = cost.table(index)
    if table is not None:
        lists.append(set(table_values(feature, table)))
    if not lists and feature.kind == "ordinal" and callable(cost.own[index]):
        # A user's own cost may fall with distance: price each level.
        first, last = int(np.ceil(admissible.lower)), int(np.floor(admissible.upper))
        if last - first < MOST_PRICED:
            lists.append({float(level) for level in range(first, last + 1)})
    if not lists:
        return None
    values = set.intersection(*lists)
    if feature.kind == "ordinal" and not feature.values:
        values = {value for value in values if float(value).is_integer()}
    values = {value for value in values if admissible.lower <= value <= admissible.upper}
    if admissible.stay:
        values.add(start)
    return np.array(sorted(values), dtype=np.float64)


def category_axes(
    boundaries: list[FloatArray],
    index: int,
    feature: Feature,
    own: int,
    admissible: Admissible,
    cost: Cost,
) -> list[Axis]:
    """Two levels per category, 0 and 1; a level that no admissible category has is left out.

    Parameters
    ----------
    boundaries : per category the last values of its column's cells
    index : of the feature
    feature : categorical
    own : index of the query's category
    admissible : indices of categories that it may become
    cost : of moving it

    Raises
    ------
    InputError
        A cost that is no number, or out of its range.
    """
    categories = np.arange(len(boundaries))
    allowed = (categories >= admissible.lower) & (categories <= admissible.upper)
    if admissible.values is not None:
        allowed &= np.isin(categories, admissible.values)
    table = cost.table(index)
    if table is not None:
        allowed &= np.isin(categories, table_values(feature, table))
    allowed[own] |= admissible.stay
    price = np.zeros(categories.size)
    price[allowed] = cost.of(index, feature, float(own), categories[allowed].astype(np.float64))
    axes = []
    for category, boundary in enumerate(boundaries):
        levels = [0] if allowed.sum() > allowed[category] else []
        levels += [1] if allowed[category] else []
        value = np.array(levels, dtype=np.float64)
        is_own = category == own
        axes.append(
            Axis(
                cell=np.searchsorted(boundary, value).astype(np.int64),
                value=value,
                cost=value * price[category],
                changed=(value == 1) & (not is_own),
            )
        )
    return axes
