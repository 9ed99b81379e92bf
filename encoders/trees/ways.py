"""Compiled traversals of trees: leaves of rows, boxes of leaves, leaves within a cost limit."""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, NarrowArray, read_only
from encoders.core.compiled import ONE, inlined, kernel
from encoders.trees.set_splits import SetSplits


class Splits(NamedTuple):
    """Splits of all nodes as arrays; see :class:`encoders.trees.ensemble.Ensemble`.

    Attributes
    ----------
    column : column of each split, int64 (n_nodes,), -1 at a leaf.
    last_left : largest value that goes left, float64 (n_nodes,).
    left, right : child nodes, int64 (n_nodes,).
    default_left : whether a missing value goes left, bool (n_nodes,); empty if none may be missing.
    of_node, first, goes_left : arrays of :class:`encoders.trees.set_splits.SetSplits`, or empty.
    """

    column: IntArray
    last_left: FloatArray
    left: IntArray
    right: IntArray
    default_left: BoolArray
    of_node: IntArray
    first: IntArray
    goes_left: BoolArray


def splits_of(
    column: IntArray,
    last_left: FloatArray,
    children: tuple[IntArray, IntArray],
    default_left: BoolArray | None,
    sets: SetSplits | None,
) -> Splits:
    """Return the splits of an ensemble as read-only arrays."""
    none = np.zeros(0, dtype=np.int64)
    no_sets = SetSplits(none, none, none.astype(np.bool_), {})
    used = no_sets if sets is None or sets.first.size == 0 else sets
    gaps = no_sets.goes_left if default_left is None else default_left
    return Splits(
        read_only(column),
        read_only(last_left),
        read_only(children[0]),
        read_only(children[1]),
        read_only(gaps),
        read_only(used.of_node),
        read_only(used.first),
        read_only(used.goes_left),
    )


@inlined
def _turns_right(s: Splits, node: int, value: float, cell: int) -> bool:
    """Return whether a value goes right at a node; set splits use its cell."""
    if s.of_node.size > 0 and s.of_node[node] >= 0:
        return bool(not s.goes_left[s.first[s.of_node[node]] + cell])
    if s.default_left.size > 0 and np.isnan(value):
        return bool(not s.default_left[node])
    return bool(value > s.last_left[node])


@kernel
def turn_right(s: Splits, node: IntArray, value: FloatArray, cell: IntArray) -> BoolArray:
    """Return whether values go right at nodes, bool (n,)."""
    right = np.empty(node.size, dtype=np.bool_)
    for at in range(node.size):
        right[at] = _turns_right(s, node[at], value[at], cell[at])
    return right


@kernel
def walk_down(s: Splits, root: IntArray, values: FloatArray, cells: IntArray) -> IntArray:
    """Return the leaf of each row in each tree, int64 (n_trees, n_rows)."""
    # Every array is named once: each use of a field counts references, in every step of every row.
    column, last_left, to_left, to_right = s.column, s.last_left, s.left, s.right
    default_left, of_node, first, goes_left = s.default_left, s.of_node, s.first, s.goes_left
    some_missing, some_sets = default_left.size > 0, of_node.size > 0
    ends = np.empty((root.size, values.shape[0]), dtype=np.int64)
    for tree in range(root.size):  # tree by tree, so that its nodes stay in the cache
        for row in range(values.shape[0]):
            node = np.uint64(root[tree])
            at = column[node]
            while at >= 0:
                value = values[row, at]
                if some_sets and of_node[node] >= 0:
                    goes_right = not goes_left[first[of_node[node]] + cells[row, at]]
                elif some_missing and np.isnan(value):
                    goes_right = not default_left[node]
                else:
                    goes_right = value > last_left[node]
                node = np.uint64(to_right[node] if goes_right else to_left[node])
                at = column[node]
            ends[tree, row] = node
    return ends


