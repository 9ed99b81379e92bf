"""Floating-point numbers: neighbours, uncertain intervals, and searches for crossings."""

from collections.abc import Callable, Sequence
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


# Distances are counted in float64 values from the crossing.
DENSE = 128  # all neighbours up to this distance on either side are evaluated
FARTHEST = 2**48  # distance of the last neighbour that is evaluated
WIDEST = 2**32  # largest distance of a deviating answer, about a millionth of the number
AT_ONCE = 32  # neighbours of each crossing that are evaluated in one call, at least
NUMBERS_AT_ONCE, MOST_WAYS = 2048, 15  # numbers per call: of all functions together, of each

NEAR = 32  # distance of the ends of a bracket from the interpolated zero

# Numbers, one column per function, float64 (n_times, n_functions) -> answers of the same shape.
Predicate = Callable[[FloatArray], BoolArray]
# The same numbers -> by how much a function exceeds a limit; answers are yes up to 0.
Excess = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Crossings:
    """Numbers at which the answers of some functions change.

    Attributes
    ----------
    last : last number before the change, float64 (n,). Without a change it is inf if the answer is
        always yes, and -inf if it is always no.
    falls : whether the answer changes from no to yes, bool (n,).
    """

    last: FloatArray
    falls: BoolArray

    def expected(self, values: FloatArray) -> BoolArray:
        """Return the answers if each function changes only once, bool of the same shape."""
        answers: BoolArray = (values <= self.last) != self.falls
        return answers


def bracket_zeros(
    excess: Excess, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return a small interval around the zero of each function, and whether it contains it.

    Two steps find the zero of a linear function to the last bits. For others, the result is
    (low, high, False), float64 and bool (n,).
    """
    first, last = excess(np.stack([low, high]))

    def inside(values: FloatArray) -> FloatArray:
        return np.clip(np.where(np.isnan(values), low, values), low, high)

    with np.errstate(all="ignore"):
        near = inside(high - last * ((high - low) / (last - first)))
        there = excess(near[None, :])[0]
        is_above = high - near > near - low
        far, beyond = np.where(is_above, high, low), np.where(is_above, last, first)
        # The slope from a distant end is exact.
        middle = ordered(inside(near - there * ((far - near) / (beyond - there))))
    below = floats(np.maximum(middle - NEAR, ordered(low)))
    above = floats(np.minimum(middle + NEAR, ordered(high)))
    ends = excess(np.stack([below, above])) <= 0
    same = (ends == (np.stack([first, last]) <= 0)).all(axis=0)
    inner = same & (ends[0] != ends[1])
    return np.where(inner, below, low), np.where(inner, above, high), inner


def find_crossings(predicate: Predicate, low: FloatArray, high: FloatArray) -> Crossings:
    """Find the crossing of each function between two numbers, by a search over all float64.

    For few functions, each step evaluates several numbers per function: the time of a call then
    hardly depends on their count.
    """
    below, above = ordered(low), ordered(high)
    begins, ends = predicate(low[None, :])[0], predicate(high[None, :])[0]
    constant = begins == ends
    above = np.where(constant, below, above)
    every = np.arange(low.size)
    while (_width(below, above) > 1).any():
        places = between(below, above, low.size)
        ways = len(places)
        passed = predicate(floats(places)) != begins
        first = np.where(passed.any(axis=0), passed.argmax(axis=0), ways)
        ladder = np.vstack([below, places, above])
        below, above = ladder[first, every], np.maximum(ladder[first + 1, every], below + 1)
    last = np.where(constant, np.where(begins, np.inf, -np.inf), floats(below))
    return Crossings(last, ~constant & ~begins)


def between(below: IntArray, above: IntArray, n_intervals: int) -> IntArray:
    """Return ranks that divide intervals of ranks evenly, int64 (n_ways, n).

    There are 1 to ``MOST_WAYS`` in each, fewer if there are many intervals in all.
    """
    ways = int(np.clip(NUMBERS_AT_ONCE // max(1, n_intervals), 1, MOST_WAYS))
    share, parts = np.arange(1, ways + 1, dtype=np.uint64)[:, None], np.uint64(ways + 1)
    width = _width(below, above)
    steps = width // parts * share + width % parts * share // parts
    return (below.view(np.uint64) + steps).view(np.int64)


def _width(below: IntArray, above: IntArray) -> npt.NDArray[np.uint64]:
    """Return the differences of ranks, also beyond 2**63."""
    return above.view(np.uint64) - below.view(np.uint64)


def unsure_around(
    predicate: Predicate, crossings: Crossings, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return the interval around each crossing in which answers fluctuate, and if it is too wide.

    The result is (after, until, wide), float64 and bool (n,): answers may deviate for
    ``after < v <= until``. All close neighbours are evaluated, and a sample of the distant ones.
    The interval ends at the last deviating neighbour, or twice as far away among sampled ones.
    """
    first, end = ordered(low), ordered(high)
    centre = ordered(np.clip(crossings.last, low, high))
    reach = [np.zeros_like(centre), np.zeros_like(centre)]
    offsets = _offsets()
    at_once = max(AT_ONCE, NUMBERS_AT_ONCE // max(1, low.size))
    for chunk in np.array_split(offsets, -(-offsets.size // at_once)):
        for side, way in enumerate((-1, 1)):
            away = chunk[:, None] - (way < 0)  # the crossing itself is the first neighbour below
            number = np.clip(centre + way * away, first, end)
            values = floats(number)
            wrong = predicate(values) != crossings.expected(values)
            farthest = np.where(wrong, chunk[:, None], 0).max(axis=0)
            reach[side] = np.maximum(reach[side], farthest)
    wide = np.maximum(*reach) > WIDEST
    below, above = (np.where(each > DENSE, 2 * each, each) for each in reach)
    after, until = np.maximum(centre - below, first), np.minimum(centre + above, end)
    return floats(after), floats(until), wide


def _offsets() -> IntArray:
    """Return the distances to evaluate: all up to DENSE, then a geometric sample, int64 (n,)."""
    far = np.geomspace(DENSE, FARTHEST, num=48).astype(np.int64)
    return np.unique(np.concatenate([np.arange(1, DENSE + 1), far]))


def ordered(values: FloatArray) -> IntArray:
    """Return int64 ranks of float64 values: the same order, and 1 apart for neighbours."""
    bits = (values + 0.0).view(np.int64)  # -0.0 becomes 0.0
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def floats(numbers: IntArray) -> FloatArray:
    """Return the float64 values of int64 ranks; the inverse of :func:`ordered`."""
    bits = np.where(numbers < 0, np.iinfo(np.int64).min - numbers, numbers)
    values: FloatArray = bits.view(np.float64)
    return values
