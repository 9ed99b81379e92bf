"""Floating-point numbers: neighbours, ranks and uncertain intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.core.arrays import BoolArray, FloatArray, IntArray, frozen


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


@dataclass(frozen=True, eq=False)
class Stretches:
    """Uncertain intervals of a column, which no answer may use.

    Attributes
    ----------
    after, until : ends of the intervals ``after < v <= until``, float64 (n_stretches,), ascending
        and disjoint.
    """

    after: FloatArray
    until: FloatArray

    @staticmethod
    def joined(after: FloatArray, until: FloatArray) -> "Stretches":
        """Return the union of intervals in any order, which may be empty or overlap."""
        order = np.argsort(after, kind="stable")
        order = order[after[order] < until[order]]
        after, until = after[order], np.maximum.accumulate(until[order])
        begins = np.r_[True, after[1:] > until[:-1]] if after.size else np.zeros(0, dtype=np.bool_)
        ends = np.append(begins[1:], True) if after.size else begins
        return Stretches(frozen(after[begins]), frozen(until[ends]))

    @staticmethod
    def of_all(parts: Sequence["Stretches"]) -> "Stretches":
        """Return the union of several sets of intervals."""
        after, until = ([getattr(part, end) for part in parts] for end in ("after", "until"))
        return Stretches.joined(np.concatenate(after), np.concatenate(until))

    def hold(self, values: FloatArray) -> BoolArray:
        """Return whether values lie in an interval, bool of the same shape; NaN never does."""
        inside: BoolArray = self.down(values) != self.up(values)
        return inside & ~np.isnan(values)

    def down(self, values: FloatArray) -> FloatArray:
        """Return the largest numbers outside of all intervals that are at most ``values``."""
        at, inside = self._place(values)
        return np.where(inside, self.after[at], values) if self.after.size else values

    def up(self, values: FloatArray) -> FloatArray:
        """Return the smallest numbers outside of all intervals that are at least ``values``."""
        at, inside = self._place(values)
        beyond = np.nextafter(self.until, np.inf)
        return np.where(inside, beyond[at], values) if self.after.size else values

    def _place(self, values: FloatArray) -> tuple[IntArray, BoolArray]:
        at = np.minimum(np.searchsorted(self.until, values), max(self.until.size - 1, 0))
        if self.after.size == 0:
            return at, np.zeros(np.shape(values), dtype=np.bool_)
        return at, (values > self.after[at]) & (values <= self.until[at])


def between(below: IntArray, above: IntArray, ways: int) -> IntArray:
    """Return ranks that divide intervals of ranks evenly, int64 (ways, n)."""
    share, parts = np.arange(1, ways + 1, dtype=np.uint64)[:, None], np.uint64(ways + 1)
    width = apart(below, above)
    steps = width // parts * share + width % parts * share // parts
    return (below.view(np.uint64) + steps).view(np.int64)


def apart(below: IntArray, above: IntArray) -> npt.NDArray[np.uint64]:
    """Return how far apart ranks are, also beyond 2**63, uint64."""
    return above.view(np.uint64) - below.view(np.uint64)


def ordered(values: FloatArray) -> IntArray:
    """Return int64 ranks of float64 values: the same order, and 1 apart for neighbours."""
    bits = (values + 0.0).view(np.int64)  # -0.0 becomes 0.0
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def floats(numbers: IntArray) -> FloatArray:
    """Return the float64 values of int64 ranks; the inverse of :func:`ordered`."""
    bits = np.where(numbers < 0, np.iinfo(np.int64).min - numbers, numbers)
    values: FloatArray = bits.view(np.float64)
    return values
