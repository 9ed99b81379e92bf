"""What the columns of a row mean: numeric, ordinal, binary or categorical features."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from encoders.arrays import BoolArray, FloatArray
from encoders.as_html import table
from encoders.errors import InputError

Kind = Literal["numeric", "ordinal", "binary", "categorical"]
Action = Literal["free", "fixed", "increase", "decrease"]
KINDS: tuple[Kind, ...] = ("numeric", "ordinal", "binary", "categorical")
ACTIONS: tuple[Action, ...] = ("free", "fixed", "increase", "decrease")
MISSING = float("nan")  # the one that lists of values hold, for no two NaN are equal
TRUTHS = ("False", "True")  # as files have them
NEW = "(new)"  # a category that no training row has; its index comes after those of the labels
MAX_LISTED_VALUES = 12  # values that a message names before it says how many there are


@dataclass(frozen=True)
class Feature:
    """One feature: a column, or for a categorical one maybe the columns of its one-hot group.

    Attributes
    ----------
    name : str
    kind : numeric (any value within the bounds), ordinal (whole numbers within the bounds, or
        the given ``values``), binary (two ``values``), categorical (one column of codes, or a
        one-hot group in which at most one column is 1)
    columns : indices into the model's columns
    lower, upper : bounds of admissible values; a query outside widens them up to itself. Their
        difference is what ``scale="range"`` takes for the feature's range
    values : admissible values, ascending; empty for numeric, whole-number and categorical
    labels : names of the categories or of the two binary values, else empty. A one-hot group has
        one per column, and one more, the last, where a row of zeros is a category (the base)
    std, mad : standard deviation and median absolute deviation of the training column
    action : default actionability: "free", "fixed", "increase" or "decrease"
    allow_off_levels : accept a query value that is not an admissible one
    coded : categorical in one column, which holds the index of the category
    missing : whether a query's value may be missing (NaN inside)
    missing_cost : of filling in a value that is missing, before the weight
    codes : numbers that stand for a missing value, ascending; categories beside the numbers, which
        are no part of bounds and scales
    typical : median of the training column where a value may be missing, else 0
    step : values of an answer are whole multiples of it, if the feature moves; 0 for any
    truth : binary, and 0 and 1 are False and True to the user
    note : what was found in the training data that users should know, "" for nothing
    """

    name: str
    kind: Kind
    columns: tuple[int, ...]
    lower: float
    upper: float
    values: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    std: float = 0.0
    mad: float = 0.0
    action: Action = "free"
    allow_off_levels: bool = False
    coded: bool = field(default=False, metadata={"fingerprint": "given"})
    missing: bool = field(default=False, metadata={"fingerprint": "given"})
    missing_cost: float = field(default=1.0, metadata={"fingerprint": "given"})
    codes: tuple[float, ...] = field(default=(), metadata={"fingerprint": "given"})
    typical: float = field(default=0.0, metadata={"fingerprint": "given"})
    step: float = field(default=0.0, metadata={"fingerprint": "given"})
    truth: bool = field(default=False, metadata={"fingerprint": False})
    note: str = field(default="", metadata={"fingerprint": False})

    @property
    def one_hot(self) -> bool:
        """Whether it has a column per category."""
        return self.kind == "categorical" and not self.coded

    @property
    def has_base(self) -> bool:
        """Whether a row of zeros is one of the categories of a one-hot group."""
        return self.one_hot and len(self.labels) > len(self.columns)

    @property
    def levels(self) -> tuple[float, ...]:
        """The name that 0.1 had for ``values``."""
        return self.values

    @property
    def column(self) -> int:
        """The only column of a feature that is not categorical."""
        return self.columns[0]

    def without_code(self, value: float) -> float:
        """Return a value, or NaN if it is a code for a missing one.

        Parameters
        ----------
        value : float
        """
        return MISSING if value in self.codes else value

    def show(self, value: float) -> object:
        """A value as people read it: category label, bool, whole number or float; None if missing.

        Parameters
        ----------
        value : as used inside; a category's index
        """
        if np.isnan(value):
            return None
        if self.kind == "categorical":
            return self.labels[int(value)] if value < len(self.labels) else NEW
        if self.labels:
            return self.labels[self.values.index(value)] if value in self.values else value
        if self.truth and value in self.values:
            return bool(value)
        if float(value).is_integer() and abs(value) < 2**53 and self.kind != "numeric":
            return int(value)
        return float(value)

    def describe_values(self) -> str:
        """Admissible values in a few words."""
        codes = ", ".join(f"{code:g}" for code in self.codes)
        return self._describe_numbers() + (f", or missing ({codes})" if codes else "")

    def _describe_numbers(self) -> str:
        if self.kind == "categorical":
            return _shorten(self.labels)
        if self.labels:
            return _shorten(self.labels)
        if self.values:
            return _shorten(
                tuple(str(self.show(v)) if self.truth else f"{v:g}" for v in self.values)
            )
        whole = "whole numbers " if self.kind == "ordinal" else ""
        steps = f" in steps of {self.step:g}" if self.step else ""
        return f"{whole}{self.lower:g} to {self.upper:g}{steps}"


def _shorten(words: tuple[str, ...]) -> str:
    if len(words) <= MAX_LISTED_VALUES:
        return ", ".join(words)
    return ", ".join(words[:MAX_LISTED_VALUES]) + f", … ({len(words)} in all)"


@dataclass(frozen=True)
class FeatureSpace:
    """All features of a model's input, covering each column exactly once.

    ``str()`` prints what was inferred, one feature a line.

    Attributes
    ----------
    features : in order of their columns
    columns : names, in the model's order

    Raises
    ------
    InputError
        Two features have one name.
    """

    features: tuple[Feature, ...]
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        names = [feature.name for feature in self.features]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                f"two features are called {twice!r}, and a constraint or weight for one would hit "
                "both; name their columns apart, or name them under features."
            )

    def __str__(self) -> str:
        width = max((len(feature.name) for feature in self.features), default=0)
        return "\n".join(
            f"{f.name:<{width}}  {f.kind:<11}  {f.action:<8}  {f.describe_values()}"
            + (f"  ({f.note})" if f.note else "")
            for f in self.features
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = [(f.name, f.kind, f.action, f.describe_values(), f.note) for f in self.features]
        if any(f.note for f in self.features):
            return table(("feature", "kind", "action", "values", "note"), rows)
        return table(("feature", "kind", "action", "values"), [row[:-1] for row in rows])

    def ordered(self, columns: Sequence[str]) -> "FeatureSpace":
        """The same features over the same columns in another order.

        Parameters
        ----------
        columns : names

        Raises
        ------
        InputError
            The columns are others.
        """
        if tuple(columns) == self.columns:
            return self
        if sorted(columns) != sorted(self.columns):
            raise InputError(
                "the features described are over other columns than the training data: "
                f"{self.columns[0]!r}, … and {columns[0]!r}, …."
            )
        place = {name: at for at, name in enumerate(columns)}
        moved = [
            replace(f, columns=tuple(place[self.columns[c]] for c in f.columns))
            for f in self.features
        ]
        return FeatureSpace(tuple(sorted(moved, key=lambda f: f.columns)), tuple(columns))

    def named(self, name: str) -> Feature | None:
        """The feature of that name, or None.

        Parameters
        ----------
        name : of a feature
        """
        return next((f for f in self.features if f.name == name), None)

    def values(self, row: FloatArray) -> FloatArray:
        """Return one value per feature; for a categorical feature the index of its category.

        ``row`` has one float64 per column and has been checked. The index of a row of zeros in a
        one-hot group is the number of its columns.

        Parameters
        ----------
        row : float64 (n_columns,)
        """
        return np.array(
            [_category(row[list(f.columns)]) if f.one_hot else row[f.column] for f in self.features]
        )

    def without_codes(self, values: FloatArray) -> FloatArray:
        """Return one value per feature, with NaN for a code for a missing value.

        Parameters
        ----------
        values : float64 (n_features,)
        """
        if not any(feature.codes for feature in self.features):
            return values
        pairs = zip(self.features, values, strict=True)
        return np.array([feature.without_code(float(value)) for feature, value in pairs])

    def values_of_rows(self, rows: FloatArray) -> FloatArray:
        """Return the values of several rows, float64 (n_rows, n_features).

        Parameters
        ----------
        rows : float64 (n_rows, n_columns)
        """
        columns = []
        for feature in self.features:
            if feature.one_hot:
                own = rows[:, list(feature.columns)]
                place = own.argmax(axis=1)
                columns.append(np.where(own.any(axis=1), place, len(feature.columns)))
            else:
                columns.append(rows[:, feature.column])
        return np.column_stack(columns).astype(np.float64)


def _category(own: FloatArray) -> float:
    """Return the index of the column that is 1, or their number if none is."""
    place = int(own.argmax())
    return float(place if own[place] else own.size)


def is_missing(value: object) -> bool:
    """Whether a value as users write it says that there is none: None, NaN, pandas' NA or NaT."""
    pandas = sys.modules.get("pandas")  # whoever has a missing value of its own has imported it
    if pandas is not None and value is pandas.NA:
        return True
    return value is None or bool(value != value)


def same(before: FloatArray, after: FloatArray) -> BoolArray:
    """Where values are equal, or both missing, of the shape of both."""
    equal: BoolArray = (before == after) | (np.isnan(before) & np.isnan(after))
    return equal


def parse_value(feature: Feature, value: object, where: str) -> float:
    """A value as users write it (number or label) -> the number used inside."""
    if feature.missing and is_missing(value):
        return MISSING
    whole = isinstance(value, float) and value.is_integer() and str(value) not in feature.labels
    written = str(int(value)) if whole and isinstance(value, float) else str(value)
    if feature.labels and written in feature.labels:
        index = feature.labels.index(written)
        return float(index) if feature.kind == "categorical" else feature.values[index]
    if feature.kind == "categorical" and value == NEW:
        return float(len(feature.labels))
    if feature.kind == "categorical":
        raise InputError(
            f"{where}: {feature.name} has no category {value!r}; "
            f"categories are {feature.describe_values()}."
        )
    if feature.truth and written in TRUTHS:
        return float(written == TRUTHS[1])
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where}: {value!r} is not a value of {feature.name}.") from error
    if not np.isfinite(number):
        raise InputError(f"{where}: {value!r} is not a finite number.")
    return number
