"""The levels of each axis for one query: a value, a cell and a cost per option."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray
from encoders.query.admissible import Admissible
from encoders.query.cost import Cost, table_values
from encoders.query.features import Feature
from encoders.query.grid import Grid
from encoders.trees.floats import Stretches, last_read_as
from encoders.trees.set_splits import Group

# Levels of an ordinal feature that a user's function prices one by one; where there are more, the
# value nearest to the query stands for its cell.
MOST_PRICED = 10_000


@dataclass(frozen=True, eq=False)
class Axis:
    """Options of one column, by ascending cell.

    Attributes
    ----------
    cell : int64 (n_levels,), non-decreasing; that of a missing value is the last of its column.
    value : float64 (n_levels,), value of the column.
    cost : float64 (n_levels,)
    changed : bool (n_levels,), whether the level counts as a change of the feature.
    """

    cell: IntArray
    value: FloatArray
    cost: FloatArray
    changed: BoolArray

    def only(self, chosen: IntArray) -> "Axis":
        """Return the axis with the chosen levels only, in the given order."""
        return Axis(self.cell[chosen], self.value[chosen], self.cost[chosen], self.changed[chosen])


def ordered_axis(
    boundary: FloatArray,
    dtype: np.dtype[Any],
    index: int,
    feature: Feature,
    start: float,
    admissible: Admissible,
    cost: Cost,
    unsure: Stretches | None = None,
) -> Axis:
    """Return an axis whose levels are the cheapest admissible value of each cell that has one.

    Relations may part cells further (``admissible.cuts``); there is then a level per part, and one
    for each code for a missing value. Where the query has no value, all that fill it in cost the
    same, and one near the training data's median is taken.
    """
    absent = start != start or start in feature.codes
    near = feature.typical if absent else start
    listed = _listed_values(index, feature, start, admissible, cost)
    last, cell_of = _parts(boundary, dtype, admissible)
    if listed is not None:
        value = listed if unsure is None else listed[~unsure.hold(listed)]
        part = np.searchsorted(last, value)
    else:
        low, high = _limits(last, dtype, admissible, feature, unsure)
        value = np.clip(_on_grid(feature, near), low, high)
        part = np.flatnonzero(low <= high)
        value = value[part]
        if admissible.stay and not absent:
            part, value = _with_own(part, value, int(np.searchsorted(last, start)), start)
    if feature.codes:
        codes = _codes(index, feature, start, admissible, cost)
        value = np.append(value[~np.isin(value, feature.codes)], codes)
        part = np.searchsorted(last, value)
    price = cost.of(index, feature, start, value, admissible)
    if not (part[1:] > part[:-1]).all():  # a list may have several of a part
        order = np.lexsort((np.abs(value - near), price, part))
        begins = np.ones(order.size, dtype=np.bool_)
        begins[1:] = np.diff(part[order]) > 0
        first = order[begins]
        part, value, price = part[first], value[first], price[first]
    axis = Axis(cell=cell_of[part], value=value, cost=price, changed=value != start)
    if admissible.missing is None:
        return axis
    return _with_missing(axis, boundary.size + 1, index, feature, start, admissible, cost)


def _on_grid(feature: Feature, near: float) -> FloatArray | float:
    """Return the nearest number that an answer may hold; limits are not considered."""
    if feature.step:
        return Grid(feature.step).nearest(np.array(near))
    return float(np.rint(near)) if feature.kind == "ordinal" else near


def _codes(
    index: int, feature: Feature, start: float, admissible: Admissible, cost: Cost
) -> list[float]:
    """Return codes for a missing value that the feature may have and that have a cost."""
    table = cost.table(index)
    if table is None or admissible.code_cost is not None:
        return list(admissible.codes)
    priced = (start, *table_values(feature, table, start))
    return [code for code in admissible.codes if code in priced]


def _with_missing(
    axis: Axis,
    cell: int,
    index: int,
    feature: Feature,
    start: float,
    admissible: Admissible,
    cost: Cost,
) -> Axis:
    """Return the axis and, where that is admissible, a level for a missing value."""
    if admissible.missing is None:
        return axis
    nothing = np.array([np.nan])
    return Axis(
        cell=np.append(axis.cell, cell),
        value=np.append(axis.value, nothing),
        cost=np.append(axis.cost, cost.of(index, feature, start, nothing, admissible)),
        changed=np.append(axis.changed, not np.isnan(start)),
    )


def _parts(
    boundary: FloatArray, dtype: np.dtype[Any], admissible: Admissible
) -> tuple[FloatArray, IntArray]:
    """Return the last number of each part except the last part, and the cell of each part.

    Numbers are float64 whatever the model reads: bounds, and what the user may enter, need not be
    values of its input type.
    """
    last = last_read_as(boundary, dtype)
    if not admissible.cuts:
        return last, np.arange(boundary.size + 1)
    parts = np.union1d(last, np.array(admissible.cuts))
    return parts, np.append(np.searchsorted(last, parts), last.size)


def level_ends(
    value: FloatArray,
    boundary: FloatArray,
    dtype: np.dtype[Any],
    admissible: Admissible,
    feature: Feature,
    unsure: Stretches | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest admissible number of each level, float64 (n_levels,) each."""
    last, _ = _parts(boundary, dtype, admissible)
    low, high = _limits(last, dtype, admissible, feature, unsure)
    absent = np.isnan(value)
    part = np.where(absent, 0, np.searchsorted(last, value))
    # The query itself may lie beyond what else is admissible.
    ends = np.fmin(low[part], value), np.fmax(high[part], value)
    return np.where(absent, np.nan, ends[0]), np.where(absent, np.nan, ends[1])


