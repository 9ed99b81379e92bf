"""Inference of features from a training frame, with overrides by the user."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray
from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.features import MISSING, Action, Feature, FeatureSpace, Kind, shortened
from encoders.query.grid import grid_of
from encoders.query.missing_codes import without_codes
from encoders.query.names import feature_name
from encoders.query.one_hot_groups import begins_with, inferred_groups, one_hot_feature
from encoders.query.overrides import as_entries

LARGEST_COST = 1e100  # cost of filling in a value; sums of larger costs could overflow
# Override for columns that the model does not read.
UNREAD = {"action": "fixed", "allow_off_levels": True, "missing": True}
NOT_READ, NO_VALUE = "not used by the model", "missing in all training rows"
Categories = Mapping[str, Sequence[str]]  # names of the categories of each column of indices


def infer_features(
    frame: pd.DataFrame,
    overrides: Mapping[str, Any] | str | Path | None = None,
    coded: Categories | None = None,
    truths: Collection[str] = (),
    absent: Mapping[str, float] | None = None,
    unread: frozenset[int] = frozenset(),
) -> FeatureSpace:
    """Infer the features of a training frame of numbers, in which NaN is a missing value.

    A column of two distinct values is binary. 0/1 columns with a common prefix are one categorical
    feature if exactly one of them, or evidently at most one, is 1 in every row. A column of whole
    numbers is ordinal, any other column numeric. Bounds are the extreme training values.
    """
    entries = as_entries(overrides)
    names = [feature_name(column) for column in frame.columns]
    values = frame.to_numpy(dtype=np.float64)
    claimed = _claimed_columns(entries, names, coded or {})
    described_columns = {column for columns in claimed.values() for column in columns}
    free = [column for column in range(len(names)) if column not in described_columns]
    numbers = [column for column in free if names[column] not in (coded or {})]
    _check_whole_groups(names, values, numbers, claimed, coded or {})
    groups = [
        group
        for group in inferred_groups(names, values, numbers, {*names, *claimed})
        if not unread.issuperset(group[1])
    ]
    grouped = {column for _, columns in groups for column in columns}
    alone = [(names[column], [column]) for column in free if column not in grouped]
    described = [
        (name, columns, (UNREAD if unread.issuperset(columns) else {}) | entries.get(name, {}))
        for name, columns in [*claimed.items(), *groups, *alone]
    ]
    features = [
        _coded(name, columns[0], coded[names[columns[0]]], values, entry)
        if coded and names[columns[0]] in coded
        else _feature(name, columns, names, values, entry, absent or {})
        for name, columns, entry in described
    ]
    noted = [
        replace(
            f,
            truth=f.kind == "binary" and not f.labels and names[f.column] in truths,
            note=NOT_READ if unread.issuperset(f.columns) else f.note,
            unit=entries.get(f.name, {}).get("unit", ""),
        )
        for f in features
    ]
    return FeatureSpace(tuple(sorted(noted, key=lambda f: f.columns)), tuple(names))


def _claimed_columns(
    entries: Mapping[str, dict[str, Any]], names: list[str], coded: Categories
) -> dict[str, list[int]]:
    """Return indices of the columns that the overrides describe, by feature."""
    claimed: dict[str, list[int]] = {}
    for name, entry in entries.items():
        if name in names and (entry.get("kind") != "categorical" or name in coded):
            columns_of_entry = [name]
        else:
            columns_of_entry = list(entry.get("columns") or [])
            columns_of_entry = columns_of_entry or [c for c in names if begins_with(c, name)]
            native = next((column for column in columns_of_entry if column in coded), None)
            if native is not None:
                raise InputError(
                    f"feature {name}: the model reads column {native!r} as categories already. "
                    "Describe a one-hot group only for columns that the model reads as numbers."
                )
        missing = [column for column in columns_of_entry if column not in names]
        if name in names and not columns_of_entry:
            raise InputError(
                f"feature {name} is declared categorical, but the model reads column {name!r} as "
                "numbers. Use one-hot columns, or a pipeline step or model that reads categories."
            )
        if missing or not columns_of_entry:
            unknown = (missing or [name])[0]
            raise InputError(
                f"feature {name}: the training data does not have a column {unknown!r}."
                f"{close_names(unknown, names)} Correct the name in features=."
            )
        claimed[name] = [names.index(column) for column in columns_of_entry]
    seen: dict[int, str] = {}
    for name, columns in claimed.items():
        for column in columns:
            if column in seen:
                raise InputError(
                    f"column {names[column]!r} belongs to both {seen[column]} and {name}. "
                    "Remove it from one of them in features=."
                )
            seen[column] = name
    return claimed


def _check_whole_groups(
    names: list[str],
    values: FloatArray,
    free: list[int],
    claimed: Mapping[str, list[int]],
    coded: Categories,
) -> None:
    """Raise InputError if the overrides describe only some columns of a one-hot group.

    A feature may rename a binary column that belongs to no group.
    """
    members = {c for columns in claimed.values() for c in columns if names[c] not in coded}
    for group, columns in inferred_groups(names, values, sorted(members.union(free)), {*names}):
        others = [names[c] for c in columns if c not in members]
        inside = [name for name, part in claimed.items() if set(columns).issuperset(part)]
        if others and inside:
            part = shortened([names[c] for c in claimed[inside[0]]])
            raise InputError(
                f"features= describes {part} as {inside[0]!r}, but {shortened(others)} "
                f"{'belong' if len(others) > 1 else 'belongs'} to the same one-hot group. Describe "
                f"all its columns as the feature {group!r}, or each column alone."
            )


def _feature(
    name: str,
    columns: list[int],
    names: list[str],
    values: FloatArray,
    entry: Mapping[str, Any],
    absent: Mapping[str, float],
) -> Feature:
    whole = values[:, columns[0]]
    number = absent.get(names[columns[0]], MISSING)
    column, codes, note = without_codes(name, whole[~np.isnan(whole)], entry, number)
    if column.size == 0 and len(columns) == 1:
        entry, column, note = _empty(entry), np.zeros(1), NO_VALUE
    action = cast(Action, entry.get("action", "free"))
    kind = cast(Kind, entry.get("kind")) or _infer_kind(column, len(columns))
    if kind == "categorical":
        _check_categorical(name, action, entry)
        return one_hot_feature(name, columns, names, values, entry, action)
    if len(columns) != 1:
        raise InputError(
            f"feature {name} has {len(columns)} columns, but only a categorical feature may have "
            "several. Set its kind to categorical."
        )
    missing = _may_be_missing(name, whole, entry)
    admissible = _values(name, kind, column, entry)
    lower, upper = _bounds(name, column, admissible, entry)
    with np.errstate(over="ignore"):  # an infinite deviation is recognised later, in the cost
        std = float(np.std(column))
    labels = tuple(str(label) for label in entry.get("labels", ()))
    if labels and len(labels) != len(admissible):
        raise InputError(
            f"feature {name} has {len(labels)} labels for {len(admissible)} values. "
            "Give one label per value."
        )
    return Feature(
        name=name,
        kind=kind,
        columns=tuple(columns),
        lower=lower,
        upper=upper,
        values=admissible,
        labels=labels,
        std=std,
        mad=float(np.median(np.abs(column - np.median(column)))),
        action=action,
        allow_off_levels=bool(entry.get("allow_off_levels", False)),
        missing=missing,
        missing_cost=_missing_cost(name, entry),
        codes=codes,
        typical=float(np.median(column)) if missing or codes else 0.0,
        note="" if "bounds" in entry and not codes else note,
        step=_step(name, kind, entry),
    )


def _empty(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the override of a column without values: fixed unless it lists values or bounds."""
    if "values" in entry:
        return {"kind": "ordinal", **entry}
    return {"kind": "numeric", "action": "free" if "bounds" in entry else "fixed", **entry}


