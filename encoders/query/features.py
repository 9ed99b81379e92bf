"""Descriptions of features: numeric, ordinal, binary or categorical."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray
from encoders.core.as_html import table
from encoders.core.close_names import close_names
from encoders.core.errors import InputError

Kind = Literal["numeric", "ordinal", "binary", "categorical"]
Action = Literal["free", "fixed", "increase", "decrease"]
KINDS: tuple[Kind, ...] = ("numeric", "ordinal", "binary", "categorical")
ACTIONS: tuple[Action, ...] = ("free", "fixed", "increase", "decrease")
MISSING = float("nan")  # one shared object, which lists find by identity: NaN never equals NaN
TRUTHS = ("False", "True")  # spelling in files
NEW = "(new)"  # label of a category that is in no training row; its index follows the other labels
MAX_LISTED_VALUES = 12  # a message lists so many values, then only their number


@dataclass(frozen=True)
class Feature:
    """Description of one feature: a column, or the columns of a one-hot group.

    Attributes
    ----------
    name : str
        Name of the feature.
    kind : {"numeric", "ordinal", "binary", "categorical"}
        Type of the feature. Numeric: any value within the bounds. Ordinal: whole numbers within
        the bounds, or the listed ``values``. Binary: two ``values``. Categorical: one column of
        category indices, or a one-hot group in which at most one column is 1.
    columns : tuple of int
        Indices of the feature's columns in the model's input.
    lower, upper : float
        Bounds of admissible values. A query outside widens them up to its own value. Their
        difference is the range for ``scale="range"``.
    values : tuple of float, default ()
        Admissible values in ascending order. Empty for numeric, whole-number and categorical
        features.
    labels : tuple of str, default ()
        Names of the categories or of the two binary values, else empty. A one-hot group has one
        label per column. If a row of zeros is a category (the base), its label comes last.
    std, mad : float, default 0.0
        Standard deviation and median absolute deviation of the training column.
    action : {"free", "fixed", "increase", "decrease"}, default "free"
        Default actionability.
    allow_off_levels : bool, default False
        Whether the query's value may be one that is not admissible.
    coded : bool, default False
        Whether a categorical feature is one column with the index of the category.
    missing : bool, default False
        Whether the value of a query may be missing (NaN internally).
    missing_cost : float, default 1.0
        Cost of filling in a missing value, before the weight of the feature.
    codes : tuple of float, default ()
        Numbers that stand for a missing value, in ascending order. They are treated as
        categories, and bounds and scales ignore them.
    typical : float, default 0.0
        Median of the training column if a value may be missing, else 0.
    step : float, default 0.0
        Step size: a changed value is a whole multiple of it. 0 allows any value.
    truth : bool, default False
        Whether the values 0 and 1 are shown as False and True.
    note : str, default ""
        Remark on the training data for users, or "".
    unit : str, default ""
        Unit of the numbers, such as "years", or "". It is only shown.

    Examples
    --------
    >>> explainer.features.named("age").kind
    'ordinal'
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
    coded: bool = False
    missing: bool = False
    missing_cost: float = 1.0
    codes: tuple[float, ...] = ()
    typical: float = 0.0
    step: float = 0.0
    truth: bool = field(default=False, metadata={"fingerprint": False})
    note: str = field(default="", metadata={"fingerprint": False})
    unit: str = field(default="", metadata={"fingerprint": False})

    @property
    def one_hot(self) -> bool:
        """Return whether the feature has one column per category."""
        return self.kind == "categorical" and not self.coded

    @property
    def has_base(self) -> bool:
        """Return whether a row of zeros is one of the categories of a one-hot group."""
        return self.one_hot and len(self.labels) > len(self.columns)

    @property
    def levels(self) -> tuple[float, ...]:
        """Alias of ``values``."""
        return self.values

    @property
    def column(self) -> int:
        """Index of the only column of a feature that is not a one-hot group."""
        return self.columns[0]

    def without_code(self, value: float) -> float:
        """Return a value, or NaN if it is a code for a missing value.

        Parameters
        ----------
        value : float
            Internal value of the feature.

        Returns
        -------
        float
            The value, or NaN for a code.

        Examples
        --------
        >>> from dataclasses import replace
        >>> income = replace(explainer.features.named("income"), codes=(-9.0,))
        >>> income.without_code(-9.0), income.without_code(20.0)
        (nan, 20.0)
        """
        return MISSING if value in self.codes else value

    def show(self, value: float) -> object:
        """Return an internal value as users write it.

        Parameters
        ----------
        value : float
            Internal value; the index of the category for a categorical feature.

        Returns
        -------
        str, bool, int, float or None
            Label of the category, truth value or number; None for a missing value.

        Examples
        --------
        >>> explainer.features.named("housing").show(1.0)
        'own'
        >>> explainer.features.named("age").show(30.0)
        30
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
        """Return a short description of the admissible values.

        Returns
        -------
        str
            For example "18 to 69" or "free, own, rent".

        Examples
        --------
        >>> explainer.features.named("housing").describe_values()
        'free, own, rent'
        >>> explainer.features.named("age").describe_values()
        'whole numbers 18 to 69'
        """
        codes = ", ".join(f"{code:g}" for code in self.codes)
        return self._describe_numbers() + (f", or missing ({codes})" if codes else "")

    def _describe_numbers(self) -> str:
        if self.kind == "categorical":
            return shortened(self.labels)
        if self.labels:
            return shortened(self.labels)
        if self.values:
            return shortened(
                tuple(str(self.show(v)) if self.truth else f"{v:g}" for v in self.values)
            )
        whole = "whole numbers " if self.kind == "ordinal" else ""
        steps = f" in steps of {self.step:g}" if self.step else ""
        unit = f" {self.unit}" if self.unit else ""
        return f"{whole}{self.lower:g} to {self.upper:g}{unit}{steps}"


def shortened(words: Sequence[str]) -> str:
    """Return words as text, only the first ones and the count of all if there are many."""
    return listed(words) + (f" ({len(words)} in all)" if len(words) > MAX_LISTED_VALUES else "")


def listed(words: Sequence[str]) -> str:
    """Return words as text, only the first ones if there are many."""
    return ", ".join(words[:MAX_LISTED_VALUES]) + (", …" if len(words) > MAX_LISTED_VALUES else "")


@dataclass(frozen=True)
class FeatureSpace:
    """Features of a model's input, which cover each column exactly once.

    ``print()`` shows one feature per line.

    Attributes
    ----------
    features : tuple of Feature
        The features in order of their columns.
    columns : tuple of str
        Names of the columns in the order of the model.

    Raises
    ------
    InputError
        If two features have the same name.

    Examples
    --------
    >>> [feature.name for feature in explainer.features.features]
    ['age', 'sex', 'income', 'rooms', 'job', 'housing']
    """

    features: tuple[Feature, ...]
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        names = [feature.name for feature in self.features]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                f"two features have the name {twice!r}, so constraints and weights would be "
                "ambiguous. Rename a column, or name the features in features=."
            )

    def __str__(self) -> str:
        width = max((len(feature.name) for feature in self.features), default=0)
        return "\n".join(
            f"{f.name:<{width}}  {f.kind:<11}  {f.action:<8}  {f.describe_values()}"
            + (f"  ({f.note})" if f.note else "")
            for f in self.features
        )

    def _repr_html_(self) -> str:
        """Return an HTML table for notebooks."""
        rows = [(f.name, f.kind, f.action, f.describe_values(), f.note) for f in self.features]
        if any(f.note for f in self.features):
            return table(("feature", "kind", "action", "values", "note"), rows)
        return table(("feature", "kind", "action", "values"), [row[:-1] for row in rows])

    def ordered(self, columns: Sequence[str]) -> "FeatureSpace":
        """Return the same features for the same columns in another order.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns in the new order.

        Returns
        -------
        FeatureSpace
            The features, with indices of the reordered columns.

        Raises
        ------
        InputError
            If the columns differ from those of the features.

        Examples
        --------
        >>> space = explainer.features
        >>> [feature.name for feature in space.ordered(space.columns[::-1]).features]
        ['housing', 'job', 'rooms', 'income', 'sex', 'age']
        """
        if tuple(columns) == self.columns:
            return self
        if sorted(columns) != sorted(self.columns):
            raise InputError(
                "the described features and the training data have different columns: "
                f"{_listed(self.columns)} versus {_listed(columns)}. "
                "Pass features that were inferred from the same columns."
            )
        place = {name: at for at, name in enumerate(columns)}
        moved = [
            replace(f, columns=tuple(place[self.columns[c]] for c in f.columns))
            for f in self.features
        ]
        return FeatureSpace(tuple(sorted(moved, key=lambda f: f.columns)), tuple(columns))

    def named(self, name: str) -> Feature | None:
        """Return the feature with a name, or None.

        Parameters
        ----------
        name : str
            Name of a feature.

        Returns
        -------
        Feature or None
            The feature, or None if no feature has the name.

        Examples
        --------
        >>> explainer.features.named("rooms").columns
        (3,)
        >>> explainer.features.named("wage") is None
        True
        """
        return next((f for f in self.features if f.name == name), None)

    def values(self, row: FloatArray) -> FloatArray:
        """Return one internal value per feature; for categories the index of the category.

        The index of a row of zeros in a one-hot group is the number of its columns.

        Parameters
        ----------
        row : ndarray of shape (n_columns,), float64
            Checked values of the columns.

        Returns
        -------
        ndarray of shape (n_features,), float64
            Values of the features.

        Examples
        --------
        >>> explainer.features.values(row.to_numpy()).tolist()
        [67.0, 1.0, 19.207, 5.0, 1.0, 0.0]
        """
        return np.array(
            [_category(row[list(f.columns)]) if f.one_hot else row[f.column] for f in self.features]
        )

    def without_codes(self, values: FloatArray) -> FloatArray:
        """Return values of features with NaN in place of codes for a missing value.

        Parameters
        ----------
        values : ndarray of shape (n_features,), float64
            Values of the features.

        Returns
        -------
        ndarray of shape (n_features,), float64
            Values without codes.

        Examples
        --------
        >>> from dataclasses import replace
        >>> import numpy as np
        >>> from counterfolio import FeatureSpace
        >>> income = replace(explainer.features.named("income"), columns=(0,), codes=(-9.0,))
        >>> FeatureSpace((income,), ("income",)).without_codes(np.array([-9.0])).tolist()
        [nan]
        """
        if not any(feature.codes for feature in self.features):
            return values
        pairs = zip(self.features, values, strict=True)
        return np.array([feature.without_code(float(value)) for feature, value in pairs])

    def values_of_rows(self, rows: FloatArray) -> FloatArray:
        """Return the values of the features of several rows.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_columns), float64
            Checked values of the columns.

        Returns
        -------
        ndarray of shape (n_rows, n_features), float64
            Values of the features, as :meth:`values` returns them for one row.

        Examples
        --------
        >>> explainer.features.values_of_rows(X.to_numpy()).shape
        (4, 6)
        """
        columns = []
        for feature in self.features:
            if feature.one_hot:
                block = rows[:, list(feature.columns)]
                place = block.argmax(axis=1)
                columns.append(np.where(block.any(axis=1), place, len(feature.columns)))
            else:
                columns.append(rows[:, feature.column])
        return np.column_stack(columns).astype(np.float64)


def _listed(columns: Sequence[str]) -> str:
    """Return names of columns as text, shortened if there are many."""
    return shortened(tuple(map(repr, columns)))


def _category(block: FloatArray) -> float:
    """Return the index of the column that is 1, or the number of columns if none is."""
    place = int(block.argmax())
    return float(place if block[place] else block.size)


def is_missing(value: object) -> bool:
    """Return whether a user's value is missing: None, NaN, or NA or NaT of pandas."""
    pandas = sys.modules.get("pandas")  # a value can only be pandas.NA once pandas is imported
    if pandas is not None and value is pandas.NA:
        return True
    return value is None or bool(value != value)