@kernel
def walk_down_laid_out(s: Splits, root: IntArray, values: FloatArray) -> IntArray:
    """Return the leaf of each row in each tree, int64 (n_trees, n_rows), fast for large trees.

    Values must not be missing, and no node may be a set split. The nodes of a tree are first copied
    in an order in which the left child is the next node. Most steps then read memory nearby, and
    the address of a left child needs no read.
    """
    of_column, last_left, left, right = s.column, s.last_left, s.left, s.right
    n = of_column.size
    column, cut = np.empty(n, np.int32), np.empty(n, np.float64)
    beyond = np.empty(n, np.int64)  # the position of the right child; for a leaf, its node
    ahead, above = np.empty(n, np.int64), np.empty(n, np.int64)  # right children, their parents
    ends = np.empty((root.size, values.shape[0]), dtype=np.int64)
    for tree in range(root.size):
        count, depth, node = 0, 0, root[tree]
        while True:
            column[count], cut[count], beyond[count] = of_column[node], last_left[node], node
            count += 1
            if of_column[node] >= 0:
                ahead[depth], above[depth] = right[node], count - 1
                depth, node = depth + 1, left[node]
            elif depth > 0:
                depth -= 1
                node, beyond[above[depth]] = ahead[depth], count
            else:
                break
        for row in range(values.shape[0]):
            place = np.uint64(0)
            col = column[place]
            while col >= 0:
                if values[row, col] > cut[place]:
                    place = np.uint64(beyond[place])
                else:
                    place += ONE
                col = column[place]
            ends[tree, row] = beyond[place]
    return ends


@kernel
def add_up(score: FloatArray, ends: IntArray) -> FloatArray:
    """Return the sums of the leaves' scores, added tree by tree, float64 (n_rows, n_sums)."""
    total = np.zeros((ends.shape[1], score.shape[1]))
    for tree in range(ends.shape[0]):
        for row in range(ends.shape[1]):
            for at in range(score.shape[1]):
                total[row, at] += score[ends[tree, row], at]
    return total


class Literals(NamedTuple):
    """Literals leaf by leaf, ordered by column; see :class:`encoders.trees.cells.Cells`.

    Attributes
    ----------
    column, lo, hi : column, first cell and last cell, int32 (n_literals,).
    missing : whether a missing value reaches the leaf, bool (n_literals,).
    """

    column: NarrowArray
    lo: NarrowArray
    hi: NarrowArray
    missing: BoolArray


def no_literals(count: int) -> Literals:
    """Return uninitialised arrays for ``count`` literals."""
    column, lo, hi = (np.empty(count, dtype=np.int32) for _ in range(3))
    return Literals(column, lo, hi, np.empty(count, dtype=np.bool_))


@inlined
def _insert(columns: IntArray, count: int, col: int) -> None:
    """Insert a column into the first ``count`` entries, which are ascending."""
    place = count
    while place > 0 and columns[place - 1] > col:
        columns[place] = columns[place - 1]
        place -= 1
    columns[place] = col


@inlined
def _remove(columns: IntArray, count: int, col: int) -> None:
    """Remove a column, so that ``count`` entries remain."""
    place, moved = count, columns[count]
    while moved != col:
        place -= 1
        columns[place], moved = moved, columns[place]


@kernel
def boxes_of(
    s: Splits,
    root: IntArray,
    position: IntArray,
    last: IntArray,
    first: IntArray,
    literals: Literals,
) -> IntArray:
    """Return the number of columns on the path to each leaf, and fill in its literals.

    The result is int64 (n_nodes,), -1 at leaves that no value reaches and -2 at splits. A literal
    is the intersection of the thresholds on one column. Literals of a node begin at ``first[node]``
    in ``literals``; they are not filled in if ``first`` is empty.
    """
    of_column, right, left, of_node, gaps = s.column, s.right, s.left, s.of_node, s.default_left
    n, n_nodes = last.size, of_column.size
    # State of the path: its columns in order, the number of splits on each, its cells that remain.
    columns, times, missing = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.bool_)
    lo, hi = np.empty(n, np.int64), np.empty(n, np.int64)
    for col in range(n):
        times[col], lo[col], hi[col], missing[col] = 0, 0, last[col], gaps.size > 0
    # The path to a node, its turns, and the cells of a column before the split.
    path, turns = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    was_lo, was_hi = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    was_missing = np.empty(n_nodes, np.bool_)
    counts = np.empty(n_nodes, np.int64)
    count = 0
    for tree in range(root.size):
        depth, path[0], turns[0] = 0, root[tree], 0
        while depth >= 0:
            node = path[depth]
            col = of_column[node]
            if col < 0:
                counts[node] = count
                fill = first.size > 0 and first[node + 1] > first[node]
                for place in range(count):
                    met = columns[place]
                    if lo[met] > hi[met] and not missing[met]:
                        counts[node] = -1
                    elif fill:
                        at = first[node] + place
                        literals.column[at], literals.missing[at] = met, missing[met]
                        literals.lo[at], literals.hi[at] = lo[met], hi[met]
                depth -= 1
                continue
            counts[node] = -2
            number = of_node.size == 0 or of_node[node] < 0
            turn = turns[depth]
            if number and turn == 0:
                times[col] += 1
                if times[col] == 1:
                    _insert(columns, count, col)
                    count += 1
                was_lo[depth], was_hi[depth], was_missing[depth] = lo[col], hi[col], missing[col]
                hi[col] = min(hi[col], position[node])
                missing[col] = missing[col] and gaps[node]
            elif number:
                lo[col], hi[col], missing[col] = was_lo[depth], was_hi[depth], was_missing[depth]
                if turn == 1:
                    lo[col] = max(lo[col], position[node] + 1)
                    missing[col] = missing[col] and not gaps[node]
                else:
                    times[col] -= 1
                    if times[col] == 0:
                        count -= 1
                        _remove(columns, count, col)
            turns[depth] += 1
            if turn == 2:
                depth -= 1
            else:
                depth += 1
                path[depth], turns[depth] = left[node] if turn == 0 else right[node], 0
    return counts


