"""Steps of a proof, written while nodes are expanded; others can check them.

A step is (kind, axis, level, side) of a box of levels; docs/reference/proof-steps.md explains them.
The side of SPLIT is the one that waits, the side of CUT the one that is cut off.
"""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import IntArray, NarrowArray
from encoders.core.compiled import inlined, inner
from encoders.problem.flat_problem import Tables
from encoders.search.node import PROPAGATIONS, SOLVED
from encoders.search.node import SPLIT as IS_SPLIT

SPLIT, CUT, CLOSE = 0, 1, 2
LOW, HIGH = 0, 1


class ProofSteps(NamedTuple):
    """Steps written so far.

    Attributes
    ----------
    steps : int32 (n_steps, 4), of which ``used[0]`` are in use.
    used : int64 (1,)
    lo, hi : int64 (n_axes,), the box as of the last step.
    """

    steps: NarrowArray
    used: IntArray
    lo: IntArray
    hi: IntArray


def steps_of_a_node(t: Tables) -> int:
    """Return the most steps that one node takes: each cut takes a level away."""
    return t.cost.size + 2 * PROPAGATIONS + 4


def new_trace(n_steps: int, n_axes: int) -> ProofSteps:
    """Return an empty trace with room for some steps."""
    used, box = np.zeros(1, dtype=np.int64), np.zeros((2, n_axes), dtype=np.int64)
    return ProofSteps(np.zeros((n_steps, 4), dtype=np.int32), used, box[0], box[1])


@inlined
def _write(trace, what, a, v, side):
    steps, at = trace.steps, trace.used[0]
    steps[at, 0], steps[at, 1], steps[at, 2], steps[at, 3] = what, a, v, side
    trace.used[0] = at + 1


@inner
def write_begin(trace, lo, hi):
    """Begin a node: cuts are written relative to its box."""
    trace.lo[:], trace.hi[:] = lo, hi


@inner
def write_cuts(trace, lo, hi):
    """Write what was cut off each axis since the last call; at least one level remains."""
    low, high = trace.lo, trace.hi
    for a in range(lo.size):
        if hi[a] < high[a]:
            v = max(hi[a], low[a])
            if v < high[a]:
                _write(trace, CUT, a, v, HIGH)
        if lo[a] > low[a]:
            last = min(high[a], max(hi[a], low[a]))
            v = min(lo[a] - 1, last)
            if v < last:
                _write(trace, CUT, a, v, LOW)
    low[:], high[:] = lo, hi


@inner
def write_end(trace, kind, split):
    """Write that a node was split or pruned; its low side is next after a split."""
    if kind == IS_SPLIT:
        _write(trace, SPLIT, split[0], split[1], HIGH)
        split[2] = 1
    elif kind != SOLVED:
        _write(trace, CLOSE, 0, 0, 0)
