"""Tests that must not all pass at once, as forbidden boxes of levels."""

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

import numpy as np

from encoders.errors import InputError
from encoders.posing.feature_levels import LevelsOf, Literal, box_of
from encoders.problem.problem import Box
from encoders.query.conditions import Test

MOST_BOXES = 50_000  # of one relation; more would take too long


def boxes_of(tests: tuple[Test, ...], options: Mapping[int, LevelsOf]) -> Iterator[Box]:
    """Boxes in which all tests pass."""
    sides = [list(_passing(test, options[test.index])) for test in tests]
    if prod(map(len, sides)) > MOST_BOXES:
        raise InputError(
            "a relation between features parts their values too finely; give them a step, "
            "fewer values, or narrower bounds."
        )
    for literals in product(*sides):
        joined = _joined([literal for part in literals for literal in part])
        if joined is not None:
            yield box_of(joined)


def _passing(test: Test, own: LevelsOf) -> Iterator[list[Literal]]:
    """Alternatives, each of literals that hold together."""
    passes = test.passes(own.value)
    if own.ordered:
        edges = np.flatnonzero(np.diff(np.r_[False, passes, False].astype(np.int64)))
        for lo, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            yield [(int(own.axis[0]), lo, end - 1)]
    elif passes.all():  # all of an axis
        yield [(int(own.axis[0]), 0, int(own.level[0]))]
    elif passes.sum() == 1:
        at = int(np.flatnonzero(passes)[0])
        yield [(int(own.axis[at]), int(own.level[at]), int(own.level[at]))]
    elif passes.any():  # it is none of the others
        others = np.flatnonzero(~passes).tolist()
        yield [(int(own.axis[at]), 0, int(own.level[at]) - 1) for at in others]


def _joined(literals: list[Literal]) -> list[Literal] | None:
    """Return one literal per axis; None if none can hold."""
    spans: dict[int, tuple[int, int]] = {}
    for axis, lo, hi in literals:
        low, high = spans.get(axis, (lo, hi))
        spans[axis] = max(low, lo), min(high, hi)
    if any(lo > hi for lo, hi in spans.values()):
        return None
    return [(axis, lo, hi) for axis, (lo, hi) in spans.items()]