class Levels(NamedTuple):
    """Values that a row may have, column by column, and their costs.

    Attributes
    ----------
    start : first level of each column, int64 (n_columns + 1,).
    value : values as the model reads them, float64 (n_levels,), ascending except for ``both``.
    below : least cost of the column's levels up to this one, float64 (n_levels,).
    above : least cost of the column's levels from this one on, float64 (n_levels,).
    both : whether every split of the column sends some level to both sides, bool (n_columns,).
    least : least cost of the column, float64 (n_columns,).
    left, right : least cost that each set split leaves to its column, float64 (n_sets,), inf if no
        level goes there.
    """

    start: IntArray
    value: FloatArray
    below: FloatArray
    above: FloatArray
    both: BoolArray
    least: FloatArray
    left: FloatArray
    right: FloatArray


@kernel
def leaves_within(
    s: Splits, root: IntArray, t: Levels, base: float, limit: float, leaves: IntArray
) -> int:
    """Fill in the leaves that some row reaches at a cost within a limit; return their number.

    The cost of a column's range is at least ``below`` at its last level and ``above`` at its first
    one, so the larger of the two is used. The cost of a column of sets is at least that of each set
    on the path.
    """
    column, last_left, right, left = s.column, s.last_left, s.right, s.left
    of_node, start, value, below, above, both = (
        s.of_node,
        t.start,
        t.value,
        t.below,
        t.above,
        t.both,
    )
    lo, hi, least = start[:-1].copy(), start[1:] - 1, t.least.copy()
    deepest = leaves.size
    # The path to a node, its turns and cost; the range of its column and the position of the split.
    path, turns, spent = np.empty(deepest, np.int64), np.empty(deepest, np.int64), np.empty(deepest)
    was_lo, was_hi = np.empty(deepest, np.int64), np.empty(deepest, np.int64)
    place, was_least = np.empty(deepest, np.int64), np.empty(deepest)
    count = 0
    for tree in range(root.size):
        depth, path[0], turns[0], spent[0] = 0, root[tree], 0, base
        while depth >= 0:
            node = path[depth]
            col, turn = column[node], turns[depth]
            if col < 0:
                leaves[count] = node
                count += 1
                depth -= 1
                continue
            by_set = of_node.size > 0 and of_node[node] >= 0
            if turn == 0:
                was_lo[depth], was_hi[depth], was_least[depth] = lo[col], hi[col], least[col]
                first, end = lo[col], hi[col] + 1
                while first < end and not both[col] and not by_set:
                    middle = (first + end) // 2
                    if value[middle] <= last_left[node]:
                        first = middle + 1
                    else:
                        end = middle
                place[depth] = first
            lo[col], hi[col], least[col] = was_lo[depth], was_hi[depth], was_least[depth]
            turns[depth] += 1
            if turn == 2:
                depth -= 1
                continue
            cost = spent[depth]
            if by_set:
                side = t.left[of_node[node]] if turn == 0 else t.right[of_node[node]]
                if side == np.inf:
                    continue
                if side > least[col]:
                    cost += side - least[col]
                    least[col] = side
            elif not both[col]:
                if turn == 0:
                    hi[col] = place[depth] - 1
                else:
                    lo[col] = place[depth]
                if lo[col] > hi[col]:
                    continue
                cost += max(below[hi[col]], above[lo[col]])
                cost -= max(below[was_hi[depth]], above[was_lo[depth]])
            if cost > limit:
                continue
            depth += 1
            path[depth], turns[depth], spent[depth] = (
                left[node] if turn == 0 else right[node],
                0,
                cost,
            )
    return count
