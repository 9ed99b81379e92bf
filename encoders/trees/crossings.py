"""Where the answers to questions about numbers change, found by asking."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray

DENSE = 128  # neighbours on either side of a crossing that are all looked at
FARTHEST = 2**48  # how many float64 away the last one is that is looked at
WIDEST = 2**32  # the last one that may be answered otherwise, a millionth of the number
AT_ONCE = 32  # neighbours of each crossing that are asked together
ASKED_AT_ONCE, MOST_WAYS = 2048, 15  # numbers of all questions together, of each

# A number per question, float64 (n_times, n_questions) -> answers of the same shape.
Ask = Callable[[FloatArray], BoolArray]


@dataclass(frozen=True, eq=False)
class Crossings:
    """One per question: where its answer changes.

    Attributes
    ----------
    last : float64 (n,), the last number before; infinite where it never does: inf for always yes
    falls : bool (n,), whether the answer becomes yes there
    """

    last: FloatArray
    falls: BoolArray

    def expected(self, values: FloatArray) -> BoolArray:
        """What the answers are if there is but one change."""
        answers: BoolArray = (values <= self.last) != self.falls
        return answers


def find_crossings(ask: Ask, low: FloatArray, high: FloatArray) -> Crossings:
    """Part all float64 between two numbers until neighbours are left.

    Where there are few questions, several numbers in between are asked together, as what asking
    takes then hardly depends on how many these are.
    """
    below, above = ordered(low), ordered(high)
    begins, ends = ask(low[None, :])[0], ask(high[None, :])[0]
    constant = begins == ends
    ways = np.clip(ASKED_AT_ONCE // max(1, low.size), 1, MOST_WAYS)
    share = np.arange(1, ways + 1, dtype=np.uint64)[:, None]
    parts, every = np.uint64(ways + 1), np.arange(low.size)
    while True:
        width = above.view(np.uint64) - below.view(np.uint64)  # right beyond 2**63, too
        if (width <= 1).all():
            break
        steps = width // parts * share + width % parts * share // parts
        places = (below.view(np.uint64) + steps).view(np.int64)
        passed = ask(floats(places)) != begins
        first = np.where(passed.any(axis=0), passed.argmax(axis=0), ways)
        ladder = np.vstack([below, places, above])
        below, above = ladder[first, every], np.maximum(ladder[first + 1, every], below + 1)
    last = np.where(constant, np.where(begins, np.inf, -np.inf), floats(below))
    return Crossings(last, ~constant & ~begins)


def unsure_around(
    ask: Ask, found: Crossings, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """The stretch around each crossing within which answers change to and fro.

    All neighbours nearby are looked at, and some of those farther away; the stretch ends at the
    last one that is answered otherwise, and twice as far away where not all are looked at.
    """
    first, end = ordered(low), ordered(high)
    centre = ordered(np.clip(found.last, low, high))
    reach = [np.zeros_like(centre), np.zeros_like(centre)]
    offsets = _offsets()
    for chunk in np.array_split(offsets, -(-offsets.size // AT_ONCE)):
        for side, way in enumerate((-1, 1)):
            away = chunk[:, None] - (way < 0)  # the crossing itself is the first one below
            number = np.clip(centre + way * away, first, end)
            values = floats(number)
            wrong = ask(values) != found.expected(values)
            farthest = np.where(wrong, chunk[:, None], 0).max(axis=0)
            reach[side] = np.maximum(reach[side], farthest)
    wide = np.maximum(*reach) > WIDEST
    below, above = (np.where(own > DENSE, 2 * own, own) for own in reach)
    after, until = np.maximum(centre - below, first), np.minimum(centre + above, end)
    return floats(after), floats(until), wide


def _offsets() -> IntArray:
    """1, 2, ..., and then ever farther."""
    far = np.geomspace(DENSE, FARTHEST, num=48).astype(np.int64)
    return np.unique(np.concatenate([np.arange(1, DENSE + 1), far]))


def ordered(values: FloatArray) -> IntArray:
    """Whole numbers in the same order as the float64 they stand for, one apart for neighbours."""
    bits = (values + 0.0).view(np.int64)  # -0.0 becomes 0.0
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def floats(numbers: IntArray) -> FloatArray:
    """The float64 that whole numbers stand for; the inverse of :func:`ordered`."""
    bits = np.where(numbers < 0, np.iinfo(np.int64).min - numbers, numbers)
    values: FloatArray = bits.view(np.float64)
    return values
