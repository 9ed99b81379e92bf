"""Uncertain intervals of numbers, a few units of the last place long."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, frozen


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
