"""Array types, and ragged (CSR) index helpers shared by the flat tree and leaf tables."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
NarrowArray = npt.NDArray[np.int32]
UnsignedArray = npt.NDArray[np.unsignedinteger[Any]]
BoolArray = npt.NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)
# Leaves that are looked at together: they stay in the fast memory, and take little of the other.
SOME_RUNS = 50_000
MANY_KEYS = 32  # per item; with more it takes less time to sort the items than to pass all keys


def starts(counts: IntArray) -> IntArray:
    """Offsets of consecutive runs: ``[0, c0, c0 + c1, …]``, one longer than ``counts``."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def owners(start: IntArray) -> IntArray:
    """The run each item belongs to; the inverse of :func:`starts`."""
    return np.repeat(np.arange(start.size - 1), np.diff(start))


def order_by(key: IntArray, n_keys: int) -> IntArray:
    """Positions in order of their keys, equal ones as they stand."""
    short = key.astype(np.uint16) if n_keys <= np.iinfo(np.uint16).max else key
    return np.argsort(short, kind="stable")


def ranked(key: IntArray, n_keys: int) -> tuple[IntArray, IntArray]:
    """Keys that occur, ascending, and the place of each key among them."""
    if n_keys > MANY_KEYS * key.size:
        return np.unique(key, return_inverse=True)
    held = np.zeros(n_keys, dtype=np.bool_)
    held[key] = True
    return np.flatnonzero(held), (np.cumsum(held, dtype=np.int64) - 1)[key]


def runs(start: IntArray) -> list[tuple[int, int]]:
    """Begin and end of each run, as Python numbers."""
    return list(pairwise(start.tolist()))


def blocks(start: IntArray, most: int = SOME_RUNS) -> Iterator[tuple[slice, slice, IntArray]]:
    """Consecutive runs, some at a time: which they are, their items, and their own ``start``."""
    for first in range(0, start.size - 1, most):
        own = start[first : first + most + 1]
        items = slice(int(own[0]), int(own[-1]))
        yield slice(first, first + own.size - 1), items, own - own[0]


def evenly(count: int, most: int) -> IntArray:
    """Places among so many, evenly spread, int64 (min(count, most),): all where they are few."""
    return np.linspace(0, count - 1, min(count, most)).astype(np.int64)


def frozen(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The same array, no longer writeable, so that frozen records stay frozen."""
    array.setflags(write=False)
    return array


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """A contiguous view that can't be written to; the array itself stays as it is."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view
