"""Tables of the leaves of additive models, whose trees split one or two columns each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from encoders.core.arrays import BoolArray, IntArray, frozen, order_by, runs, starts
from encoders.trees.cells import Cells

# Trees of an additive model. Those of boosted trees are many, and each takes a step at each level.
MOST_TREES = 1000
# Table entries per leaf. Trees with more have long boxes, and a table repeats them often.
MOST_ENTRIES = 10


class Terms(NamedTuple):
    """Tables of leaves by the cells of one or two columns.

    Neighbouring cells that a tree does not separate are one strip of that tree. A tree of one
    column has this column twice, the second time as a single strip.

    Attributes
    ----------
    column : first and second column of each tree, int64 (n_trees, 2).
    strip_start : position of the first cell of each column in ``strip``, int64 (n_trees, 2).
    strip : strip of each cell, by tree and column, int64.
    size : number of strips of each column, int64 (n_trees, 2).
    table_start : first table entry of each tree, int64 (n_trees,).
    tree_start : first position of each column in ``tree``, int64 (n_columns + 1,).
    tree : trees of each column, int64.
    """

    column: IntArray
    strip_start: IntArray
    strip: IntArray
    size: IntArray
    table_start: IntArray
    tree_start: IntArray
    tree: IntArray


def tabulate_terms(cells: Cells) -> tuple[Terms, IntArray] | None:
    """Return the terms of an additive model and the leaf of each table entry, or None."""
    columns = _columns_of_trees(cells)
    if columns is None:
        return None
    strips, sizes, leaves = [], [], []
    n_entries, most = 0, MOST_ENTRIES * cells.node.size
    for tree, pair in enumerate(columns):
        sides = [_side(cells, tree, column) for column in dict.fromkeys(pair)]
        if len(sides) == 1:
            sides.append(_whole(sides[0]))
        n_entries += sides[0].size * sides[1].size
        if n_entries > most:
            return None
        leaves.append(_table(*sides) + cells.tree_start[tree])
        strips += [side.strip for side in sides]
        sizes.append([side.size for side in sides])
    return _joined(cells, columns, strips, sizes), frozen(np.concatenate(leaves))


def _joined(
    cells: Cells, columns: list[list[int]], strips: list[IntArray], sizes: list[list[int]]
) -> Terms:
    both, shape, n_columns = np.array(columns), np.array(sizes), len(cells.boundary)
    # A tree of one column is listed once.
    tree, side = np.nonzero(np.column_stack([both[:, 0] >= 0, both[:, 0] != both[:, 1]]))
    column = both[tree, side]
    return Terms(
        column=frozen(both),
        strip_start=frozen(starts(np.array([each.size for each in strips]))[:-1].reshape(-1, 2)),
        strip=frozen(np.concatenate(strips)),
        size=frozen(shape),
        table_start=frozen(starts(shape.prod(axis=1))[:-1]),
        tree_start=frozen(starts(np.bincount(column, minlength=n_columns))),
        tree=frozen(tree[order_by(column, n_columns)]),
    )


def _columns_of_trees(cells: Cells) -> list[list[int]] | None:
    """Return both columns of each tree; None if one has more, or splits a column into sets."""
    if cells.groups or cells.tree_start.size - 1 > MOST_TREES:
        return None
    columns = []
    for first, end in runs(cells.tree_start):
        literals = slice(*cells.leaf_start[[first, end]].tolist())
        used = np.flatnonzero(np.bincount(cells.column[literals])).tolist()
        if not 1 <= len(used) <= 2:
            return None
        columns.append([used[0], used[-1]])
    return columns


@dataclass(frozen=True, eq=False)
class _Strips:
    """Strips of one column of a tree, and those of each leaf: a range, and maybe the last strip.

    Attributes
    ----------
    strip : strip of each cell, int64 (n_cells,).
    size : number of strips; the last one is for missing values.
    first, end : range of strips of each leaf, int64 (n_leaves,).
    missing : whether a missing value reaches each leaf, bool (n_leaves,).
    """

    strip: IntArray
    size: int
    first: IntArray
    end: IntArray
    missing: BoolArray


def _side(cells: Cells, tree: int, column: int) -> _Strips:
    """Return the strips of a column of a tree."""
    first, end = cells.tree_start[tree : tree + 2].tolist()
    literals = np.arange(*cells.leaf_start[[first, end]])
    literals = literals[cells.column[literals] == column]
    leaf = np.searchsorted(cells.leaf_start, literals, side="right") - 1 - first
    n_numbers = cells.boundary[column].size + 1
    lo, hi = np.zeros(end - first, dtype=np.int64), np.full(end - first, n_numbers - 1)
    lo[leaf], hi[leaf] = cells.lo[literals], cells.hi[literals]
    missing = np.ones(end - first, dtype=np.bool_)
    if cells.takes_missing is not None:
        missing[leaf] = cells.takes_missing[literals]
    some = lo <= hi
    cut = np.unique(lo[some])  # the first is 0
    strip = np.searchsorted(cut, np.arange(n_numbers), side="right") - 1
    begin = np.searchsorted(cut, lo)
    last = np.where(some, np.searchsorted(cut, hi, side="right"), begin)
    return _Strips(np.append(strip, cut.size), cut.size + 1, begin, last, missing)


def _whole(side: _Strips) -> _Strips:
    """Return a column that no leaf splits, as the second one of a tree of one column."""
    zeros = np.zeros_like(side.first)
    return _Strips(np.zeros_like(side.strip), 1, zeros, zeros + 1, np.zeros_like(side.missing))


def _table(rows: _Strips, columns: _Strips) -> IntArray:
    """Return the leaf of each pair of strips within a tree, int64 (n_entries,)."""
    table = np.zeros((rows.size, columns.size), dtype=np.int64)
    for row, row_end in _ranges(rows):
        for column, column_end in _ranges(columns):
            high, wide = row_end - row, column_end - column
            leaf = np.repeat(np.arange(high.size), high * wide)
            down, right = np.divmod(np.arange(leaf.size) - starts(high * wide)[leaf], wide[leaf])
            table[row[leaf] + down, column[leaf] + right] = leaf
    return table.ravel()


def _ranges(side: _Strips) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the range of strips of each leaf, and that of missing values."""
    yield side.first, side.end
    last = np.full(side.first.size, side.size - 1)
    yield last, last + side.missing
