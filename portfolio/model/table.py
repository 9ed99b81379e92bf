"""The user's own columns: how their values become numbers, and numbers become rows of his again."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from encoders.arrays import BoolArray, FloatArray
from encoders.errors import InputError
from encoders.query.features import is_missing
from encoders.trees.stretches import Stretches
from portfolio.model.cell_values import as_date, as_number
from portfolio.model.frames import in_type

MOST_NAMED = 12  # categories that a message names
NUMBERS = ("integer", "floating", "mixed-integer-float")  # what pandas calls objects that are some

WHOLE = 2.0**53  # below it every whole number is a float64


@dataclass(frozen=True, eq=False)
class Column:
    """One column of the training frame.

    Attributes
    ----------
    name : the user's own, of any type
    dtype : of the training frame
    labels : the categories, a number is the index of one; None: the column holds numbers
    blank : what the training frame has where a value is missing
    new : stands for categories that are none of the labels, whose index comes after theirs; None
        where the model takes none
    low, high : numbers beyond which nothing is known of what the model's pipeline does
    unsure : numbers between these, of which nothing is known either
    """

    name: Any
    dtype: Any
    labels: tuple[Any, ...] | None
    blank: Any
    new: Any = None
    low: float = -np.inf
    high: float = np.inf
    unsure: Stretches | None = None

    def narrowed(self, low: float, high: float, unsure: Stretches | None) -> "Column":
        """The same where less is known.

        Parameters
        ----------
        low, high, unsure : as the attributes, of one model more
        """
        both = [own for own in (self.unsure, unsure) if own is not None]
        return replace(
            self,
            low=max(self.low, low),
            high=min(self.high, high),
            unsure=Stretches.of_all(both) if both else None,
        )

    @cached_property
    def _codes(self) -> dict[Hashable, float]:
        return {_key(label): float(at) for at, label in enumerate(self.labels or ())}

    @cached_property
    def _written(self) -> dict[str, float]:
        return {_text(label): float(at) for at, label in enumerate(self.labels or ())}

    @cached_property
    def _dates(self) -> bool:
        return all(isinstance(label, datetime) for label in self.labels or (None,))

    def number(self, value: Any, where: str) -> float:
        """A value as a number, NaN if it is missing; text that is no category is refused.

        Parameters
        ----------
        value : as the user has it
        where : begins the message of an error

        Raises
        ------
        InputError
            No category, or no number.
        """
        if is_missing(value):
            return float("nan")
        if self.labels is None:
            number = as_number(value, self.name, where)
            if not self.low <= number <= self.high:
                raise InputError(
                    f"{where} {self.name} is {number:g}, beyond what the pipeline can be followed "
                    f"to: from {self.low:g} to {self.high:g}."
                )
            if self.unsure is not None and self.unsure.hold(np.array(number)):
                raise InputError(
                    f"{where} {self.name} is {number!r}, next to a split that the last bits of the "
                    "pipeline's steps cross to and fro; move it by a millionth of itself."
                )
            return number
        code = self._codes.get(_key(value)) if isinstance(value, Hashable) else None
        if code is None:
            code = self._written.get(str(value))
        if code is None and self._dates:
            code = self._codes.get(_key(as_date(value)))
        if code is not None:
            return code
        value = value.item() if isinstance(value, np.generic) else value
        if self.new is not None and isinstance(value, type(self.new)):
            return float(len(self.labels))
        raise InputError(
            f"{where} {self.name} is {value!r}, which is none of its categories: {self.known}."
        )

    @property
    def known(self) -> str:
        """Return the labels in the words of a message."""
        labels = self.labels or ()
        more = f", … ({len(labels)} in all)" if len(labels) > MOST_NAMED else ""
        return ", ".join(map(repr, labels[:MOST_NAMED])) + more

    def has(self, value: Any) -> bool:
        """Whether a value is one of the categories as they are, in any type that is equal.

        Parameters
        ----------
        value : as the user has it
        """
        return isinstance(value, Hashable) and _key(value) in self._codes

    def numbers(self, values: "pd.Series[Any]", where: str) -> FloatArray:
        """A whole column as numbers, float64 (n_rows,).

        Parameters
        ----------
        values : as the user has them
        where : begins the message of an error

        Raises
        ------
        InputError
            As :meth:`number`.
        """
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
            return numbers
        index, found = pd.factorize(values.astype(object), use_na_sentinel=True)
        known = np.array([*(self.number(value, where) for value in found), np.nan])
        return known[index]

    @cached_property
    def _stand_in(self) -> Any:
        """Return a value that is no label, or the first label where the model takes none."""
        labels = self.labels or ()
        return self.blank if not labels else labels[0] if self.new is None else self.new

    def values(self, numbers: FloatArray) -> Any:
        """The user's values of numbers, of his dtype where that can hold them.

        Parameters
        ----------
        numbers : float64 (n_rows,)
        """
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
        # Steps may reckon in float32 where all numbers of a frame fit, and otherwise in float64.
        plain = isinstance(self.dtype, np.dtype) or self.dtype.itemsize < 8
        return numbers if kind == "f" and plain else in_type(numbers, self.dtype)

    def _objects(self, numbers: FloatArray) -> Any:
        values = numbers.astype(object)
        whole = (numbers == np.round(numbers)) & (np.abs(numbers) < WHOLE)
        values[whole] = numbers[whole].astype(np.int64).astype(object)
        values[np.isnan(numbers)] = self.blank
        return pd.Series(values, dtype=object)


class Accepts(Protocol):
    """Compares a query's new categories with the values that stand for them."""

    def check(self, row: FloatArray, given: Mapping[int, Any]) -> None: ...


