"""Columns that are split into sets of values, and the values that reach each leaf."""

from dataclasses import dataclass

import numpy as np

from encoders.arrays import BoolArray, IntArray, frozen


@dataclass(frozen=True, eq=False)
class Group:
    """Column that is split into sets of its cells.

    Cells that no split separates form one class: a thousand categories often have a few dozen.

    Attributes
    ----------
    column : index of the column in the model's order.
    class_of : class of each cell, int64 (n_cells,); the last cell is for missing values.
    leaf : leaves that not all classes reach, int64 (n_limits,), ascending.
    bits : packed flags of the classes that reach each of these leaves, uint8 (n_limits, n_bytes).
    """

    column: int
    class_of: IntArray
    leaf: IntArray
    bits: np.ndarray[tuple[int, int], np.dtype[np.uint8]]

    @property
    def n_classes(self) -> int:
        """Number of classes of cells."""
        return int(self.class_of.max()) + 1

    @property
    def allowed(self) -> BoolArray:
        """Flags of the classes that reach each of the leaves, bool (n_limits, n_classes)."""
        return np.unpackbits(self.bits, axis=1, count=self.n_classes).astype(np.bool_)

    def only(self, remaining: BoolArray) -> "Group":
        """Return the group of the leaves in ``remaining``, bool (n_leaves,), renumbered."""
        number = np.cumsum(remaining) - 1
        mine = remaining[self.leaf]
        return Group(
            self.column, self.class_of, frozen(number[self.leaf[mine]]), frozen(self.bits[mine])
        )


def group_of(
    column: int, members: BoolArray, leaf: IntArray, split: IntArray, right: BoolArray
) -> Group:
    """Return the group of a column: intersect the sets on the path to each leaf."""
    if members.shape[0] == 0:  # no tree splits the column
        members = np.ones((1, members.shape[1]), dtype=np.bool_)
    signature = np.packbits(members, axis=0).T  # per cell, the sets that contain it
    _, first, class_of = np.unique(signature, axis=0, return_index=True, return_inverse=True)
    classes = np.packbits(members[:, first], axis=1)
    bits = np.where(right[:, None], ~classes[split], classes[split])
    order = np.argsort(leaf, kind="stable")
    leaf, bits = leaf[order], bits[order]
    begin = np.flatnonzero(np.r_[True, np.diff(leaf) != 0]) if leaf.size else leaf
    common = np.bitwise_and.reduceat(bits, begin, axis=0) if leaf.size else bits
    return Group(column, frozen(np.ravel(class_of)), frozen(leaf[begin]), frozen(common))
