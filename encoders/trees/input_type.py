"""Values of the type that a model reads its input in, next to a bound."""

from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.arrays import FloatArray


def largest_at_most(bound: npt.ArrayLike, dtype: np.dtype[Any], strict: bool = False) -> FloatArray:
    """Largest value of ``dtype`` that is <= ``bound`` (< if ``strict``), as float64."""
    exact = np.asarray(bound, dtype=np.float64)
    info = np.finfo(dtype)
    clipped = np.clip(exact, float(info.min), float(info.max))
    rounded = clipped.astype(dtype)
    too_large = rounded.astype(np.float64) > exact
    if strict:
        too_large |= rounded.astype(np.float64) >= exact
    with np.errstate(over="ignore"):  # below the smallest finite value is -inf, as meant
        below = np.nextafter(rounded, dtype.type(-np.inf))
    value: FloatArray = np.where(too_large, below, rounded).astype(np.float64)
    return value


def next_above(value: npt.ArrayLike, dtype: np.dtype[Any]) -> FloatArray:
    """The value of ``dtype`` right after ``value`` (itself a value of ``dtype``)."""
    with np.errstate(over="ignore"):
        above: FloatArray = np.nextafter(
            np.asarray(value).astype(dtype), dtype.type(np.inf)
        ).astype(np.float64)
    return above


def last_read_as(value: FloatArray, dtype: np.dtype[Any]) -> FloatArray:
    """Largest float64 that a model which reads ``dtype`` takes for at most ``value``.

    A number goes with the value of ``dtype`` (as ``value`` is one) that it rounds to; halfway it
    rounds to the even one.
    """
    if dtype == np.float64:
        return value
    above = next_above(value, dtype)
    middle = np.where(np.isfinite(above), (value + above) / 2, value)
    stays = middle.astype(dtype).astype(np.float64) <= value
    return np.where(stays, middle, np.nextafter(middle, -np.inf))
