"""Columns that are split into sets of values: which of them get to which leaf."""

from dataclasses import dataclass

import numpy as np

from encoders.arrays import BoolArray, IntArray, frozen


@dataclass(frozen=True, eq=False)
class Group:
    """A column that is split into sets of its cells.

    Cells that no split tells apart are one class: a thousand categories are often a few dozen.

    Attributes
    ----------
    column : in the model's order
    class_of : int64 (n_cells,), the last cell is for what is missing
    leaf : int64 (n_limits,), leaves that not all classes get to, ascending
    bits : uint8 (n_limits, n_bytes), the classes that do, packed
    """

    column: int
    class_of: IntArray
    leaf: IntArray
    bits: np.ndarray[tuple[int, int], np.dtype[np.uint8]]

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.class_of.max()) + 1

    @property
    def allowed(self) -> BoolArray:
        """Which classes get to each of the leaves, bool (n_limits, n_classes)."""
        return np.unpackbits(self.bits, axis=1, count=self.n_classes).astype(np.bool_)

    def only(self, kept: BoolArray) -> "Group":
        """The same of some leaves, numbered anew."""
        number = np.cumsum(kept) - 1
        mine = kept[self.leaf]
        return Group(
            self.column, self.class_of, frozen(number[self.leaf[mine]]), frozen(self.bits[mine])
        )


def group_of(
    column: int, members: BoolArray, leaf: IntArray, split: IntArray, right: BoolArray
) -> Group:
    """Intersect the sets that lie on the way to each leaf."""
    if members.shape[0] == 0:  # a column that no tree looks at
        members = np.ones((1, members.shape[1]), dtype=np.bool_)
    told_apart = np.packbits(members, axis=0).T
    _, first, class_of = np.unique(told_apart, axis=0, return_index=True, return_inverse=True)
    classes = np.packbits(members[:, first], axis=1)
    bits = np.where(right[:, None], ~classes[split], classes[split])
    order = np.argsort(leaf, kind="stable")
    leaf, bits = leaf[order], bits[order]
    begin = np.flatnonzero(np.r_[True, np.diff(leaf) != 0]) if leaf.size else leaf
    met = np.bitwise_and.reduceat(bits, begin, axis=0) if leaf.size else bits
    return Group(column, frozen(np.ravel(class_of)), frozen(leaf[begin]), frozen(met))
