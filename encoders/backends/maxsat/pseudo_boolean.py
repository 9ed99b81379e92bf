"""Pseudo-Boolean rows over groups of which exactly one item is active, as clauses.

Three encodings of ``sum of the active items' weights >= minimum``:

clause
    Where the minimum is 1 and each group has one item that weighs nothing: some of these is absent.
totaliser
    A balanced tree of partial sums, built from the root down, so that only thresholds that
    matter get a literal. Propagates well; used where few distinct sums exist, as with votes.
adder
    Each group is a binary number whose bits its active item sets; the numbers are added by full
    adders and compared with the minimum. Exact for any weights at a size linear in their bits.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import gcd

New = Callable[[], int]
Add = Callable[[list[int]], None]

# Distinct sums of a row for which the totaliser is used: its clauses grow with them, the adder's
# do not but propagate less.
MOST_SUMS = 400


@dataclass(frozen=True)
class Item:
    """An item of a group."""

    weight: int  # a whole number of at least 0
    absent: list[int]  # literals, of which one holds unless the item is the active one


def at_least(groups: list[list[Item]], minimum: int, new: New, add: Add) -> None:
    """Add clauses for ``sum of weights >= minimum``; weights are whole numbers >= 0."""
    groups, minimum = _normalised(groups, minimum)
    if minimum <= 0:
        return
    if sum(max(item.weight for item in group) for group in groups) < minimum:
        add([])
        return
    nothing = [[item for item in group if item.weight == 0] for group in groups]
    if minimum == 1 and all(len(items) == 1 for items in nothing):
        add([literal for (item,) in nothing for literal in item.absent])
        return
    sums = _sums(groups, minimum)
    if sums is not None:
        _Totaliser(new, add, minimum).assert_root(groups)
    else:
        compare(add_up(groups, new, add), minimum, add)


def _normalised(groups: list[list[Item]], minimum: int) -> tuple[list[list[Item]], int]:
    """Every group's least weight 0, no constant groups, weights without a common divisor."""
    shifted = []
    for group in groups:
        least = min(item.weight for item in group)
        minimum -= least
        if any(item.weight != least for item in group):
            shifted.append([Item(item.weight - least, item.absent) for item in group])
    divisor = reduce(gcd, (item.weight for group in shifted for item in group), 0)
    if divisor > 1:
        minimum = -(-minimum // divisor)
        shifted = [[Item(i.weight // divisor, i.absent) for i in group] for group in shifted]
    return shifted, minimum


def _sums(groups: list[list[Item]], minimum: int) -> set[int] | None:
    """Distinct sums up to ``minimum``, None if there are too many."""
    sums = {0}
    for group in groups:
        weights = {item.weight for item in group}
        sums = {min(s + w, minimum) for s in sums for w in weights}
        if len(sums) > MOST_SUMS:
            return None
    return sums


class _Totaliser:
    """Literals "the groups from i to j weigh at least c", made on demand."""

    def __init__(self, new: New, add: Add, minimum: int) -> None:
        self._new, self._add, self._cap = new, add, minimum
        self._groups: list[list[Item]] = []
        self._values: dict[tuple[int, int], list[int]] = {}
        self._literals: dict[tuple[int, int, int], int] = {}

    def assert_root(self, groups: list[list[Item]]) -> None:
        self._groups = groups
        root = self._literal(0, len(groups), self._cap)
        self._add([root] if root else [])

    def _sums(self, i: int, j: int) -> list[int]:
        """Distinct sums of the groups i to j, ascending, capped."""
        if (i, j) not in self._values:
            if j - i == 1:
                values = {min(item.weight, self._cap) for item in self._groups[i]}
            else:
                k = (i + j) // 2
                values = {min(a + b, self._cap) for a in self._sums(i, k) for b in self._sums(k, j)}
            self._values[i, j] = sorted(values)
        return self._values[i, j]

    def _literal(self, i: int, j: int, least: int) -> int:
        """Return the literal of "groups i to j weigh at least ``least`` > 0"; 0 if impossible."""
        values = self._sums(i, j)
        at = bisect_left(values, least)
        if at == len(values):
            return 0
        key = (i, j, values[at])
        if key not in self._literals:
            self._literals[key] = self._new()
            self._define(*key)
        return self._literals[key]

    def _define(self, i: int, j: int, least: int) -> None:
        literal = self._literals[i, j, least]
        if j - i == 1:
            for item in self._groups[i]:
                if item.weight < least:
                    self._add([-literal, *item.absent])
            return
        k = (i + j) // 2
        left = self._sums(i, k)
        # Either the left part weighs more than a, or the right part makes up for the rest.
        for at, a in enumerate(left):
            if a >= least:
                break
            clause = [-literal]
            if at + 1 < len(left):
                clause.append(self._literal(i, k, left[at + 1]))
            rest = self._literal(k, j, least - a)
            self._add([*clause, rest] if rest else clause)


def add_up(groups: list[list[Item]], new: New, add: Add) -> list[int]:
    """Bits of the sum of the active items' weights, lowest first."""
    numbers = [_number(group, new, add) for group in groups]
    while len(numbers) > 1:
        numbers.sort(key=len)
        numbers.append(_sum(numbers[0], numbers[1], new, add))
        del numbers[:2]
    return numbers[0] if numbers else []


def _number(group: list[Item], new: New, add: Add) -> list[int]:
    """Bits of the active item's weight, lowest first."""
    bits = [new() for _ in range(max(item.weight for item in group).bit_length())]
    for item in group:
        for position, bit in enumerate(bits):
            add([*item.absent, bit if item.weight >> position & 1 else -bit])
    return bits


def _sum(a: list[int], b: list[int], new: New, add: Add) -> list[int]:
    """Bits of the sum of two numbers."""
    total, carry = [], 0
    for position in range(max(len(a), len(b))):
        inputs = [number[position] for number in (a, b) if position < len(number)]
        inputs += [carry] if carry else []
        if len(inputs) == 1:
            total.append(inputs[0])
            carry = 0
            continue
        bit, carry = new(), new()
        _parity(inputs, bit, add)
        _majority(inputs, carry, add)
        total.append(bit)
    return [*total, carry] if carry else total


def _parity(inputs: list[int], out: int, add: Add) -> None:
    """``out`` is true iff an odd number of inputs is."""
    for pattern in range(2 ** len(inputs)):
        flipped = [-x if pattern >> i & 1 else x for i, x in enumerate(inputs)]
        add([*flipped, out if pattern.bit_count() % 2 else -out])


def _majority(inputs: list[int], out: int, add: Add) -> None:
    """``out`` is true iff at least two inputs are."""
    for i, one in enumerate(inputs):
        for other in inputs[i + 1 :]:
            add([-one, -other, out])
            if len(inputs) == 3:
                add([one, other, -out])
    if len(inputs) == 2:
        add([inputs[0], -out])
        add([inputs[1], -out])


def compare(bits: list[int], minimum: int, add: Add) -> None:
    """Add clauses that require a binary number to be at least ``minimum``.

    For each 1 bit of ``minimum``, the number has this bit or a higher bit that ``minimum`` lacks.
    """
    if minimum.bit_length() > len(bits):
        add([])
        return
    higher: list[int] = []
    for position in range(len(bits) - 1, -1, -1):
        if minimum >> position & 1:
            add([bits[position], *higher])
        else:
            higher.append(bits[position])
