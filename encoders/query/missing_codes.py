"""Numbers that stand for a missing value, such as -999: found in a training column."""

import numpy as np

from encoders.arrays import FloatArray

FEWEST = (
    3  # other values of a column; with fewer, such as a flag's, the number is a value like them
)
SHORTEST_CODE = 3  # digits, all of which are 9


def without_code(column: FloatArray, absent: float) -> tuple[FloatArray, str]:
    """Return a column without the number that the model takes for missing, and a note for users.

    Parameters
    ----------
    column : float64 (n_rows,), training values without NaN
    absent : float, number that the model takes for missing, NaN for none
    """
    others = column[column != absent]
    if others.size == column.size:
        code = _isolated_code(column)
        if code is None:
            return column, ""
        return column, f"{code:g} looks like a code for a missing value; give bounds without it"
    if np.unique(others).size < FEWEST:
        return column, ""
    return others, f"the model takes {absent:g} for missing"


def _isolated_code(column: FloatArray) -> float | None:
    """Return a smallest or largest value of nines alone, farther from the others than these are."""
    for code in (column.min(initial=0.0), column.max(initial=0.0)):
        digits = f"{abs(code):.0f}"
        if set(digits) != {"9"} or len(digits) < SHORTEST_CODE or abs(code) != float(digits):
            continue
        others = column[column != code]
        if np.unique(others).size >= FEWEST:
            low, high = others.min(), others.max()
            if max(low - code, code - high) >= high - low:
                return float(code)
    return None
