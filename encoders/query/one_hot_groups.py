"""Detection of one-hot groups by column names and training values."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.errors import InputError
from encoders.query.features import Action, Feature

SEPARATORS = "_=.:- "
BASE = "base"  # default label of a row of zeros
# Expected number of rows with two ones if the columns were independent. With fewer expected rows,
# a frame without any such row is not evidence: at 5 that happens by chance in 0.7 % of cases.
LEAST_EXPECTED = 5.0
TOLERANCE = 0.01  # default share of training rows that may violate a declared group


def begins_with(column: str, name: str) -> bool:
    """Return whether a column's name consists of a name, a separator and a suffix."""
    at = len(name)
    return column.startswith(name) and len(column) > at + 1 and column[at] in SEPARATORS


def inferred_groups(
    names: list[str], values: FloatArray, free: list[int], used: set[str]
) -> Iterator[tuple[str, list[int]]]:
    """Yield name and column indices of each group, first those with exactly one 1 in every row.

    Columns with at most one 1 in every row are a group if that is unlikely to be chance.
    """
    indicators = [c for c in free if ((values[:, c] == 0) | (values[:, c] == 1)).all()]
    prefixes: dict[str, list[int]] = {}
    for column in indicators:
        for at in range(1, len(names[column]) - 1):
            if names[column][at] in SEPARATORS:
                prefixes.setdefault(names[column][: at + 1], []).append(column)
    grouped: set[int] = set()
    for are_group in (_exactly_one, _at_most_one):
        for prefix, candidates in sorted(prefixes.items(), key=lambda item: len(item[0])):
            columns = [c for c in candidates if c not in grouped]
            if len(columns) > 1 and are_group(values[:, columns]):
                grouped.update(columns)
                # The separator distinguishes groups "a_*" and "a=*", and a column "a".
                name = prefix[:-1] if prefix[:-1] not in used else f"{prefix}*"
                used.add(name)
                yield name, columns


def _exactly_one(block: FloatArray) -> bool:
    return len(block) > 0 and bool((block.sum(axis=1) == 1).all())


def _at_most_one(block: FloatArray) -> bool:
    """Return whether no row has two ones although independent columns would have some."""
    if (block.sum(axis=1) > 1).any() or len(block) == 0:
        return False
    ones = block.sum(axis=0)
    expected = (ones.sum() ** 2 - (ones**2).sum()) / (2 * len(block))
    return bool(expected >= LEAST_EXPECTED)


def one_hot_feature(
    name: str,
    columns: list[int],
    names: list[str],
    values: FloatArray,
    entry: Mapping[str, Any],
    action: Action,
) -> Feature:
    """Return the feature of a one-hot group."""
    block = values[:, columns]
    other = ~np.isin(block, (0, 1))
    if other.any():
        row, place = np.argwhere(other)[0]
        raise InputError(
            f"feature {name}: column {names[columns[place]]!r} is {block[row, place]:g} in row "
            f"{row} of the training data, so the group is not one-hot. List columns of 0 and 1."
        )
    ones = block.sum(axis=1)
    start = len(name) + 1
    default = [names[c][start:] if names[c].startswith(name) else names[c] for c in columns]
    labels = [str(label) for label in entry.get("labels", default)]
    if len(labels) not in (len(columns), len(columns) + 1):
        raise InputError(
            f"feature {name} has {len(labels)} labels for {len(columns)} columns. "
            "Give one label per column, and one more for a row of zeros if it is a category."
        )
    base = _base_label(name, labels[len(columns) :], entry, bool((ones == 0).any()))
    violating = np.flatnonzero((ones > 1) | ((ones == 0) & (base is None)))
    _check_tolerance(name, violating, len(block), entry)
    if len(labels) == len(columns) and base is not None:
        labels.append(base if base not in labels else f"{base}*")
    note = f"{violating.size} of {len(block)} training rows violate it" if violating.size else ""
    return Feature(
        name, "categorical", tuple(columns), 0.0, 1.0, labels=tuple(labels), action=action,
        note=note,
    )  # fmt: skip


def _base_label(name: str, last: list[str], entry: Mapping[str, Any], zeros: bool) -> str | None:
    """Return the label of a row of zeros; None if it is not a category."""
    base = entry.get("base", last[0] if last else zeros)
    if not isinstance(base, bool | str) or (last and base != last[0]):
        raise InputError(
            f"feature {name}: base must be a label, true or false, got {base!r}. "
            "If labels include the base, give the same label last."
        )
    return base if isinstance(base, str) else BASE if base else None


def _check_tolerance(name: str, violating: IntArray, n_rows: int, entry: Mapping[str, Any]) -> None:
    share = entry.get("tolerance")
    if share is not None and not (_is_number(share) and 0 <= share < 1):
        raise InputError(
            f"feature {name}: tolerance must be a share of rows from 0 to below 1, got {share!r}."
        )
    most = max(1.0, TOLERANCE * n_rows) if share is None else share * n_rows
    if violating.size > most:
        raise InputError(
            f"feature {name}: its columns do not have exactly one 1 in {violating.size} of "
            f"{n_rows} training rows (row {violating[0]} is the first). Remove it from features, "
            "or allow a share of such rows with 'tolerance'."
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
