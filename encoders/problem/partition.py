"""The law of the boxes: the leaves of every tree part the space among them, no more and no less."""

import numpy as np

from encoders.arrays import FloatArray, IntArray, NarrowArray, UnsignedArray, blocks, owners

TOLERANCE = 1e-9  # of the whole space, far above float64's rounding; a deeper leaf may be smaller


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
    """Share of all choices that each tree's leaves take up, counted once for every leaf.

    Boxes that part the space add up to 1. A leaf that no row can reach, or one that is missing,
    shows.
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
    """Share of all choices that each of some leaves takes up."""
    leaf, share = owners(leaf_start), np.ones(leaf_start.size - 1)
    ratio = np.maximum(hi - lo + 1, 0) / size[axis]
    for axes, one in one_hot:
        place = np.full(size.size, -1, dtype=np.int64)
        place[axes] = one
        mine = (place[axis] >= 0) & (lo == hi)
        says_one = mine & (lo == place[axis])
        ones = np.bincount(leaf[says_one], minlength=share.size)
        zeros = np.bincount(leaf[mine & ~says_one], minlength=share.size)
        share *= np.where(ones == 0, (axes.size - zeros) / axes.size, (ones == 1) / axes.size)
        ratio[place[axis] >= 0] = 1.0
    held = np.flatnonzero(np.diff(leaf_start) > 0)
    if held.size:
        share[held] *= np.multiply.reduceat(ratio, leaf_start[held])
    return share


def broken_tree(shares: FloatArray) -> int | None:
    """The first tree whose leaves do not part the space, None if all do."""
    wrong = np.flatnonzero(np.abs(shares - 1.0) > TOLERANCE)
    return int(wrong[0]) if wrong.size else None
