"""Neighbouring values of a bound in the floating-point type of a model's input."""

from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.arrays import FloatArray


def largest_at_most(bound: npt.ArrayLike, dtype: np.dtype[Any], strict: bool = False) -> FloatArray:
    """Return the largest value of ``dtype`` that is <= ``bound`` (< if ``strict``), as float64."""
    exact = np.asarray(bound, dtype=np.float64)
    info = np.finfo(dtype)
    clipped = np.clip(exact, float(info.min), float(info.max))
    rounded = clipped.astype(dtype)
    too_large = rounded.astype(np.float64) > exact
    if strict:
        too_large |= rounded.astype(np.float64) >= exact
    with np.errstate(over="ignore"):  # the value below the smallest finite one is -inf, as intended
        below = np.nextafter(rounded, dtype.type(-np.inf))
    value: FloatArray = np.where(too_large, below, rounded).astype(np.float64)
    return value


def next_above(value: npt.ArrayLike, dtype: np.dtype[Any]) -> FloatArray:
    """Return the next value of ``dtype`` above ``value``, itself a value of ``dtype``."""
    with np.errstate(over="ignore"):
        above: FloatArray = np.nextafter(
            np.asarray(value).astype(dtype), dtype.type(np.inf)
        ).astype(np.float64)
    return above


def last_read_as(value: FloatArray, dtype: np.dtype[Any]) -> FloatArray:
    """Return the largest float64 that is at most ``value`` after rounding to ``dtype``.

    ``value`` is a value of ``dtype``. Rounding goes to the nearest value, halfway to the even one.
    """
    if dtype == np.float64:
        return value
    above = next_above(value, dtype)
    middle = np.where(np.isfinite(above), (value + above) / 2, value)
    stays = middle.astype(dtype).astype(np.float64) <= value
    return np.where(stays, middle, np.nextafter(middle, -np.inf))
