"""Codes for a missing value, such as -999: declared, or detected in a training column."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError

FEWEST = 3  # distinct other values that a code needs; a number beside fewer is an ordinary value
SHORTEST_CODE = 2  # digits of the shortest detected code; all its digits are 9


def without_codes(
    name: str, column: FloatArray, entry: Mapping[str, Any], absent: float
) -> tuple[FloatArray, tuple[float, ...], str]:
    """Return a column without codes for a missing value, the codes, and a note for users.

    Codes are the declared ones. Without any, the number that the model treats as missing is a code
    if it lies outside the range of the other values.
    """
    declared = entry.get("missing_codes")
    if declared is not None:
        codes = _codes(name, declared, entry)
        return column[~np.isin(column, codes)], codes, ""
    others = column[column != absent]
    seen = others.size < column.size and np.unique(others).size >= FEWEST
    if seen and (absent < others.min() or absent > others.max()):
        return others, (absent,), f"the model treats {absent:g} as missing"
    isolated = _isolated_codes(column)
    if not isolated:
        return column, (), ""
    numbers = ", ".join(f"{code:g}" for code in isolated)
    look, it = ("look like codes", "them") if len(isolated) > 1 else ("looks like a code", "it")
    remedy = f'features={{"{name}": {{"missing_codes": [{numbers}]}}}}'
    return column, (), f"{numbers} {look} for a missing value; declare {it}: {remedy}"


def _codes(name: str, declared: Any, entry: Mapping[str, Any]) -> tuple[float, ...]:
    several = isinstance(declared, list | tuple | np.ndarray)
    if not several or not all(_is_number(code) for code in declared):
        raise InputError(
            f"feature {name}: missing_codes must be a list of finite numbers, got {declared!r}. "
            "Give, for example, [-7, -8]."
        )
    codes = tuple(sorted({float(code) for code in declared}))
    both = [value for value in entry.get("values", ()) if value in codes]
    if both:
        raise InputError(
            f"feature {name}: {both[0]!r} is listed in values and in missing_codes. "
            "Remove it from one of them."
        )
    return codes


def _is_number(code: Any) -> bool:
    number = isinstance(code, int | float | np.number) and not isinstance(code, bool)
    try:
        return number and bool(np.isfinite(float(code)))
    except OverflowError:
        return False


def _isolated_codes(column: FloatArray) -> list[float]:
    """Return extreme values such as -99 or 999 that lie farther out than the others' range."""
    codes: list[float] = []
    while True:
        rest = column[~np.isin(column, codes)]
        ends = (rest.min(initial=0.0), rest.max(initial=0.0))
        code = next((float(end) for end in ends if _is_isolated(end, rest)), None)
        if code is None:
            return sorted(codes)
        codes.append(code)


def _is_isolated(code: float, column: FloatArray) -> bool:
    digits = f"{abs(code):.0f}"
    if set(digits) != {"9"} or len(digits) < SHORTEST_CODE or abs(code) != float(digits):
        return False
    others = column[column != code]
    if np.unique(others).size < FEWEST:
        return False
    low, high = others.min(), others.max()
    return bool(max(low - code, code - high) >= high - low)
