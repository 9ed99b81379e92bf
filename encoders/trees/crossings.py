"""Searches for the numbers at which functions of one column each cross their limits."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray
from encoders.trees.floats import apart, between, floats, ordered

# Distances are counted in float64 values from the crossing.
DENSE = 128  # all neighbours up to this distance on either side are evaluated
FARTHEST = 2**48  # distance of the last neighbour that is evaluated
WIDEST = 2**32  # largest distance of a deviating answer, about a millionth of the number
AT_ONCE = 32  # neighbours of each crossing that are evaluated in one call, at least

NUMBERS_AT_ONCE = 2048  # numbers of a column in one call, shared by its tests
FEW, MOST, MOST_EVENLY = 3, 15, 127  # numbers near a test's interpolated zero, evenly divided ones
CLOSE = 64  # distance of a zero from a known number up to which it is taken as exact
PATIENCE = 3  # calls before intervals are also divided evenly
# Distances from an interpolated zero to evaluate; the first ones suffice for linear functions.
AWAY = np.array([0, 2, -2, 1, -1, *(s * 2**k for k in (6, 12, 20, 30, 40) for s in (1, -1))])

# Numbers by column -> outputs of the column's functions, float64 (n_numbers, n_functions).
OutputsOf = Callable[[Mapping[int, FloatArray]], dict[int, FloatArray]]


@dataclass(frozen=True, eq=False)
class LimitTests:
    """Tests whether a function of one column is at most a limit.

    Attributes
    ----------
    column : column of each function, int64 (n,).
    place : position of the function among the outputs of its column, int64 (n,).
    limit : largest output at which the answer is yes, float64 (n,).
    """

    column: IntArray
    place: IntArray
    limit: FloatArray

    def only(self, at: IntArray) -> "LimitTests":
        """Return some of the tests."""
        return LimitTests(self.column[at], self.place[at], self.limit[at])

    def by_column(self) -> Iterator[tuple[int, IntArray]]:
        """Yield each column, and the indices of its tests, int64 (n_tests,)."""
        for column in np.unique(self.column).tolist():
            yield column, np.flatnonzero(self.column == column)

    def answers(self, outputs_of: OutputsOf, values: FloatArray) -> BoolArray:
        """Return the answers of each test at the numbers of its column, bool (n_times, n)."""
        mine = dict(self.by_column())
        outputs = outputs_of({column: values[:, at].ravel() for column, at in mine.items()})
        yes = np.empty(values.shape, dtype=np.bool_)
        for column, at in mine.items():
            each = outputs[column].reshape(len(values), at.size, -1)
            yes[:, at] = each[:, np.arange(at.size), self.place[at]] <= self.limit[at]
        return yes


@dataclass(frozen=True, eq=False)
class Crossings:
    """Numbers at which the answers of some tests change.

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


@dataclass(frozen=True, eq=False)
class _Samples:
    """Numbers of a column, ascending, and the outputs of its functions, (n, n_functions)."""

    numbers: FloatArray
    outputs: FloatArray

    def joined(self, numbers: FloatArray, outputs: FloatArray) -> "_Samples":
        every = np.concatenate([self.numbers, numbers])
        order = np.argsort(every, kind="stable")
        return _Samples(every[order], np.concatenate([self.outputs, outputs])[order])

    def ends(self, tests: LimitTests) -> BoolArray:
        """Return the answers at the lowest and at the highest number, bool (2, n)."""
        answers: BoolArray = self.outputs[[0, -1]][:, tests.place] <= tests.limit
        return answers

    def brackets(self, tests: LimitTests) -> IntArray:
        """Return the positions of two adjacent numbers with different answers, int64 (2, n)."""
        above = np.empty(tests.limit.size, dtype=np.int64)
        for place in np.unique(tests.place).tolist():
            at = np.flatnonzero(tests.place == place)
            outputs, limit = self.outputs[:, place], tests.limit[at]
            filled = np.where(np.isnan(outputs), np.inf, outputs)
            to_no = np.searchsorted(np.maximum.accumulate(filled), limit, side="right")
            to_yes = np.searchsorted(-np.minimum.accumulate(filled), -limit, side="left")
            above[at] = np.where(filled[0] <= limit, to_no, to_yes)
        return np.stack([above - 1, above])


