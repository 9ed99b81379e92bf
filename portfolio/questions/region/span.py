"""Values of one feature inside a region, in numbers and in words."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, cast

import numpy as np

from encoders.core.arrays import BoolArray
from encoders.query.conditions import Becomes, Condition, Within
from encoders.query.features import NEW, is_missing
from portfolio.questions.region.extents import Extent
from portfolio.results.change import exactly

DECIMAL = Context(prec=400)
MOST_DIGITS = 17  # enough to distinguish any two float64


@dataclass(frozen=True)
class Span:
    """Values of one feature inside a region.

    Attributes
    ----------
    feature : str
        Name of the feature.
    lower, upper : float or None
        Smallest and largest number, both included; None for categories, and if the region contains
        no numbers.
    labels : tuple of object
        Labels of the categories, or of the values of a binary feature; empty for numbers. None
        stands for a missing value.
    whole : bool
        Whether the region contains all values of the feature space, missing ones included.
    words : str
        Description of the values, "" if ``whole`` is true.
    own : object
        Value of the row: a number or a label, None if missing.
    least, most : float or None
        Smallest and largest number of the feature space; None for categories.
    missing : bool
        Whether the region contains a missing value.
    codes : tuple of float
        Missing-value codes inside the region.
    other_codes : tuple of float
        Missing-value codes outside the region, whatever numbers it contains.
    other_labels : tuple of object
        Known categories outside the region.

    Examples
    --------
    >>> span = explainer.region(row)["housing"]
    >>> span.labels, span.words
    (('free', 'rent'), 'free or rent')
    """

    feature: str
    lower: float | None
    upper: float | None
    labels: tuple[object, ...]
    whole: bool
    words: str
    own: object
    least: float | None = None
    most: float | None = None
    missing: bool = False
    codes: tuple[float, ...] = ()
    other_codes: tuple[float, ...] = ()
    other_labels: tuple[object, ...] = ()

    def holds(self, value: object) -> bool:
        """Return whether a value is inside the region.

        Parameters
        ----------
        value : object
            Number or label; None or NaN for a missing value.

        Returns
        -------
        bool
            True if the value is inside.

        Examples
        --------
        >>> span = explainer.region(row)["housing"]
        >>> span.holds("rent"), span.holds("own")
        (True, False)
        """
        if is_missing(value):
            return self.missing
        if self.lower is None or self.upper is None:
            names = (value, _as_label(value))
            if NEW in self.labels:  # the model treats all unknown categories alike
                return not any(name in self.other_labels for name in names)
            return any(name in self.labels for name in names)
        number: Any = value
        if number in self.codes or number in self.other_codes:
            return number in self.codes
        return bool(self.lower <= number <= self.upper)

    def condition(self) -> Condition:
        """Return the condition that a value is inside the region, for use in constraints.

        Examples
        --------
        >>> explainer.region(row)["housing"].condition()
        Becomes(feature='housing', values=('free', 'rent'))
        """
        if self.lower is None or self.upper is None:
            return Becomes(self.feature, *self.labels)
        return Within(self.feature, self.lower, self.upper, self.missing, self.codes)

    def shares(self) -> tuple[tuple[float, float] | None, float | None]:
        """Return (lower, upper) and the row's value as shares of the feature's range, or None.

        Examples
        --------
        >>> ends, value = explainer.region(row)["age"].shares()
        >>> [round(share, 2) for share in (*ends, value)]
        [0.04, 1.0, 0.96]
        """
        numbers = (self.lower, self.upper, self.own, self.least, self.most)
        lower, upper, own, least, most = (n if isinstance(n, float) else math.nan for n in numbers)
        if not most - least > 0 or math.isinf(most - least):
            return None, None
        at = (own - least) / (most - least)
        within = (lower - least) / (most - least), (upper - least) / (most - least)
        return within, at if 0 <= at <= 1 else None


def span_of(extent: Extent, allowed: BoolArray, own: float = math.nan) -> Span:
    """Return the values of a feature inside a region, given its allowed options."""
    feature, whole = extent.feature, bool(allowed.all())
    missing = bool(allowed[np.isnan(extent.low)].any())
    codes = extent.codes(allowed)
    others = tuple(code for code in feature.codes if code not in codes)
    absent = (*codes, None) if missing else codes
    present = extent.present
    at = present[allowed[present]]
    if not extent.ordered or feature.kind == "binary":
        values = [v for i in at.tolist() for v in (extent.low[i], extent.high[i])]
        labels = tuple(dict.fromkeys(feature.show(float(v)) for v in values))
        labels += tuple(label for label in absent if label not in labels)
        words = "" if whole else _listed(labels)
        names = (feature.show(float(value)) for value in extent.low[present[~allowed[present]]])
        return Span(
            feature.name,
            None,
            None,
            labels,
            whole,
            words,
            feature.show(own),
            missing=missing,
            other_labels=(*(name for name in dict.fromkeys(names) if name not in labels), *others),
        )
    ends = [(float(extent.low[i]), float(extent.high[i])) for i in (*present[:1], *present[-1:])]
    least, most = (ends[0][0], ends[-1][1]) if ends else (None, None)
    value = None if math.isnan(own) else own
    if not at.size:
        words = "" if whole else _listed(absent)
        return Span(feature.name, None, None, absent, whole, words, value, least, most, missing)
    lower, upper = float(extent.low[at[0]]), float(extent.high[at[-1]])
    parts = [] if at[0] == present[0] else [_lower(extent, int(at[0]))]
    parts += [] if at[-1] == present[-1] else [_upper(extent, int(at[-1]))]
    words = " and ".join(parts)
    if absent and parts:
        words += f", or {_listed(absent)}"
    elif not (whole or parts):
        no_value = np.isnan(extent.low).any() and not missing
        words = f"not {_listed((*others, None) if no_value else others)}"
    return Span(
        feature.name, lower, upper, (), whole, words, value, least, most, missing, codes, others
    )


def _as_label(value: object) -> str:
    """Return a category in the form of the labels: whole numbers without a decimal point."""
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(cast(float, value)) if whole else value)


def _listed(labels: tuple[object, ...]) -> str:
    shown = [exactly(label) for label in labels]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _lower(extent: Extent, at: int) -> str:
    """Return the shorter of "at least" and "above", with numbers rounded inwards if shorter."""
    first, below = float(extent.low[at]), float(extent.high[at - 1])
    if extent.feature.kind != "numeric":
        return f"at least {exactly(extent.feature.show(first))}"
    near = _shortest(first, _next_read(first, math.inf), ROUND_CEILING)
    if len(exactly(below)) < len(exactly(near)):
        return f"above {exactly(below)}"
    return f"at least {exactly(near)}"


def _upper(extent: Extent, at: int) -> str:
    last, above = float(extent.high[at]), float(extent.low[at + 1])
    if extent.feature.kind != "numeric":
        return f"at most {exactly(extent.feature.show(last))}"
    near = _shortest(_next_read(last, -math.inf), last, ROUND_FLOOR)
    if len(exactly(above)) < len(exactly(near)):
        return f"below {exactly(above)}"
    return f"at most {exactly(near)}"


def _next_read(value: float, way: float) -> float:
    """Return the float32 next to a number, for numbers that people write down."""
    near = np.float32(value)
    return (
        float(near)
        if way * (float(near) - value) > 0
        else float(np.nextafter(near, np.float32(way)))
    )


def _shortest(low: float, high: float, way: str) -> float:
    """Return the number of fewest digits in an interval, nearest to the rounded end."""
    end = high if way == ROUND_FLOOR else low
    for digits in range(1, MOST_DIGITS):
        if end == 0 or not math.isfinite(end):
            break
        unit = Decimal(1).scaleb(math.floor(math.log10(abs(end))) + 1 - digits)
        value = float(Decimal(end).quantize(unit, way, context=DECIMAL)) + 0.0
        if low <= value <= high:
            return value
    return end
