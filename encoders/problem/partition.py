"""The check that the leaves of every tree partition the space of all choices."""

import numpy as np

from encoders.core.arrays import FloatArray, IntArray, NarrowArray, UnsignedArray, blocks, owners

TOLERANCE = 1e-9  # share of the space, far above float64's rounding; deep leaves may be smaller


def covered(
    tree_start: IntArray,
    leaf_start: IntArray,
    axis: IntArray | UnsignedArray,
    lo: IntArray | NarrowArray,
    hi: IntArray | NarrowArray,
    size: IntArray,
    one_hot: tuple[tuple[IntArray, IntArray], ...] = (),
    share: FloatArray | None = None,
) -> FloatArray:
    """Return the volume of each tree's leaves as a share of the space, float64 (n_trees,).

    A partition has volume 1. An unreachable, duplicate or missing leaf changes the volume.
    """
    share = np.ones(leaf_start.size - 1) if share is None else share
    for mine, items, start in blocks(leaf_start):
        share[mine] *= _shares(start, axis[items], lo[items], hi[items], size, one_hot)
    return np.add.reduceat(share, tree_start[:-1]) if share.size else share


def _shares(
    leaf_start: IntArray,
    axis: IntArray | UnsignedArray,
    lo: IntArray | NarrowArray,
    hi: IntArray | NarrowArray,
    size: IntArray,
    one_hot: tuple[tuple[IntArray, IntArray], ...],
) -> FloatArray:
    """Return the volume of some leaves as a share of the space, float64 (n_leaves,)."""
    leaf, share = owners(leaf_start), np.ones(leaf_start.size - 1)
    ratio = np.maximum(hi - lo + 1, 0) / size[axis]
    for axes, one in one_hot:
        place = np.full(size.size, -1, dtype=np.int64)
        place[axes] = one
        mine = (place[axis] >= 0) & (lo == hi)
        is_one = mine & (lo == place[axis])
        ones = np.bincount(leaf[is_one], minlength=share.size)
        zeros = np.bincount(leaf[mine & ~is_one], minlength=share.size)
        share *= np.where(ones == 0, (axes.size - zeros) / axes.size, (ones == 1) / axes.size)
        ratio[place[axis] >= 0] = 1.0
    bounded = np.flatnonzero(np.diff(leaf_start) > 0)  # leaves with a literal
    if bounded.size:
        share[bounded] *= np.multiply.reduceat(ratio, leaf_start[bounded])
    return share


def broken_tree(shares: FloatArray) -> int | None:
    """Return the first tree whose leaves do not partition the space, None if all do."""
    wrong = np.flatnonzero(np.abs(shares - 1.0) > TOLERANCE)
    return int(wrong[0]) if wrong.size else None