def _step(name: str, kind: Kind, entry: Mapping[str, Any]) -> float:
    step = grid_of(entry.get("step"), entry.get("digits"), name)
    if step and kind != "numeric":
        raise InputError(
            f"feature {name}: step and digits are for numeric features, not {kind} ones. "
            "Remove them."
        )
    return step


def _coded(
    name: str, place: int, labels: Sequence[str], values: FloatArray, entry: Mapping[str, Any]
) -> Feature:
    """Return the feature of a column of category indices; categories of the data are admissible."""
    if entry.get("kind", "categorical") != "categorical":
        raise InputError(
            f"feature {name} is declared {entry['kind']}, but the model reads it as categories. "
            "Set its kind to categorical."
        )
    ignored = [key for key in ("values", "labels", "bounds", "columns") if key in entry]
    if ignored:
        raise InputError(
            f"feature {name}: {ignored[0]} is for columns of numbers, but this column has "
            f"categories. Limit it by a constraint such as Allowed({name!r}, [...])."
        )
    _step(name, "categorical", entry)
    column = values[:, place]
    empty = bool(np.isnan(column).all())
    action = cast(Action, entry.get("action", "fixed" if empty else "free"))
    _check_categorical(name, action, entry)
    seen = np.unique(column[~np.isnan(column)])
    return Feature(
        name,
        "categorical",
        (place,),
        0.0,
        float(max(len(labels) - 1, 0)),
        values=tuple(seen.tolist()) if seen.size < len(labels) else (),
        labels=tuple(labels),
        action=action,
        coded=True,
        missing=_may_be_missing(name, column, entry),
        missing_cost=_missing_cost(name, entry),
        note=NO_VALUE if empty else "",
    )


