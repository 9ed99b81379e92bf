"""Splits that send a set of values left, as for native categories, and the values of each leaf."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from encoders.core.arrays import BoolArray, FloatArray, IntArray, frozen, starts

PackedFlags: TypeAlias = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class SetSplits:
    """Sets of cells that splits send left.

    A column with set splits has no other splits. Its cells are defined by ``edges``: cell ``m``
    contains ``edges[m-1] < v <= edges[m]``. The last but one contains values above all edges, and
    the last one is for missing values. The cells of category codes 0, 1, ... are the codes.
    """

    of_node: IntArray  # set of each node, int64 (n_nodes,); -1 if it splits at a threshold
    first: IntArray  # index of each set's first cell in ``goes_left``, int64 (n_sets,)
    goes_left: BoolArray  # flags of the cells that go left, set by set, bool
    edges: Mapping[int, FloatArray]  # edges of the cells by column, float64, ascending
    numbers: frozenset[int] = frozenset()  # columns that contain numbers rather than category codes

    @property
    def coded(self) -> frozenset[int]:
        """Columns that contain category codes."""
        return frozenset(self.edges) - self.numbers

    def cells(self, rows: FloatArray) -> IntArray:
        """Return the cell of every value, int64 (n_rows, n_columns); 0 in all other columns."""
        cells = np.zeros(rows.shape, dtype=np.int64)
        for column, edges in self.edges.items():
            cells[:, column] = cell_of(edges, rows[:, column])
        return cells

    def members(self, column: int, sets: IntArray) -> BoolArray:
        """Return the cells that sets of one column send left, bool (n_sets, n_cells)."""
        width = self.edges[column].size + 2
        cells: BoolArray = self.goes_left[self.first[sets][:, None] + np.arange(width)]
        return cells

    def recoded(self, column: IntArray, codes: Mapping[int, FloatArray]) -> "SetSplits":
        """Return the splits over reordered codes; columns of numbers stay unchanged."""
        members: list[BoolArray] = [self.goes_left[:0]] * self.first.size
        for each in self.numbers | frozenset(codes):
            sets = np.unique(self.of_node[(column == each) & (self.of_node >= 0)])
            if sets.size:
                left = self.members(each, sets)
                if each in codes:
                    cells = cell_of(self.edges[each], codes[each])
                    left = left[:, np.append(cells, self.edges[each].size + 1)]
                for place, number in enumerate(sets.tolist()):
                    members[number] = left[place]
        edges = {each: self.edges[each] for each in self.numbers}
        code_edges = {each: frozen(np.arange(old.size - 1.0)) for each, old in codes.items()}
        return replace(
            self,
            first=frozen(starts(np.array([m.size for m in members], dtype=np.int64))[:-1]),
            goes_left=frozen(np.concatenate(members)) if members else self.goes_left,
            edges=dict(sorted((edges | code_edges).items())),
        )

    def without(self, columns: Collection[int]) -> "SetSplits":
        """Return the splits without columns that no node splits into sets any more."""
        edges = {column: each for column, each in self.edges.items() if column not in columns}
        return replace(self, edges=edges, numbers=self.numbers.difference(columns))

    def joined(self, nodes: BoolArray, members: list[BoolArray]) -> "SetSplits":
        """Return the splits with additional sets for some nodes, bool (n_nodes,)."""
        if not members:
            return self
        of_node = self.of_node.copy()
        of_node[nodes] = self.first.size + np.arange(len(members))
        sizes = starts(np.array([cells.size for cells in members], dtype=np.int64))[:-1]
        return replace(
            self,
            of_node=frozen(of_node),
            first=frozen(np.concatenate([self.first, self.goes_left.size + sizes])),
            goes_left=frozen(np.concatenate([self.goes_left, *members])),
        )


def no_sets(n_nodes: int) -> SetSplits:
    """Return SetSplits without any set, for ``n_nodes`` nodes."""
    nothing = np.zeros(0, dtype=np.int64)
    return SetSplits(np.full(n_nodes, -1), nothing, nothing.astype(np.bool_), {})


def cell_of(edges: FloatArray, values: FloatArray) -> IntArray:
    """Return the cell of each value, int64 (n,); missing values are in the last cell."""
    cells = np.searchsorted(edges, values)
    return np.where(np.isnan(values), edges.size + 1, cells)


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
    bits: PackedFlags

    @property
    def n_classes(self) -> int:
        """Number of classes of cells."""
        return int(self.class_of.max()) + 1

    @property
    def allowed(self) -> BoolArray:
        """Flags of the classes that reach each of the leaves, bool (n_limits, n_classes)."""
        return np.unpackbits(self.bits, axis=1, count=self.n_classes).astype(np.bool_)

    def only(self, leaves: IntArray) -> "Group":
        """Return the group of some leaves, int64 (n_chosen,), ascending; they are renumbered."""
        # In most cases a few of very many leaves remain, so no array has an entry per old leaf.
        place = np.searchsorted(self.leaf, leaves)
        number = np.flatnonzero(place < self.leaf.size)
        number = number[self.leaf[place[number]] == leaves[number]]
        return replace(self, leaf=frozen(number), bits=frozen(self.bits[place[number]]))


def classes_of(members: BoolArray) -> tuple[IntArray, PackedFlags]:
    """Return the class of each cell, and packed flags of the classes that each set sends left.

    ``members`` are the cells that each set sends left, bool (n_sets, n_cells). The result is int64
    (n_cells,) and uint8 (n_sets, n_bytes).
    """
    if members.shape[0] == 0:  # no tree splits the column
        members = np.ones((1, members.shape[1]), dtype=np.bool_)
    signature = np.packbits(members, axis=0).T  # per cell, the sets that contain it
    _, first, class_of = np.unique(signature, axis=0, return_index=True, return_inverse=True)
    return np.ravel(class_of), np.packbits(members[:, first], axis=1)
