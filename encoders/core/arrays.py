"""Array types, and ragged (CSR) index helpers shared by the flat tree and leaf tables."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
NarrowArray: TypeAlias = npt.NDArray[np.int32]
UnsignedArray: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)
SOME_RUNS = 50_000  # leaves per block: small enough for the processor's cache
MANY_KEYS = 32  # keys per item; above this, sorting the items is faster than scanning all keys


def starts(counts: IntArray) -> IntArray:
    """Return the offsets of consecutive runs: ``[0, c0, c0 + c1, …]``, one longer than counts."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def owners(start: IntArray) -> IntArray:
    """Return the run that each item belongs to, int64 (n_items,); the inverse of starts()."""
    return np.repeat(np.arange(start.size - 1), np.diff(start))


def order_by(key: IntArray, n_keys: int) -> IntArray:
    """Return the positions sorted by key (stable), int64 (n_items,)."""
    short = key.astype(np.uint16) if n_keys <= np.iinfo(np.uint16).max else key
    return np.argsort(short, kind="stable")


def ranked(key: IntArray, n_keys: int) -> tuple[IntArray, IntArray]:
    """Return the distinct keys, ascending, and the index of each item's key among them."""
    if n_keys > MANY_KEYS * key.size:
        return np.unique(key, return_inverse=True)
    occurs = np.zeros(n_keys, dtype=np.bool_)
    occurs[key] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs, dtype=np.int64) - 1)[key]


def runs(start: IntArray) -> list[tuple[int, int]]:
    """Return the begin and end of each run, as Python integers."""
    return list(pairwise(start.tolist()))


def blocks(start: IntArray, most: int = SOME_RUNS) -> Iterator[tuple[slice, slice, IntArray]]:
    """Yield blocks of at most ``most`` runs: slice of runs, slice of items, local ``start``."""
    for first in range(0, start.size - 1, most):
        block = start[first : first + most + 1]
        items = slice(int(block[0]), int(block[-1]))
        yield slice(first, first + block.size - 1), items, block - block[0]


def evenly(count: int, most: int) -> IntArray:
    """Return evenly spaced indices below ``count``, at most ``most``, int64 (n_indices,)."""
    return np.linspace(0, count - 1, min(count, most)).astype(np.int64)


def frozen(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Make an array read-only in place and return it, so that frozen records stay frozen."""
    array.setflags(write=False)
    return array


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return a contiguous read-only view; the array itself stays writeable."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view
