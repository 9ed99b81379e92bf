"""Conversion of single cells to numbers and dates."""

from typing import Any

import numpy as np
import pandas as pd

from encoders.errors import InputError


def as_number(value: Any, name: Any, where: str) -> float:
    """Return the finite float64 of a cell; raise InputError if it has none."""
    try:
        if isinstance(value, complex | np.complexfloating | str | bytes):
            raise TypeError
        number = float(value)
    except OverflowError as error:
        raise InputError(
            f"{where} {name} is larger than any float64. Give it a smaller value."
        ) from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{where} {name} is {value!r}. Give it a finite number.") from error
    if np.isinf(number):
        raise InputError(f"{where} {name} is infinite. Give it a finite number.")
    return number


def as_date(value: Any) -> Any:
    """Return the timestamp of a cell, which may be text, or None if it is not a date."""
    try:
        return pd.Timestamp(value)
    except (TypeError, ValueError):
        return None
