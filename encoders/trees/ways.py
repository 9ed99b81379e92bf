"""Ways through trees, compiled: down to the leaf of a row, and up from a leaf to its root."""

from typing import NamedTuple

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, NarrowArray, read_only
from encoders.compiled import ONE, inlined, kernel
from encoders.trees.set_splits import SetSplits


class Splits(NamedTuple):
    """What decides at each node where to go; as in :class:`encoders.trees.ensemble.Ensemble`.

    Attributes
    ----------
    column : int64 (n_nodes,), -1 at a leaf
    last_left : float64 (n_nodes,)
    left, right : int64 (n_nodes,)
    default_left : bool (n_nodes,), empty where no value may be missing
    of_node, first, goes_left : of :class:`encoders.trees.set_splits.SetSplits`, empty without
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
    """The same as arrays alone."""
    none = np.zeros(0, dtype=np.int64)
    no_sets = SetSplits(none, none, none.astype(np.bool_), {})
    held = no_sets if sets is None or sets.first.size == 0 else sets
    gaps = no_sets.goes_left if default_left is None else default_left
    return Splits(
        read_only(column),
        read_only(last_left),
        read_only(children[0]),
        read_only(children[1]),
        read_only(gaps),
        read_only(held.of_node),
        read_only(held.first),
        read_only(held.goes_left),
    )


@inlined
def _turns_right(s: Splits, node: int, value: float, cell: int) -> bool:
    """Whether a value goes right at a node, by its cell where a set is asked for."""
    if s.of_node.size > 0 and s.of_node[node] >= 0:
        return bool(not s.goes_left[s.first[s.of_node[node]] + cell])
    if s.default_left.size > 0 and np.isnan(value):
        return bool(not s.default_left[node])
    return bool(value > s.last_left[node])


@kernel
def turn_right(s: Splits, node: IntArray, value: FloatArray, cell: IntArray) -> BoolArray:
    """Whether values go right at nodes, bool (n,)."""
    right = np.empty(node.size, dtype=np.bool_)
    for at in range(node.size):
        right[at] = _turns_right(s, node[at], value[at], cell[at])
    return right


@kernel
def walk_down(s: Splits, root: IntArray, values: FloatArray, cells: IntArray) -> IntArray:
    """The leaf of each tree that each row ends in, int64 (n_trees, n_rows)."""
    column = s.column
    ends = np.empty((root.size, values.shape[0]), dtype=np.int64)
    for tree in range(root.size):  # so that the nodes of one stay near
        for row in range(values.shape[0]):
            node = root[tree]
            at = column[node]
            while at >= 0:
                cell = cells[row, at] if cells.size > 0 else 0
                right = _turns_right(s, node, values[row, at], cell)
                node = s.right[node] if right else s.left[node]
                at = column[node]
            ends[tree, row] = node
    return ends


@kernel
def walk_down_laid_out(s: Splits, root: IntArray, values: FloatArray) -> IntArray:
    """The same for many rows of large trees, where nothing is missing and no node asks for a set.

    The nodes of a tree are first laid out so that the left child is the next one: most steps then
    read nothing but what is near, and none waits to hear where left is.
    """
    of_column, last_left, left, right = s.column, s.last_left, s.left, s.right
    n = of_column.size
    column, cut = np.empty(n, np.int32), np.empty(n, np.float64)
    beyond = np.empty(n, np.int64)  # where the right child is; of a leaf, which node it is
    ahead, above = np.empty(n, np.int64), np.empty(n, np.int64)  # right children, and their parents
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
            own = column[place]
            while own >= 0:
                if values[row, own] > cut[place]:
                    place = np.uint64(beyond[place])
                else:
                    place += ONE
                own = column[place]
            ends[tree, row] = beyond[place]
    return ends


@kernel
def add_up(score: FloatArray, ends: IntArray) -> FloatArray:
    """Sums of what leaves score, tree after tree, float64 (n_rows, n_sums)."""
    total = np.zeros((ends.shape[1], score.shape[1]))
    for tree in range(ends.shape[0]):
        for row in range(ends.shape[1]):
            for at in range(score.shape[1]):
                total[row, at] += score[ends[tree, row], at]
    return total


class Literals(NamedTuple):
    """Of each leaf in turn, by column; as in :class:`encoders.trees.cells.Cells`.

    Attributes
    ----------
    column, lo, hi : int32 (n_literals,)
    missing : bool (n_literals,), whether a missing value gets to the leaf
    """

    column: NarrowArray
    lo: NarrowArray
    hi: NarrowArray
    missing: BoolArray


def no_literals(count: int) -> Literals:
    """Room for so many."""
    column, lo, hi = (np.empty(count, dtype=np.int32) for _ in range(3))
    return Literals(column, lo, hi, np.empty(count, dtype=np.bool_))


@inlined
def _insert(columns: IntArray, count: int, own: int) -> None:
    """Put a column among the first ones, which are ascending."""
    place = count
    while place > 0 and columns[place - 1] > own:
        columns[place] = columns[place - 1]
        place -= 1
    columns[place] = own


@inlined
def _remove(columns: IntArray, count: int, own: int) -> None:
    """Take it away again, so that ``count`` are left."""
    place, kept = count, columns[count]
    while kept != own:
        place -= 1
        columns[place], kept = kept, columns[place]


@kernel
def boxes_of(
    s: Splits, root: IntArray, position: IntArray, last: IntArray, first: IntArray, told: Literals
) -> IntArray:
    """Intersect the thresholds met on the same column on the way to each leaf.

    How many columns are met on the way to each leaf, -1 where no value gets there, int64
    (n_nodes,), -2 at splits.
    """
    of_column, right, left, of_node, gaps = s.column, s.right, s.left, s.of_node, s.default_left
    n, n_nodes = last.size, of_column.size
    # What the splits so far ask for: columns in order, how often each, what gets there of it.
    columns, times, missing = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.bool_)
    lo, hi = np.empty(n, np.int64), np.empty(n, np.int64)
    for own in range(n):
        times[own], lo[own], hi[own], missing[own] = 0, 0, last[own], gaps.size > 0
    # The way to a node, its turns, and what got there of a column before its split was met.
    path, turns = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    was_lo, was_hi = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    was_missing = np.empty(n_nodes, np.bool_)
    counts = np.empty(n_nodes, np.int64)
    count = 0
    for tree in range(root.size):
        depth, path[0], turns[0] = 0, root[tree], 0
        while depth >= 0:
            node = path[depth]
            own = of_column[node]
            if own < 0:
                counts[node] = count
                told_here = first.size > 0 and first[node + 1] > first[node]
                for place in range(count):
                    met = columns[place]
                    if lo[met] > hi[met] and not missing[met]:
                        counts[node] = -1
                    elif told_here:
                        at = first[node] + place
                        told.column[at], told.missing[at] = met, missing[met]
                        told.lo[at], told.hi[at] = lo[met], hi[met]
                depth -= 1
                continue
            counts[node] = -2
            number = of_node.size == 0 or of_node[node] < 0
            turn = turns[depth]
            if number and turn == 0:
                times[own] += 1
                if times[own] == 1:
                    _insert(columns, count, own)
                    count += 1
                was_lo[depth], was_hi[depth], was_missing[depth] = lo[own], hi[own], missing[own]
                hi[own] = min(hi[own], position[node])
                missing[own] = missing[own] and gaps[node]
            elif number:
                lo[own], hi[own], missing[own] = was_lo[depth], was_hi[depth], was_missing[depth]
                if turn == 1:
                    lo[own] = max(lo[own], position[node] + 1)
                    missing[own] = missing[own] and not gaps[node]
                else:
                    times[own] -= 1
                    if times[own] == 0:
                        count -= 1
                        _remove(columns, count, own)
            turns[depth] += 1
            if turn == 2:
                depth -= 1
            else:
                depth += 1
                path[depth], turns[depth] = left[node] if turn == 0 else right[node], 0
    return counts


class Levels(NamedTuple):
    """Values that a row may have, column after column, and what they cost.

    Attributes
    ----------
    start : int64 (n_columns + 1,), those of each column
    value : float64 (n_levels,), as the model reads them, ascending but where both sides are taken
    below, above : float64 (n_levels,), the least cost of a level of the column up to this one, and
        from this one on
    both : bool (n_columns,), columns of which each split sends some level to both sides
    """

    start: IntArray
    value: FloatArray
    below: FloatArray
    above: FloatArray
    both: BoolArray


@kernel
def leaves_within(
    s: Splits, root: IntArray, t: Levels, base: float, limit: float, found: IntArray
) -> int:
    """Leaves of trees that a row of such levels may lie in, at a cost within a limit.

    Both sides of a column are bounds on what its range costs, so that the larger one is.
    """
    column, last_left, right, left = s.column, s.last_left, s.right, s.left
    start, value, below, above, both = t.start, t.value, t.below, t.above, t.both
    lo, hi = start[:-1].copy(), start[1:] - 1
    deepest = found.size
    # The way to a node, its turns, what it costs, and what its column was and where it is split.
    path, turns, spent = np.empty(deepest, np.int64), np.empty(deepest, np.int64), np.empty(deepest)
    was_lo, was_hi = np.empty(deepest, np.int64), np.empty(deepest, np.int64)
    place = np.empty(deepest, np.int64)
    count = 0
    for tree in range(root.size):
        depth, path[0], turns[0], spent[0] = 0, root[tree], 0, base
        while depth >= 0:
            node = path[depth]
            own, turn = column[node], turns[depth]
            if own < 0:
                found[count] = node
                count += 1
                depth -= 1
                continue
            if turn == 0:
                was_lo[depth], was_hi[depth] = lo[own], hi[own]
                first, end = lo[own], hi[own] + 1
                while first < end and not both[own]:
                    middle = (first + end) // 2
                    if value[middle] <= last_left[node]:
                        first = middle + 1
                    else:
                        end = middle
                place[depth] = first
            lo[own], hi[own] = was_lo[depth], was_hi[depth]
            turns[depth] += 1
            if turn == 2:
                depth -= 1
                continue
            cost = spent[depth]
            if not both[own]:
                if turn == 0:
                    hi[own] = place[depth] - 1
                else:
                    lo[own] = place[depth]
                if lo[own] > hi[own]:
                    continue
                cost += max(below[hi[own]], above[lo[own]])
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