@dataclass(frozen=True, eq=False)
class Table:
    """All columns of the training frame, in the order that the model takes them.

    Attributes
    ----------
    columns : one each
    accepts : compares a query's new categories with what stands for them; None before models are
        read
    """

    columns: tuple[Column, ...]
    accepts: Accepts | None = None

    def new_in(self, rows: FloatArray) -> BoolArray:
        """Return which values are new categories, bool of the shape of the rows.

        Parameters
        ----------
        rows : float64 (n_rows, n_columns)
        """
        new: BoolArray = rows == self._n_labels
        return new

    @cached_property
    def _n_labels(self) -> FloatArray:
        return np.array([np.nan if c.labels is None else len(c.labels) for c in self.columns])

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the categories, by column that has some."""
        return {
            str(column.name): tuple(map(_text, column.labels))
            for column in self.columns
            if column.labels is not None
        }

    def numbers(self, frame: pd.DataFrame, where: str) -> FloatArray:
        """Rows as numbers, float64 (n_rows, n_columns).

        Parameters
        ----------
        frame : with these columns, in this order
        where : begins the message of an error

        Raises
        ------
        InputError
            A value that is neither a number nor a category.
        """
        parts = [column.numbers(frame.iloc[:, at], where) for at, column in enumerate(self.columns)]
        return np.column_stack(parts)

    def frame(self, rows: FloatArray) -> pd.DataFrame:
        """Rows as the model takes them: the user's columns, dtypes and categories.

        Parameters
        ----------
        rows : float64 (n_rows, n_columns)
        """
        names = pd.Index([column.name for column in self.columns])
        held = {at: column.values(rows[:, at]) for at, column in enumerate(self.columns)}
        return pd.DataFrame(held).set_axis(names, axis=1)


def make_table(
    frame: pd.DataFrame,
    known: Mapping[int, Iterable[Any]],
    text_is_category: bool,
    seen_only: bool = False,
) -> Table:
    """Columns of a training frame.

    Parameters
    ----------
    frame : in the model's order
    known : by place, the categories that the library itself has, in the order of its codes
    text_is_category : whether text stands for categories, too, as before an encoder
    seen_only : leave out categories that a column declares but no row has

    Raises
    ------
    InputError
        A column that holds neither numbers nor categories, or two labels that read alike.
    """
    columns = []
    for place in range(frame.shape[1]):
        own = frame.iloc[:, place]
        labels = None
        if place in known or is_category(own, text_is_category):
            labels = _labels(own, known.get(place, ()), seen_only)
        blank = (
            next((value for value in own[own.isna()]), np.nan) if own.dtype == object else np.nan
        )
        new = None if labels is None else _no_label([*labels, *_declared(own.dtype)])
        columns.append(Column(own.name, own.dtype, labels, blank, new))
    return Table(tuple(columns))


def _declared(dtype: Any) -> Sequence[Any]:
    return dtype.categories.tolist() if isinstance(dtype, pd.CategoricalDtype) else ()


def is_category(own: "pd.Series[Any]", text_is_category: bool) -> bool:
    """Whether a column holds categories.

    Parameters
    ----------
    own : the column
    text_is_category : whether text stands for categories, too
    """
    if isinstance(own.dtype, pd.CategoricalDtype):
        return True
    if not text_is_category or pd.api.types.is_numeric_dtype(own.dtype):
        return False
    # An array of mixed columns holds its numbers as objects, too.
    return own.dtype != object or pd.api.types.infer_dtype(own, skipna=True) not in NUMBERS


def _labels(own: "pd.Series[Any]", known: Iterable[Any], seen_only: bool) -> tuple[Any, ...]:
    """The library's labels, then those that only the frame has."""
    if isinstance(own.dtype, pd.CategoricalDtype):
        used = own.cat.remove_unused_categories() if seen_only else own
        seen = used.cat.categories.tolist()
    else:
        try:
            values = pd.unique(own.dropna().astype(object)).tolist()
            seen = sorted(values, key=lambda value: (str(type(value)), value))
        except TypeError as error:
            raise InputError(
                f"X_train: column {own.name!r} holds values that are neither numbers nor text "
                f"({error}); drop it, also from the model."
            ) from error
    labels = [value for value in known if not is_missing(value)]
    held = {_key(label) for label in labels}
    labels += [value for value in seen if _key(value) not in held]
    written = [_text(label) for label in labels]
    twice = next((word for word, times in Counter(written).items() if times > 1), None)
    if twice is not None:
        raise InputError(
            f"X_train: two categories of {own.name!r} read {twice!r}; give them names that differ."
        )
    return tuple(labels)


def _no_label(labels: Sequence[Any]) -> Any:
    """Return a value of the labels' type that is none of them; None where there is no such."""
    if labels and all(isinstance(label, str) for label in labels):
        return max(labels) + "*"  # XGBoost takes one that comes before all labels for missing
    numbers = all(isinstance(own, int | float) and not isinstance(own, bool) for own in labels)
    return type(labels[0])(max(labels) + 1) if labels and numbers else None


def _text(label: Any) -> str:
    """A label in words; whole numbers without a point, as in columns that miss some."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _key(value: Any) -> Hashable:
    """What tells values of a column apart; all that is missing is alike."""
    if is_missing(value):
        return None
    return (isinstance(value, bool | np.bool_), value)


def _cast(values: "pd.Series[Any]", dtype: Any) -> Any:
    try:
        return values.astype(dtype)
    except (TypeError, ValueError):
        return values