def find_crossings(
    outputs_of: OutputsOf, tests: LimitTests, starts: Mapping[int, FloatArray]
) -> Crossings:
    """Find the crossing of each test among all float64 numbers of its column.

    ``starts`` are the first numbers to evaluate, ascending, from the lowest to the highest of each
    column. A test uses the outputs at all numbers that were evaluated for any test of its column.
    """
    samples = {at: _Samples(starts[at], each) for at, each in outputs_of(starts).items()}
    begins, ends = np.empty((2, tests.limit.size), dtype=np.bool_)
    for column, at in tests.by_column():
        begins[at], ends[at] = samples[column].ends(tests.only(at))
    last = np.where(begins, np.inf, -np.inf)
    remaining = np.flatnonzero(begins != ends)
    call = 0
    while remaining.size:
        call += 1
        some = tests.only(remaining)
        ways = NUMBERS_AT_ONCE // int(np.bincount(some.column).max())
        numbers, wide = dict[int, FloatArray](), []
        for column, at in some.by_column():
            last[remaining[at]], is_wide, places = _inside(
                samples[column], some.only(at), ways, call
            )
            wide.append(at[is_wide])
            if places.size:
                numbers[column] = places
        remaining = remaining[np.concatenate(wide)]
        for column, outputs in (outputs_of(numbers) if numbers else {}).items():
            samples[column] = samples[column].joined(numbers[column], outputs)
    return Crossings(last, ~begins & ends)


def _inside(
    samples: _Samples, tests: LimitTests, ways: int, call: int
) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Return the last number known to be before each crossing, and where to evaluate next.

    The second array holds whether other numbers remain before the answer changes, bool (n,). The
    third one holds some of these numbers: near the interpolated zeros, and evenly divided ones.
    """
    bracket = samples.brackets(tests)
    low, high = samples.numbers[bracket]
    below, above = ordered(low), ordered(high)
    wide = below + 1 < above
    with np.errstate(all="ignore"):
        first, last = samples.outputs[bracket, tests.place] - tests.limit
        zero = high - last * ((high - low) / (last - first))
    zero = ordered(np.clip(np.where(np.isnan(zero), low, zero), low, high))
    # One number per test is enough at first if there are many, because all of them use it.
    near = (np.minimum(apart(below, zero), apart(zero, above)) <= CLOSE) | (ways >= FEW)
    places = zero + AWAY[: max(FEW, min(ways, MOST)), None] * near
    if call > PATIENCE:
        evenly = between(below, above, max(1, min(ways, MOST_EVENLY)))
        places = np.vstack([places, evenly])
    return low, wide, floats(np.unique(np.clip(places, below + 1, above - 1)[:, wide]))


def unsure_around(
    outputs_of: OutputsOf, tests: LimitTests, crossings: Crossings, starts: Mapping[int, FloatArray]
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return the interval around each crossing in which answers fluctuate, and if it is too wide.

    The result is (after, until, wide), float64 and bool (n,): answers may deviate for
    ``after < v <= until``. All close neighbours are evaluated, and a sample of the distant ones.
    The interval ends at the last deviating neighbour, or twice as far away among sampled ones. It
    is also too wide if an answer at ``starts`` deviates outside of it.
    """
    low, high = (np.array([starts[at][end] for at in tests.column.tolist()]) for end in (0, -1))
    first, end = ordered(low), ordered(high)
    centre = ordered(np.clip(crossings.last, low, high))
    reach = np.zeros((2, centre.size), dtype=np.int64)
    offsets = _offsets()
    at_once = max(AT_ONCE, NUMBERS_AT_ONCE // max(1, low.size))
    for chunk in np.array_split(offsets, -(-offsets.size // at_once)):
        # The crossing itself is the first neighbour below.
        away = np.stack([1 - chunk, chunk])[:, :, None]
        values = floats(np.clip(centre + away, first, end))
        flat = values.reshape(-1, centre.size)
        wrong = tests.answers(outputs_of, flat) != crossings.expected(flat)
        farthest = np.where(wrong.reshape(values.shape), chunk[:, None], 0).max(axis=1)
        reach = np.maximum(reach, farthest)
    wide = reach.max(axis=0) > WIDEST
    below, above = np.where(reach > DENSE, 2 * reach, reach)
    after = floats(np.maximum(centre - below, first))
    until = floats(np.minimum(centre + above, end))
    outputs = outputs_of(starts)
    for column, at in tests.by_column():
        some, values = tests.only(at), starts[column][:, None]
        yes = outputs[column][:, some.place] <= some.limit
        expected = Crossings(crossings.last[at], crossings.falls[at]).expected(values)
        outside = (values <= after[at]) | (values > until[at])
        wide[at] |= ((yes != expected) & outside).any(axis=0)
    return after, until, wide


def _offsets() -> IntArray:
    """Return the distances to evaluate: all up to DENSE, then a geometric sample, int64 (n,)."""
    far = np.geomspace(DENSE, FARTHEST, num=48).astype(np.int64)
    return np.unique(np.concatenate([np.arange(1, DENSE + 1), far]))
