"""One feature that differs between a query and its answer, and how that reads."""

from dataclasses import dataclass
from typing import Any

LARGEST_WHOLE = 1e15  # whole numbers from here on are printed with an exponent


@dataclass(frozen=True)
class Change:
    """One feature that differs.

    Attributes
    ----------
    feature : its name
    before, after : a number, or the label of a category or binary value; None if missing
    cost : of this change, weighted; their sum, or largest for norm "inf", is the distance
    onward : bool, whether a number a little further would do as well, and rules admit all numbers
        beyond; sentences then say "at least" or "at most"
    from_code, to_code : bool, whether ``before`` and ``after`` are codes for a missing value
    """

    feature: str
    before: object
    after: object
    cost: float
    onward: bool = False
    from_code: bool = False
    to_code: bool = False

    def __str__(self) -> str:
        verb = "Change"
        if _is_number(self.before) and _is_number(self.after) and not self.is_coded:
            verb = "Increase" if self._rises else "Decrease"
        missing = " (missing)" if self.from_code else ""
        return f"{verb} {self.feature} from {in_short(self.before)}{missing} to {self.reached}."

    def to_dict(self) -> dict[str, object]:
        """Plain values, by the names of the columns of ``result.changes()``."""
        return {
            "feature": self.feature, "from": self.before, "to": self.after, "cost": self.cost
        }  # fmt: skip

    @property
    def is_coded(self) -> bool:
        """Whether a value is a code for a missing one."""
        return self.from_code or self.to_code

    @property
    def reached(self) -> str:
        """The new value in words: all of its digits, for one less may be decided otherwise."""
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
    """A value such that a number reads back as the same float64."""
    if value is None:
        return "missing"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
