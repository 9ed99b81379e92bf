"""Rows that tie the active leaf of each tree to the levels of axes."""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, ranked, starts
from encoders.core.errors import Over, look, never
from encoders.problem.flat_problem import Tables


class Coupling(NamedTuple):
    """Rows between trees and axes, contiguous per tree and axis, by ascending level.

    Attributes
    ----------
    axis, level : int64 (n_rows,): row r is about ``axis <= level``.
    below : bool (n_rows,): it binds leaves wholly at or below, else those wholly above.
    group_start : int64 (n_groups + 1,), rows of one tree, axis and side.
    group_of : int64 (n_rows,)
    hi_row, lo_row : int64 (n_literals,), the row of a literal's own level, ``n_rows`` if none.
    share : float64 (n_leaf_rows, n_leaves), weights in units of the row's minimum.
    needed : float64 (n_leaf_rows,), minimum in the same units.
    load : float64 (n_level_rows, n_levels), weights in units of the row's largest weight.
    allowed : float64 (n_level_rows,), maximum in the same units.
    """

    axis: IntArray
    level: IntArray
    below: BoolArray
    group_start: IntArray
    group_of: IntArray
    hi_row: IntArray
    lo_row: IntArray
    share: FloatArray
    needed: FloatArray
    load: FloatArray
    allowed: FloatArray


def couple(t: Tables, over: Over = never) -> Coupling:
    """Return the rows that couple the trees and axes of a problem's tables."""
    look(over)
    last = t.level_start[1:] - t.level_start[:-1] - 1
    tree = t.tree_of[t.leaf_of]
    n_axes = t.best.size
    below = np.flatnonzero(t.hi < last[t.axis])
    above = np.flatnonzero(t.lo > 0)
    literal = np.concatenate([below, above])
    level = np.concatenate([t.hi[below], t.lo[above] - 1])
    group = (tree[literal] * n_axes + t.axis[literal]) * 2
    group[: below.size] += 1
    width = int(level.max(initial=0)) + 1
    look(over)
    key, row = ranked(group * width + level, 2 * n_axes * (t.tree_start.size - 1) * width)
    look(over)
    side, level = np.divmod(key, width)
    group_of: IntArray = np.cumsum(np.diff(side, prepend=side[:1]) > 0, dtype=np.int64)
    hi_row = np.full(t.axis.size, key.size, dtype=np.int64)
    lo_row = np.full(t.axis.size, key.size, dtype=np.int64)
    hi_row[below], lo_row[above] = row[: below.size], row[below.size :]
    need = np.maximum(t.need, 1).astype(np.float64)
    heaviest = t.level_weight.max(axis=1, initial=1).astype(np.float64)
    return Coupling(
        axis=(side // 2) % n_axes,
        level=level,
        below=side % 2 == 1,
        group_start=starts(np.bincount(group_of)),
        group_of=group_of,
        hi_row=hi_row,
        lo_row=lo_row,
        share=t.weight / need[:, None],
        needed=t.need / need,
        load=t.level_weight / heaviest[:, None],
        allowed=t.level_limit / heaviest,
    )


def uncoupled() -> Coupling:
    """Return a coupling without rows, for searches without prices."""
    none, nothing = np.zeros(0, dtype=np.int64), np.zeros((0, 0))
    return Coupling(
        axis=none,
        level=none,
        below=np.zeros(0, dtype=np.bool_),
        group_start=none,
        group_of=none,
        hi_row=none,
        lo_row=none,
        share=nothing,
        needed=np.zeros(0),
        load=nothing,
        allowed=np.zeros(0),
    )