def distinct_ends(
    boundary: FloatArray,
    dtype: np.dtype[Any],
    index: int,
    feature: Feature,
    start: float,
    admissible: Admissible,
    cost: Cost,
    unsure: Stretches | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of each set of admissible numbers that the model and relations treat alike.

    The query's own value and listed values are sets of one number each.
    """
    listed = _listed_values(index, feature, start, admissible, cost)
    if listed is not None:
        value = listed if unsure is None else listed[~unsure.hold(listed)]
        return value, value
    last, _ = _parts(boundary, dtype, admissible)
    low, high = _limits(last, dtype, admissible, feature, unsure)
    some = (low <= high) & ~((low == high) & np.isin(low, feature.codes))
    own = [start] if admissible.stay and not np.isnan(feature.without_code(start)) else []
    return np.append(low[some], own), np.append(high[some], own)


def _limits(
    last: FloatArray,
    dtype: np.dtype[Any],
    admissible: Admissible,
    feature: Feature,
    unsure: Stretches | None,
) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest admissible number of each part."""
    with np.errstate(over="ignore"):  # beyond the largest number there is only an empty part
        above = np.nextafter(last, np.inf)
    low = np.concatenate([[float(np.finfo(dtype).min)], above])
    high = np.concatenate([last, [float(np.finfo(dtype).max)]])
    low = np.maximum(low, admissible.lower)
    high = np.minimum(high, admissible.upper)
    if unsure is not None:
        low, high = unsure.up(low), unsure.down(high)
    if feature.step:
        grid = Grid(feature.step)
        return grid.at_least(low), grid.at_most(high)
    return (np.ceil(low), np.floor(high)) if feature.kind == "ordinal" else (low, high)


def _with_own(
    part: IntArray, value: FloatArray, own: int, start: float
) -> tuple[IntArray, FloatArray]:
    """In its own part the query stays exactly as it is, representable or not."""
    place = np.searchsorted(part, own)
    if place < part.size and part[place] == own:
        value[place] = start
        return part, value
    return np.insert(part, place, own), np.insert(value, place, start)


def _listed_values(
    index: int, feature: Feature, start: float, admissible: Admissible, cost: Cost
) -> FloatArray | None:
    """Return the listed admissible values, ascending float64; None for an interval of numbers."""
    lists = [set(v) for v in (feature.values or None, admissible.values) if v is not None]
    table = cost.table(index)
    if table is not None:
        lists.append(set(table_values(feature, table, start)))
    some = admissible.lower <= admissible.upper
    if some and not lists and feature.kind == "ordinal" and callable(cost.own[index]):
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
    if admissible.stay and start == start:  # not missing
        values.add(start)
    values.difference_update(feature.codes)
    return np.array(sorted(values), dtype=np.float64)


def category_axes(
    boundaries: list[FloatArray],
    index: int,
    feature: Feature,
    own: int,
    admissible: Admissible,
    cost: Cost,
) -> list[Axis]:
    """Return two levels per column, 0 and 1; a level that no admissible category has is left out.

    One more axis follows where a row of zeros is admissible: its level 1 says that all columns are
    0.
    """
    allowed = _allowed_categories(index, feature, float(own), admissible, cost)
    categories = np.arange(allowed.size)
    price = np.zeros(categories.size)
    price[allowed] = cost.of(index, feature, float(own), categories[allowed].astype(np.float64))
    value = np.array([0.0, 1.0])
    costs = price[:, None] * value
    changed = (categories != own)[:, None] & (value == 1)
    count, is_allowed = int(allowed.sum()), allowed.tolist()
    axes = []
    for category in categories.tolist():
        # Which of the two levels some admissible category has.
        some = slice(0 if count > is_allowed[category] else 1, 2 if is_allowed[category] else 1)
        if category < len(boundaries):
            cell = boundaries[category].searchsorted(value[some])
        elif is_allowed[category]:
            cell = value[some].astype(np.int64)
        else:
            continue
        axes.append(Axis(cell, value[some], costs[category, some], changed[category, some]))
    return axes


def coded_axis(
    index: int, feature: Feature, start: float, admissible: Admissible, cost: Cost
) -> Axis:
    """Return an axis with one level per admissible category, and maybe one for a missing value."""
    cell = np.flatnonzero(_allowed_categories(index, feature, start, admissible, cost))
    value = cell.astype(np.float64)
    axis = Axis(cell, value, cost.of(index, feature, start, value), value != start)
    last = len(feature.labels) + 1  # after that of categories that training rows do not have
    return _with_missing(axis, last, index, feature, start, admissible, cost)


def _allowed_categories(
    index: int, feature: Feature, own: float, admissible: Admissible, cost: Cost
) -> BoolArray:
    # The query's own category may be one more, which training rows do not have.
    categories = np.arange(max(len(feature.labels), int(own) + 1 if own == own else 0))
    allowed: BoolArray = (categories >= admissible.lower) & (categories <= admissible.upper)
    for listed in ((feature.values if feature.coded else ()) or None, admissible.values):
        if listed is not None:
            allowed &= np.isin(categories, listed)
    table = cost.table(index)
    if table is not None:
        allowed &= np.isin(categories, table_values(feature, table, own))
    if not np.isnan(own):
        allowed[int(own)] |= admissible.stay
    return allowed


def class_axes(
    group: Group, options: Axis, cuts: tuple[float, ...] = (), missing_apart: bool = False
) -> tuple[IntArray, list[Axis]]:
    """Return the class of each axis, int64, and the axes: cell 1 if it is chosen, cell 0 if not.

    In contrast to :func:`category_axes`, a class that can't be chosen has no axis. With ``cuts`` or
    ``missing_apart``, a class has an axis per part with an option. Each axis has the cost and value
    of its cheapest option; if several are equal, the query's own, or else the first.
    """
    class_of = group.class_of[options.cell]
    part = np.searchsorted(np.array(cuts), options.value)
    if missing_apart:
        part = part + np.isnan(options.value)  # NaN is in the last part already
    order = np.lexsort((options.changed, options.cost, part, class_of))
    apart = (np.diff(class_of[order]) > 0) | (np.diff(part[order]) > 0)
    first = order[np.r_[True, apart]] if order.size else order
    one = np.array([0, 1] if first.size > 1 else [1], dtype=np.int64)
    axes = []
    for chosen in first.tolist():
        at = options.only(np.full(one.size, chosen))
        axes.append(Axis(one, at.value, one * at.cost, (one == 1) & at.changed))
    return class_of[first], axes
