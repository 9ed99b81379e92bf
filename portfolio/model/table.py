"""Conversion of the user's columns to numbers, and of numbers back to the user's rows."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from encoders.core.arrays import BoolArray, FloatArray
from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.features import is_missing, listed
from encoders.trees.floats import Stretches
from portfolio.model.frames import in_type


def as_number(value: Any, name: Any, where: str) -> float:
    """Return the finite float64 of a cell; raise InputError if it has none."""
    try:
        if isinstance(value, complex | np.complexfloating | str | bytes):
            raise TypeError
        number = float(value)
    except OverflowError as error:
        raise InputError(
            f"{where} {name} is larger than any float64. Give it a smaller value.",
            "too-large",
            name=str(name),
        ) from error
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{where} {name} is {value!r}. Give it a finite number.",
            "no-number",
            name=str(name),
            value=str(value),
        ) from error
    if np.isinf(number):
        raise InputError(f"{where} {name} is infinite. Give it a finite number.")
    return number


def as_date(value: Any) -> Any:
    """Return the timestamp of a cell, which may be text, or None if it is not a date."""
    try:
        return pd.Timestamp(value)
    except (TypeError, ValueError):
        return None


MOST_NAMED = 12  # categories that a message names
WHOLE = 2.0**53  # float64 holds all whole numbers below


@dataclass(frozen=True, eq=False)
class Column:
    """Column of the training frame.

    Attributes
    ----------
    name : the user's own name, of any type.
    dtype : dtype in the training frame.
    labels : tuple of categories, whose codes are their positions; None for a column of numbers.
    blank : value that marks missing entries in the training frame.
    new : stand-in for categories that are not labels, whose code follows theirs; None if the model
        rejects these.
    low : smallest number for which the model's pipeline can be analysed.
    high : largest number for which the model's pipeline can be analysed.
    unsure : numbers between these that cannot be analysed, or None.
    unread : whether no step of the pipeline reads the column, so that it may hold any value.
    """

    name: Any
    dtype: Any
    labels: tuple[Any, ...] | None
    blank: Any
    new: Any = None
    low: float = -np.inf
    high: float = np.inf
    unsure: Stretches | None = None
    unread: bool = False

    def narrowed(self, low: float, high: float, unsure: Stretches | None) -> "Column":
        """Return the same column with a narrower range that can be analysed."""
        both = [each for each in (self.unsure, unsure) if each is not None]
        return replace(
            self,
            low=max(self.low, low),
            high=min(self.high, high),
            unsure=Stretches.of_all(both) if both else None,
        )

    @cached_property
    def _codes(self) -> dict[Hashable, float]:
        return {value_key(label): float(at) for at, label in enumerate(self.labels or ())}

    @cached_property
    def _written(self) -> dict[str, float]:
        return {label_text(label): float(at) for at, label in enumerate(self.labels or ())}

    @cached_property
    def _dates(self) -> bool:
        return all(isinstance(label, datetime) for label in self.labels or (None,))

    def number(self, value: Any, where: str) -> float:
        """Return a value as a number, NaN if it is missing; raise InputError if it is not valid."""
        if not self.unread:
            return self._number(value, where)
        try:
            return self._number(value, where)
        except (InputError, TypeError, ValueError):
            return float("nan") if self.labels is None else float(len(self.labels))

    def _number(self, value: Any, where: str) -> float:
        if is_missing(value):
            return float("nan")
        if self.labels is None:
            number = as_number(value, self.name, where)
            if self.low > self.high:
                raise InputError(
                    f"{where} {self.name} is {number:g}, but no training row has a value in this "
                    "column, and the pipeline cannot transform one. Leave it missing."
                )
            if not self.low <= number <= self.high:
                raise InputError(
                    f"{where} {self.name} is {number:g}, outside the range in which the pipeline "
                    f"can be analysed. Use a number from {self.low:g} to {self.high:g}.",
                    "outside-pipeline",
                    name=str(self.name),
                    low=self.low,
                    high=self.high,
                )
            if self.unsure is not None and self.unsure.hold(np.array(number)):
                raise InputError(
                    f"{where} {self.name} is {number!r}, within rounding error of a split after "
                    "the pipeline's steps. Change it by a relative 1e-6."
                )
            return number
        code = self._codes.get(value_key(value)) if isinstance(value, Hashable) else None
        if code is None:
            code = self._written.get(str(value))
        if code is None and self._dates:
            code = self._codes.get(value_key(as_date(value)))
        if code is not None:
            return code
        if self._is_new(value):
            return float(len(self.labels))
        raise InputError(
            f"{where} {self.name} is {_python_value(value)!r}, which is not one of its categories: "
            f"{self.known_labels or 'no training row has a value'}."
            f"{close_names(value, self._written)}",
            "not-a-value",
            name=str(self.name),
            value=str(_python_value(value)),
            values=listed([str(label) for label in self.labels or ()]),
        )

    def _is_new(self, value: Any) -> bool:
        """Return whether a value that is not a label is of the labels' type."""
        truth = isinstance(value, bool | np.bool_)
        same_type = self.new is not None and isinstance(self.like_labels(value), type(self.new))
        return same_type and not truth

    def like_labels(self, value: Any) -> Any:
        """Return a value as a number of the labels' type, if it is such a number, else unchanged.

        A row of several columns may have floats where its column has whole numbers.
        """
        value = _python_value(value)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and isinstance(self.new, int | float) and abs(value) < WHOLE:
            kind = type(self.new)
            return kind(value) if kind(value) == value else value
        return value

    @property
    def known_labels(self) -> str:
        """Labels in the words of a message."""
        labels = self.labels or ()
        more = f", … ({len(labels)} in all)" if len(labels) > MOST_NAMED else ""
        return ", ".join(map(repr, labels[:MOST_NAMED])) + more

    @property
    def remedy(self) -> str:
        """Remedy for a rejected value, without a full stop."""
        return f"Give it one of {self.known_labels}" if self.labels else "Leave it missing"

    def respells(self, value: Any) -> bool:
        """Return whether a category is written differently from the training frame."""
        return self.labels is not None and not (self.unread or self._has(value))

    def _has(self, value: Any) -> bool:
        """Return whether a value equals one of the categories, in any type."""
        return isinstance(value, Hashable) and value_key(value) in self._codes

    def numbers(self, values: "pd.Series[Any]", where: str) -> FloatArray:
        """Return a whole column as numbers, float64 (n_rows,)."""
        if (
            self.labels is None
            and isinstance(values.dtype, np.dtype)
            and values.dtype.kind in "iufb"
        ):
            numbers = values.to_numpy(dtype=np.float64)
            wrong = ~((numbers >= self.low) & (numbers <= self.high)) & ~np.isnan(numbers)
            if self.unsure is not None:
                wrong |= self.unsure.hold(numbers)
            worst = numbers[wrong]
            for number in worst[:1]:
                self.number(number, where)
            return np.where(np.isinf(numbers), np.nan, numbers) if self.unread else numbers
        if self.unread:  # such values may be unhashable
            return np.array([self.number(value, where) for value in values], dtype=np.float64)
        index, distinct = pd.factorize(values.astype(object), use_na_sentinel=True)
        number_of = np.array([*(self.number(value, where) for value in distinct), np.nan])
        return number_of[index]

    @cached_property
    def _stand_in(self) -> Any:
        """Value that is not a label, or the first label if the model rejects these."""
        labels = self.labels or ()
        return self.blank if not labels else labels[0] if self.new is None else self.new

    def values(self, numbers: FloatArray) -> Any:
        """Return the user's values of numbers, in the training dtype if it can hold them."""
        missing = np.isnan(numbers)
        if self.labels is None:
            return self._plain(numbers)
        index = np.where(missing, -1, numbers).astype(np.int64)
        if isinstance(self.dtype, pd.CategoricalDtype):
            dtype = self.dtype
            if self.new is not None and (index == len(self.labels)).any():
                dtype = pd.CategoricalDtype([*dtype.categories, self.new])
            place = dtype.categories.get_indexer(pd.Index([*self.labels, self._stand_in]))
            return pd.Categorical.from_codes(np.append(place, -1)[index], dtype=dtype)
        whole = np.empty(len(self.labels) + 2, dtype=object)
        whole[:] = [*self.labels, self._stand_in, self.blank]
        return _cast(pd.Series(whole[index], dtype=object), self.dtype)

    def _plain(self, numbers: FloatArray) -> Any:
        kind = getattr(self.dtype, "kind", "O")
        if kind == "O" and isinstance(self.dtype, np.dtype):
            return self._objects(numbers)
        # Steps may compute in float32 if all numbers of a frame fit, and otherwise in float64.
        plain = isinstance(self.dtype, np.dtype) or self.dtype.itemsize < 8
        return numbers if kind == "f" and plain else in_type(numbers, self.dtype)

    def _objects(self, numbers: FloatArray) -> Any:
        values = numbers.astype(object)
        whole = (numbers == np.round(numbers)) & (np.abs(numbers) < WHOLE)
        values[whole] = numbers[whole].astype(np.int64).astype(object)
        values[np.isnan(numbers)] = self.blank
        return pd.Series(values, dtype=object)


