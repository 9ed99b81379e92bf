"""Splits that send a set of values left, as native categories need them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, frozen, starts


@dataclass(frozen=True, eq=False)
class SetSplits:
    """Which cells of its column each such split sends left.

    A column with such a split has no other kind. Its cells are told by ``edges``: cell ``m`` holds
    ``edges[m-1] < v <= edges[m]``, the last but one what lies above, the last what is missing. The
    cells of category codes 0, 1, ... are the codes themselves.

    Attributes
    ----------
    of_node : int64 (n_nodes,), the set of a node, -1 for one that splits at a threshold
    first : int64 (n_sets,), where the set's cells begin in ``goes_left``
    goes_left : bool, cell by cell of each set in turn
    edges : per column with such splits, float64, ascending
    numbers : those of the columns that hold numbers, not category codes
    """

    of_node: IntArray
    first: IntArray
    goes_left: BoolArray
    edges: Mapping[int, FloatArray]
    numbers: frozenset[int] = frozenset()

    @property
    def coded(self) -> frozenset[int]:
        """Columns that hold category codes."""
        return frozenset(self.edges) - self.numbers

    def cells(self, rows: FloatArray) -> IntArray:
        """The cell of every value, int64 (n_rows, n_columns); 0 in all other columns."""
        found = np.zeros(rows.shape, dtype=np.int64)
        for column, edges in self.edges.items():
            found[:, column] = cell_of(edges, rows[:, column])
        return found

    def members(self, column: int, sets: IntArray) -> BoolArray:
        """The cells of sets on one column, bool (n_sets, n_cells)."""
        width = self.edges[column].size + 2
        held: BoolArray = self.goes_left[self.first[sets][:, None] + np.arange(width)]
        return held

    def recoded(self, column: IntArray, codes: Mapping[int, FloatArray]) -> "SetSplits":
        """The same splits on codes of another order; columns of numbers stay as they are."""
        members: list[BoolArray] = [self.goes_left[:0]] * self.first.size
        for own in self.numbers | frozenset(codes):
            sets = np.unique(self.of_node[(column == own) & (self.of_node >= 0)])
            if sets.size:
                held = self.members(own, sets)
                if own in codes:
                    cells = cell_of(self.edges[own], codes[own])
                    held = held[:, np.append(cells, self.edges[own].size + 1)]
                for place, number in enumerate(sets.tolist()):
                    members[number] = held[place]
        edges = {own: self.edges[own] for own in self.numbers}
        own_edges = {own: frozen(np.arange(old.size - 1.0)) for own, old in codes.items()}
        return replace(
            self,
            first=frozen(starts(np.array([m.size for m in members], dtype=np.int64))[:-1]),
            goes_left=frozen(np.concatenate(members)) if members else self.goes_left,
            edges=dict(sorted((edges | own_edges).items())),
        )

    def joined(self, nodes: BoolArray, members: list[BoolArray]) -> "SetSplits":
        """With more such splits."""
        if not members:
            return self
        of_node = self.of_node.copy()
        of_node[nodes] = self.first.size + np.arange(len(members))
        sizes = starts(np.array([own.size for own in members], dtype=np.int64))[:-1]
        return replace(
            self,
            of_node=frozen(of_node),
            first=frozen(np.concatenate([self.first, self.goes_left.size + sizes])),
            goes_left=frozen(np.concatenate([self.goes_left, *members])),
        )


def no_sets(n_nodes: int) -> SetSplits:
    """No such split among so many nodes."""
    nothing = np.zeros(0, dtype=np.int64)
    return SetSplits(np.full(n_nodes, -1), nothing, nothing.astype(np.bool_), {})


def cell_of(edges: FloatArray, values: FloatArray) -> IntArray:
    """The cell of each value; what is missing has the last one."""
    found = np.searchsorted(edges, values)
    return np.where(np.isnan(values), edges.size + 1, found)
