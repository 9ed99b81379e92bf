"""Rows that tie the active leaf of each tree to the levels of axes."""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, order_by, ranked, starts
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
    row_start : offsets into ``row``, int64 (n_leaves + 1,).
    row : rows about the levels at the ends of each leaf's literals, int64 (n_ends,).
    unit : float64 (n_leaf_rows,), largest sum of a row's weights. In units of the minimum, steps
        would be far too long for a row whose minimum is small or below 0.
    share : float64 (n_leaf_rows, n_leaves), weights in these units.
    needed : float64 (n_leaf_rows,), minimum in these units.
    alone : bool (n_trees,), trees whose weights are in ``load``; they have no rows and no shares.
    load : float64 (n_loads, n_levels), weights in units of the row's largest weight. The level rows
        may be followed by the leaf rows: the shares of ``alone`` trees, negated.
    allowed : float64 (n_level_rows,), maximum in the same units.
    """

    axis: IntArray
    level: IntArray
    below: BoolArray
    group_start: IntArray
    group_of: IntArray
    row_start: IntArray
    row: IntArray
    unit: FloatArray
    share: FloatArray
    needed: FloatArray
    alone: BoolArray
    load: FloatArray
    allowed: FloatArray


def couple(t: Tables, over: Over = never, by_level: bool = True) -> Coupling:
    """Return the rows that couple the trees and axes of a problem's tables.

    With ``by_level`` the weights of a tree that splits a single axis are those of its levels. No
    row is needed, as such a tree never contradicts the axis.
    """
    look(over)
    last = t.level_start[1:] - t.level_start[:-1] - 1
    tree = t.tree_of[t.leaf_of]
    n_axes = t.best.size
    alone = _split_one_axis(t, tree) & by_level
    coupled = ~alone[tree]
    below = np.flatnonzero(coupled & (t.hi < last[t.axis]))
    above = np.flatnonzero(coupled & (t.lo > 0))
    literal = np.concatenate([below, above])
    level = np.concatenate([t.hi[below], t.lo[above] - 1])
    rank = np.cumsum(~alone) - 1
    group = (rank[tree[literal]] * n_axes + t.axis[literal]) * 2
    group[: below.size] += 1
    width = int(level.max(initial=0)) + 1
    look(over)
    key, row = ranked(group * width + level, 2 * n_axes * int((~alone).sum()) * width)
    look(over)
    side, level = np.divmod(key, width)
    group_of: IntArray = np.cumsum(np.diff(side, prepend=side[:1]) > 0, dtype=np.int64)
    leaf = t.leaf_of[literal]
    most = np.maximum.reduceat(t.weight, t.tree_start[:-1], axis=1).sum(axis=1)
    unit = np.maximum(most, 1).astype(np.float64)
    heaviest = t.level_weight.max(axis=1, initial=1).astype(np.float64)
    load, share = t.level_weight / heaviest[:, None], t.weight / unit[:, None]
    if alone.any():
        load = np.concatenate([load, -_weight_of_levels(t, ~coupled) / unit[:, None]])
        share[:, alone[t.tree_of]] = 0.0
    return Coupling(
        axis=(side // 2) % n_axes,
        level=level,
        below=side % 2 == 1,
        group_start=starts(np.bincount(group_of)),
        group_of=group_of,
        row_start=starts(np.bincount(leaf, minlength=t.tree_of.size)),
        row=row[order_by(leaf, t.tree_of.size)],
        unit=unit,
        share=share,
        needed=t.need / unit,
        alone=alone,
        load=load,
        allowed=t.level_limit / heaviest,
    )


def _split_one_axis(t: Tables, tree: IntArray) -> BoolArray:
    """Return whether each leaf of a tree has one literal, all of them on one axis, (n_trees,)."""
    n_trees = t.tree_start.size - 1
    axis = np.zeros(n_trees, dtype=np.int64)
    axis[tree] = t.axis
    found: BoolArray = np.bincount(tree, minlength=n_trees) == np.diff(t.tree_start)
    found[tree[t.axis != axis[tree]]] = False
    return found


def _weight_of_levels(t: Tables, literal: BoolArray) -> IntArray:
    """Return the weight that leaves give the levels of their literals, (n_leaf_rows, n_levels)."""
    first, leaf = t.level_start[t.axis[literal]], t.leaf_of[literal]
    change = np.zeros((t.need.size, t.cost.size + 1), dtype=np.int64)
    for row, weight in zip(change, t.weight[:, leaf], strict=True):
        np.add.at(row, first + t.lo[literal], weight)
        np.subtract.at(row, first + t.hi[literal] + 1, weight)
    total: IntArray = np.cumsum(change, axis=1)[:, :-1]
    return total


def uncoupled() -> Coupling:
    """Return a coupling without rows, for searches without prices."""
    none, nothing = np.zeros(0, dtype=np.int64), np.zeros((0, 0))
    return Coupling(
        axis=none,
        level=none,
        below=np.zeros(0, dtype=np.bool_),
        group_start=none,
        group_of=none,
        row_start=np.zeros(1, dtype=np.int64),
        row=none,
        unit=np.zeros(0),
        share=nothing,
        needed=np.zeros(0),
        alone=np.zeros(0, dtype=np.bool_),
        load=nothing,
        allowed=np.zeros(0),
    )