class Accepts(Protocol):
    """Check of a query's new categories against the values that stand for them."""

    def check(self, row: FloatArray, values: Mapping[int, Any]) -> None: ...


@dataclass(frozen=True, eq=False)
class Table:
    """All columns of the training frame, in the model's order."""

    columns: tuple[Column, ...]
    accepts: Accepts | None = None  # check of a query's new categories; None before models are read

    def new_in(self, rows: FloatArray) -> BoolArray:
        """Return which values are new categories to the model, bool of the shape of the rows."""
        new: BoolArray = rows == self._n_labels
        return new

    @cached_property
    def unread(self) -> frozenset[int]:
        """Positions of the columns that no step reads."""
        return frozenset(at for at, column in enumerate(self.columns) if column.unread)

    @cached_property
    def _n_labels(self) -> FloatArray:
        labels = [None if column.unread else column.labels for column in self.columns]
        return np.array([np.nan if each is None else len(each) for each in labels])

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the categories, for each column that has some."""
        return {
            str(column.name): tuple(map(label_text, column.labels))
            for column in self.columns
            if column.labels is not None
        }

    def numbers(self, frame: pd.DataFrame, where: str) -> FloatArray:
        """Return rows as numbers, float64 (n_rows, n_columns)."""
        parts = [column.numbers(frame.iloc[:, at], where) for at, column in enumerate(self.columns)]
        return np.column_stack(parts)

    def frame(self, rows: FloatArray) -> pd.DataFrame:
        """Return rows as the model's input: the user's columns, dtypes and categories."""
        names = pd.Index([column.name for column in self.columns])
        values = {at: column.values(rows[:, at]) for at, column in enumerate(self.columns)}
        return pd.DataFrame(values).set_axis(names, axis=1)


def label_text(label: Any) -> str:
    """Return a label as text; whole floats without a point, as in columns with missing values."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _python_value(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def value_key(value: Any) -> Hashable:
    """Return a key that distinguishes values of a column; all missing values are equal."""
    if is_missing(value):
        return None
    return (isinstance(value, bool | np.bool_), value)


def _cast(values: "pd.Series[Any]", dtype: Any) -> Any:
    try:
        return values.astype(dtype)
    except (TypeError, ValueError):
        return values


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
    if not (labels and numbers and np.isfinite(max(labels))):
        return None
    return type(labels[0])(max(labels) + 1)
