"""Admissible values, costs and limits of a query by column, as the record checker reads them."""

from typing import Any

import numpy as np

from encoders.query.cost import table_values
from encoders.query.features import Feature, FeatureSpace
from encoders.query.query import Query

FURTHEST = float(
    np.nextafter(2.0**128 - 2.0**103, 0)
)  # largest value that float32 rounds to a finite number


def columns_of(space: FeatureSpace, query: Query) -> list[dict[str, Any]]:
    """Return admissible values and costs per column (``docs/reference/proof-records.md``)."""
    told: dict[int, dict[str, Any]] = {}
    for index, feature in enumerate(space.features):
        own = _group(index, feature, query) if feature.one_hot else _single(index, feature, query)
        told |= own
    return [told[column] for column in sorted(told)]


def limits_of(space: FeatureSpace, query: Query) -> list[dict[str, Any]]:
    """Return limits on changes as dicts; one-hot groups get limits that keep one column at 1."""
    moving = []  # per feature: columns of which exactly one changes if the feature changes
    told = []
    for feature in space.features:
        if feature.one_hot:
            place = _place(feature, query)
            own = list(feature.columns[place : place + 1])  # empty for a row of zeros
            others = [column for column in feature.columns if column not in own]
            told.append(_limit(1, others, own))
            if own and not feature.has_base:
                told.append(_limit(len(others), own, others))
            moving.append(own if own and feature.has_base else others)
        else:
            moving.append(list(feature.columns))
    for limit in query.max_changes:
        counted = range(len(moving)) if limit.features is None else sorted(limit.features)
        told.append(
            _limit(limit.count, [column for index in counted for column in moving[index]], [])
        )
    return told


def _limit(most: int, changed: list[int], same: list[int]) -> dict[str, Any]:
    return {"most": most, "changed": changed, "same": same}


def _place(feature: Feature, query: Query) -> int:
    """Return the position of the 1 in a one-hot group; the number of columns if there is none."""
    own = query.row[list(feature.columns)]
    return int(np.argmax(own)) if own.any() else own.size


def _listed(index: int, feature: Feature, query: Query, start: float) -> list[float] | None:
    """Return the sorted admissible values if they are listed, else None."""
    admissible, table = query.admissible[index], query.cost.table(index)
    lists = [set(feature.values)] if feature.values else []
    if admissible.values is not None:
        lists.append(set(admissible.values))
    if table is not None:
        lists.append(set(table_values(feature, table)))
    if feature.one_hot:
        lists.append(set(map(float, range(len(feature.columns) + 1))))
    if not lists:
        return None
    kept = set.intersection(*lists)
    if feature.kind == "ordinal" and not feature.values:
        kept = {value for value in kept if float(value).is_integer()}
    kept = {value for value in kept if admissible.lower <= value <= admissible.upper}
    return sorted(kept | {start} if admissible.stay else kept)


def _prices(index: int, feature: Feature, query: Query, values: list[float]) -> list[float]:
    """Return the costs of listed values before weighting; empty if the distance defines them."""
    table = query.cost.table(index)
    if table is None:
        flat = feature.one_hot or feature.kind == "binary"
        return [1.0] * len(values) if flat else []
    paid = {value: float(table[key]) for key, value in _keys(feature, table)}
    return [paid.get(value, 0.0) for value in values]


def _keys(feature: Feature, table: Any) -> list[tuple[Any, float]]:
    return [(key, table_values(feature, {key: 0.0})[0]) for key in table]


def _single(index: int, feature: Feature, query: Query) -> dict[int, dict[str, Any]]:
    admissible, start = query.admissible[index], float(query.row[feature.column])
    values = _listed(index, feature, query, start)
    told = _column(index, query, values, _prices(index, feature, query, values or []))
    if values is None:
        told |= {
            "lower": max(float(admissible.lower), -FURTHEST),
            "upper": min(float(admissible.upper), FURTHEST),
            "step": feature.step or (1.0 if feature.kind == "ordinal" else 0.0),
            "stay": admissible.stay,
        }
    return {feature.column: told}


def _group(index: int, feature: Feature, query: Query) -> dict[int, dict[str, Any]]:
    """Return the columns of a one-hot group, with prices that add up to the category costs.

    For summed costs, leaving the query's category costs as much as the cheapest other category,
    and entering another category costs the difference. For the maximum norm, leaving costs as
    much, and entering a category costs its whole price.
    """
    own = _place(feature, query)
    allowed = _listed(index, feature, query, float(own)) or []
    prices = _prices(index, feature, query, allowed)
    price = {int(k): p for k, p in zip(allowed, prices, strict=True) if k != own}
    leave = min(price.values(), default=0.0)
    told = {}
    for k, column in enumerate(feature.columns):
        values = [0.0] if set(allowed) - {float(k)} else []
        values += [1.0] if k in allowed else []
        enter = price.get(k, 0.0) - (leave if query.cost.aggregate == "sum" else 0.0)
        moved = leave if k == own else max(enter, 0.0)
        start = float(query.row[column])
        paid = [0.0 if value == start else moved for value in values]
        told[column] = _column(index, query, values, paid)
    return told


def _column(
    index: int, query: Query, values: list[float] | None, prices: list[float]
) -> dict[str, Any]:
    """Return a column with listed values; an empty list means no value, not any value."""
    lower, upper = (-FURTHEST, FURTHEST) if values is None or values else (1.0, 0.0)
    return {
        "lower": lower, "upper": upper, "step": 0.0, "stay": False, "values": values or [],
        "prices": prices, "unit": query.cost.unit[index], "weight": query.cost.weight[index],
    }  # fmt: skip