def same(before: FloatArray, after: FloatArray) -> BoolArray:
    """Return where values are equal or both missing, bool of the common shape."""
    equal: BoolArray = (before == after) | (np.isnan(before) & np.isnan(after))
    return equal


def parse_value(feature: Feature, value: object, where: str, start: float = MISSING) -> float:
    """Return the internal number of a user's value (a number or a label).

    ``start`` is the number of the query: if its category is unseen, NEW is another label for it,
    and errors name that label.
    """
    if feature.missing and is_missing(value):
        return MISSING
    whole = isinstance(value, float) and value.is_integer() and str(value) not in feature.labels
    written = str(int(value)) if whole and isinstance(value, float) else str(value)
    if feature.labels and written in feature.labels:
        index = feature.labels.index(written)
        return float(index) if feature.kind == "categorical" else feature.values[index]
    if feature.kind == "categorical" and written == NEW:
        return start if _is_unseen(feature, start) else float(len(feature.labels))
    if feature.kind == "categorical":
        hint = f' Write "{NEW}" for the unseen category of the query.'
        raise InputError(
            f"{where}: {feature.name} has no category {value!r}."
            f"{close_names(value, feature.labels)} "
            f"The categories are {feature.describe_values()}."
            f"{hint if start >= len(feature.labels) else ''}"
        )
    if feature.truth and written in TRUTHS:
        return float(written == TRUTHS[1])
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{where}: {value!r} is not a value of {feature.name}. "
            f"Its values are {feature.describe_values()}."
        ) from error
    if not np.isfinite(number):
        raise InputError(f"{where}: {value!r} is not finite. Give a finite number.")
    if not _may_have(feature, number):
        raise InputError(
            f"{where}: no row can have the value {value!r} of {feature.name}. "
            f"Use one of its values: {feature.describe_values()}."
        )
    return number


def _is_unseen(feature: Feature, number: float) -> bool:
    """Return whether a number is a category that the model's library knows, but no training row."""
    return number < len(feature.labels) and bool(feature.values) and number not in feature.values


def _may_have(feature: Feature, number: float) -> bool:
    """Return whether some row may have a number; rows may lie outside the bounds."""
    if feature.kind == "numeric" or feature.allow_off_levels or number in feature.codes:
        return True
    return number in feature.values if feature.values else number.is_integer()
