"""Tables of columns from training frames."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from encoders.errors import InputError
from encoders.query.features import is_missing
from portfolio.model.table import Column, Table, label_text, value_key

# Types that pandas infers for objects which are numbers or all missing, so need no encoding.
NUMBERS = ("integer", "floating", "mixed-integer-float", "empty")


def make_table(
    frame: pd.DataFrame,
    known: Mapping[int, Iterable[Any]],
    text_is_category: bool,
    seen_only: bool = False,
    unread: Collection[int] = (),
) -> Table:
    """Return the columns of a training frame as a table."""
    columns = []
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        labels = None
        if place in known or is_category(column, text_is_category):
            labels = _labels(column, known.get(place, ()), seen_only, place in unread)
        blank = (
            next((value for value in column[column.isna()]), np.nan)
            if column.dtype == object
            else np.nan
        )
        new = None if labels is None else _no_label([*labels, *_declared(column.dtype)])
        columns.append(
            Column(column.name, column.dtype, labels, blank, new, unread=place in unread)
        )
    return Table(tuple(columns))


def _declared(dtype: Any) -> Sequence[Any]:
    return dtype.categories.tolist() if isinstance(dtype, pd.CategoricalDtype) else ()


def is_category(column: "pd.Series[Any]", text_is_category: bool) -> bool:
    """Return whether a column holds categories."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return True
    if not text_is_category or pd.api.types.is_numeric_dtype(column.dtype):
        return False
    # Numbers in an array of mixed columns are objects too.
    return column.dtype != object or pd.api.types.infer_dtype(column, skipna=True) not in NUMBERS


def _labels(
    column: "pd.Series[Any]", known_labels: Iterable[Any], seen_only: bool, unread: bool
) -> tuple[Any, ...]:
    """Return the labels of a column; none if they are invalid and no step reads the column."""
    try:
        return _sorted_labels(column, known_labels, seen_only)
    except InputError:
        if not unread:
            raise
        return ()


def _sorted_labels(
    column: "pd.Series[Any]", known_labels: Iterable[Any], seen_only: bool
) -> tuple[Any, ...]:
    """Return the library's labels, then those that only the frame has."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        used = column.cat.remove_unused_categories() if seen_only else column
        seen = used.cat.categories.tolist()
    else:
        try:
            values = pd.unique(column.dropna().astype(object)).tolist()
            seen = sorted(values, key=lambda value: (str(type(value)), value))
        except TypeError as error:
            raise InputError(
                f"X_train: column {column.name!r} holds values that are neither numbers nor text "
                f"({error}). Drop the column, also for training."
            ) from error
    labels = [value for value in known_labels if not is_missing(value)]
    keys = {value_key(label) for label in labels}
    labels += [value for value in seen if value_key(value) not in keys]
    written = [label_text(label) for label in labels]
    twice = next((word for word, times in Counter(written).items() if times > 1), None)
    if twice is not None:
        raise InputError(
            f"X_train: two categories of {column.name!r} are both written {twice!r}. Give them "
            "different names."
        )
    return tuple(labels)


def _no_label(labels: Sequence[Any]) -> Any:
    """Return a value of the labels' type that is not one of them, or None if there is none."""
    if all(isinstance(label, str) for label in labels):
        # XGBoost reads a category that sorts before all labels as missing.
        return max(labels, default="") + "*"
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in labels)
    return type(labels[0])(max(labels) + 1) if labels and numbers else None
