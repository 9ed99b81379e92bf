"""Leaves that lie outside a box, marked by one bit each instead of by all of their literals."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from encoders.core.compiled import inner, kernel
from encoders.problem.flat_problem import Tables

BITS = 64  # leaves that one word marks
BYTES = 64 * 2**20  # of words at most; beyond, every leaf is asked


class Outside(NamedTuple):
    """The leaves that a bound of an axis leaves out; without rows where they took too much memory.

    Attributes
    ----------
    above : uint64 (n_levels, n_words), leaves that lie wholly above a level of its axis
    below : uint64 (n_levels, n_words), leaves that lie wholly below it
    """

    above: npt.NDArray[np.uint64]
    below: npt.NDArray[np.uint64]


def tell_outside(t: Tables) -> Outside:
    """For every level of a problem's tables."""
    n_words = -(-t.tree_of.size // BITS)
    n_levels = t.cost.size if 16 * t.cost.size * n_words <= BYTES else 0
    above = np.zeros((n_levels, n_words), dtype=np.uint64)
    below = np.zeros_like(above)
    if n_levels:
        mark_outside(t.level_start, t.leaf_of, t.axis, t.lo, t.hi, above, below)
    return Outside(above, below)


@kernel
def mark_outside(level_start, leaf_of, axis, lo, hi, above, below):
    """Mark the leaves of each literal next to its ends, and then beyond them."""
    for k in range(axis.size):
        first, end = level_start[axis[k]], level_start[axis[k] + 1]
        word = leaf_of[k] // BITS
        bit = np.uint64(1) << np.uint64(leaf_of[k] % BITS)
        if lo[k] > 0:
            above[first + lo[k] - 1, word] |= bit
        if first + hi[k] + 1 < end:
            below[first + hi[k] + 1, word] |= bit
    for a in range(level_start.size - 1):
        for v in range(level_start[a + 1] - 2, level_start[a] - 1, -1):
            above[v] |= above[v + 1]
        for v in range(level_start[a] + 1, level_start[a + 1]):
            below[v] |= below[v - 1]


@inner
def leave_out(outside, level_start, lo, hi, live):
    """Mark the leaves that may fit a box."""
    out = np.zeros(outside.above.shape[1], dtype=np.uint64)
    if outside.above.shape[0]:
        for a in range(lo.size):
            first, last = level_start[a], level_start[a + 1] - 1
            if first + hi[a] < last:
                out |= outside.above[first + hi[a]]
            if lo[a] > 0:
                out |= outside.below[first + lo[a]]
    for leaf in range(live.size):
        word = out[np.uint64(leaf // BITS)]
        live[leaf] = not (word >> np.uint64(leaf % BITS)) & np.uint64(1)