def _may_be_missing(name: str, column: FloatArray, entry: Mapping[str, Any]) -> bool:
    missing = entry.get("missing", bool(np.isnan(column).any()))
    if not isinstance(missing, bool):
        raise InputError(f"feature {name}: missing must be true or false, got {missing!r}.")
    return missing


def _missing_cost(name: str, entry: Mapping[str, Any]) -> float:
    cost = entry.get("missing_cost", 1.0)
    number = isinstance(cost, int | float) and not isinstance(cost, bool)
    if not (number and 0 <= cost <= LARGEST_COST):
        raise InputError(
            f"feature {name}: missing_cost must be a number from 0 to {LARGEST_COST:g}, "
            f"got {cost!r}."
        )
    return float(cost)


def _infer_kind(column: FloatArray, n_columns: int) -> Kind:
    if n_columns > 1:
        return "categorical"
    distinct = np.unique(column)
    if distinct.size == 2:
        return "binary"
    return "ordinal" if (distinct == np.round(distinct)).all() else "numeric"


def _check_categorical(name: str, action: Action, entry: Mapping[str, Any]) -> None:
    if entry.get("unit"):
        raise InputError(
            f"feature {name}: unit is for numbers, but the feature is categorical. Remove unit."
        )
    if entry.get("missing_codes"):
        raise InputError(
            f"feature {name}: missing_codes are for columns of numbers, but the feature is "
            "categorical, and its codes are categories already. Remove missing_codes."
        )
    if action in ("increase", "decrease"):
        raise InputError(
            f"feature {name}: action {action!r} needs an order, and categories have none. "
            "Use 'free' or 'fixed'."
        )


def _values(
    name: str, kind: Kind, column: FloatArray, entry: Mapping[str, Any]
) -> tuple[float, ...]:
    if "values" in entry:
        if kind == "numeric":
            raise InputError(
                f"feature {name} is numeric, but has a list of values. "
                "Set its kind to ordinal or binary."
            )
        values = _numbers(name, "values", entry["values"])
        if kind == "binary" and len(values) != 2:
            raise InputError(
                f"feature {name} is binary, but has {len(values)} values. "
                "List two values, or set its kind to ordinal."
            )
        return tuple(sorted(set(values)))
    distinct = np.unique(column)
    if kind == "binary":
        if distinct.size > 2:
            raise InputError(
                f"feature {name} is declared binary, but the training data contain "
                f"{distinct.size} values. Set its kind to ordinal or numeric."
            )
        zero_one = distinct.size < 2 and np.isin(distinct, (0, 1)).all()
        return (0.0, 1.0) if zero_one else tuple(distinct.tolist())
    if kind == "ordinal" and (distinct != np.round(distinct)).any():
        return tuple(distinct.tolist())  # the training values are admissible
    return ()


def _bounds(
    name: str, column: FloatArray, values: tuple[float, ...], entry: Mapping[str, Any]
) -> tuple[float, float]:
    if "bounds" in entry:
        bounds = _numbers(name, "bounds", entry["bounds"])
        if len(bounds) != 2 or bounds[0] > bounds[1]:
            raise InputError(f"feature {name}: bounds must be [lowest, highest], got {bounds}.")
        return bounds[0], bounds[1]
    if values:
        return values[0], values[-1]
    return float(column.min()), float(column.max())


def _numbers(name: str, what: str, values: Any) -> list[float]:
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str) or not len(values):
        raise InputError(f"feature {name}: {what} must be a list of numbers, got {values!r}.")
    try:
        numbers = [float(value) for value in values]
    except OverflowError as error:
        raise InputError(
            f"feature {name}: {what} are larger than any float64. Give smaller numbers."
        ) from error
    except (TypeError, ValueError) as error:
        raise InputError(f"feature {name}: {what} must be numbers, got {values!r}.") from error
    if not np.isfinite(numbers).all():
        raise InputError(f"feature {name}: {what} must be finite, got {values!r}.")
    return numbers
