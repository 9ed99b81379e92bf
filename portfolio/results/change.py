"""The change of one feature between a query and its answer, and its wording."""

from dataclasses import dataclass, field
from math import floor, inf, log10
from typing import Any

from portfolio.results.codec import HIDDEN, AsJson, member
from portfolio.results.printing import DIGITS, LARGEST_WHOLE


@dataclass(frozen=True)
class Change(AsJson):
    """Change of one feature.

    Attributes
    ----------
    feature : str
        Name of the feature.
    before : float, label or None
        Old value: a number, or the label of a category or binary value; None if missing.
    after : float, label or None
        New value, in the same form.
    cost : float
        Weighted cost of this change. The sum of all costs (the largest one for norm "inf") is the
        distance.
    onward : bool
        Whether all admissible numbers beyond ``after`` reach the target as well. Sentences then
        say "at least" or "at most".
    from_code : bool
        Whether ``before`` is a code for a missing value.
    to_code : bool
        Whether ``after`` is a code for a missing value.

    Examples
    --------
    >>> print(Change("income", 20.0, 31.5, cost=0.2, onward=True))
    Increase income from 20 to at least 31.5.
    """

    feature: str
    before: object = field(metadata=member(name="from"))
    after: object = field(metadata=member(name="to"))
    cost: float
    onward: bool = field(default=False, metadata=HIDDEN)
    from_code: bool = field(default=False, metadata=HIDDEN)
    to_code: bool = field(default=False, metadata=HIDDEN)

    def __str__(self) -> str:
        verb = "Change"
        if _is_number(self.before) and _is_number(self.after) and not self.is_coded:
            verb = "Increase" if self._rises else "Decrease"
        return f"{verb} {self.feature} from {self.origin} to {self.reached}."

    @property
    def is_coded(self) -> bool:
        """True if the old or the new value is a code for a missing one."""
        return self.from_code or self.to_code

    @property
    def origin(self) -> str:
        """Old value in words, rounded to a thousandth of the change."""
        if self.from_code:
            return f"{in_short(self.before)} (missing)"
        if not (_is_number(self.before) and _is_number(self.after)) or self.to_code:
            return in_short(self.before)
        before: Any = self.before
        after: Any = self.after
        moved = abs(after - before)
        if float(before).is_integer() or not 0 < moved < inf:
            return in_short(before)
        places = max(0, DIGITS - 1 - floor(log10(moved)))
        text = repr(round(float(before), places)).removesuffix(".0")
        return min(text, in_short(before), key=len)

    @property
    def reached(self) -> str:
        """New value in words, with all digits: with one less the prediction may differ."""
        if not (self.onward and _is_number(self.before)):
            return exactly(self.after) + (" (missing)" if self.to_code else "")
        return f"{'at least' if self._rises else 'at most'} {exactly(self.after)}"

    @property
    def _rises(self) -> bool:
        before: Any = self.before
        after: Any = self.after
        return bool(after > before)


def in_short(value: object) -> str:
    """Return a value as context: ten digits of a number, all digits of a whole one."""
    if not _is_number(value):
        return exactly(value)
    number: Any = value
    whole = isinstance(number, int) or (number.is_integer() and abs(number) < LARGEST_WHOLE)
    return str(int(number)) if whole else f"{number:.10g}"


def exactly(value: object) -> str:
    """Return a value as text; a number reads back as the same float64."""
    if value is None:
        return "missing"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
