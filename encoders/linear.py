"""Mixed-integer linear models of a problem, independent of the engine that solves them.

``tight``
    Order-encoded axes, ``y[a, m] = 1`` iff axis a is at most level m, and one row per side of a
    split and tree: the active leaf lies wholly below a level only if the axis does.
``ocean``
    Parmentier and Vidal (2021), appendix D of the paper, on the finite domain: one binary
    variable per tree and depth says whether the path turns left, continuous axes, one pair of
    rows per node.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from encoders.arrays import BoolArray, FloatArray, IntArray, owners, starts
from encoders.nodes import Nodes, find_nodes
from encoders.problem import Problem
from encoders.tables import tabulate

LARGEST_COST = 1e3  # tolerances of the engines are absolute: costs are scaled to this size


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Minimise ``scale * cost`` over rows ``lower <= matrix @ x <= upper``, 0 <= x <= 1.

    Columns are y in order of axes and levels (one less than levels per axis), then one per leaf,
    then others. Only "max" has a column beyond 1: the worst cost.

    Attributes
    ----------
    cost, ceiling : float64 (n_columns,), objective and upper bound of each column
    integer : bool (n_columns,)
    matrix : CSR (n_rows, n_columns)
    lower, upper : float64 (n_rows,)
    offset : constant of the objective
    scale : objective units per unit of the problem's cost
    """

    cost: FloatArray
    ceiling: FloatArray
    integer: BoolArray
    matrix: "sparse.csr_matrix"
    lower: FloatArray
    upper: FloatArray
    offset: float
    scale: float


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some rows: entries (row, column, value) and bounds."""

    row: IntArray
    column: IntArray
    value: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class Structure:
    """All of a model but its costs; ``price`` adds those of any problem that shares the rest."""

    ocean: bool
    n_columns: int
    matrix: "sparse.csr_matrix"
    lower: FloatArray
    upper: FloatArray


def build(problem: Problem, formulation: str) -> Structure:
    """Columns and rows of the named formulation."""
    layout = _Layout.of(problem)
    n_columns = layout.n_y + problem.n_leaves
    parts = [*_axis_rows(problem, layout), _one_leaf_rows(problem, layout)]
    ocean = formulation == "ocean"
    if ocean:
        nodes = find_nodes(problem)
        parts += _node_rows(problem, layout, nodes)
        turns = _turn_rows(layout, nodes, n_columns)
        parts.append(turns)
        n_columns += turns.lower.size // 2
    else:
        parts += _side_rows(problem, layout)
    return Structure(ocean, n_columns, *_assemble(parts, n_columns))


def price(structure: Structure, problem: Problem, cutoff: float = np.inf) -> LinearModel:
    """The model with a problem's costs; those far above ``cutoff`` are clipped, which sets their
    scale."""
    layout = _Layout.of(problem)
    n_columns, matrix = structure.n_columns, structure.matrix
    lower, upper = structure.lower, structure.upper
    integer = np.zeros(n_columns, dtype=np.bool_)
    integer[: layout.n_y] = True
    if structure.ocean:
        integer[: layout.n_y] = np.repeat(_must_be_integer(problem), problem.size - 1)
        integer[layout.n_y + problem.n_leaves :] = True
    scale = _scale(problem, cutoff)
    # What costs more than the cutoff is out anyway; large numbers only blur the small ones.
    cost_of = np.minimum(problem.cost, 2 * cutoff) * scale
    step = _steps(problem, cost_of)
    base = cost_of[problem.level_start[1:] - 1]
    cost, ceiling, offset = np.zeros(n_columns), np.ones(n_columns), 0.0
    if problem.aggregate == "sum":
        cost[: layout.n_y] = -step
        offset = float(base.sum())
    else:
        integer = np.r_[integer, False]
        cost = np.r_[cost, 1.0]
        ceiling = np.r_[ceiling, np.inf]
        more = _assemble([_worst_rows(problem, layout, step, base, n_columns)], n_columns + 1)
        wider = sparse.csr_matrix((matrix.shape[0], 1))
        matrix = sparse.vstack([sparse.hstack([matrix, wider]), more[0]], format="csr")
        lower, upper = np.r_[lower, more[1]], np.r_[upper, more[2]]
    return LinearModel(cost, ceiling, integer, matrix, lower, upper, offset, scale)


def levels_of(problem: Problem, x: FloatArray) -> IntArray:
    """The choice of levels that a solution stands for."""
    layout = _Layout.of(problem)
    below = np.rint(x[: layout.n_y]).astype(np.int64)
    levels: IntArray = (
        problem.size - 1 - np.bincount(layout.axis[below == 1], minlength=problem.n_axes)
    )
    return levels


def columns_of(problem: Problem, levels: IntArray) -> tuple[IntArray, FloatArray]:
    """Columns and values of y and the leaves for a choice; engines complete the rest."""
    layout = _Layout.of(problem)
    y = (levels[layout.axis] <= layout.level).astype(np.float64)
    z = np.zeros(problem.n_leaves)
    z[problem.active_leaves(levels)] = 1.0
    column = np.arange(layout.n_y + problem.n_leaves)
    return column, np.r_[y, z]


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where y[a, m] is: column ``first[a] + m``."""

    first: IntArray
    axis: IntArray
    level: IntArray

    @staticmethod
    def of(problem: Problem) -> "_Layout":
        first = starts(problem.size - 1)
        axis = owners(first)
        return _Layout(first, axis, np.arange(axis.size) - first[axis])

    @property
    def n_y(self) -> int:
        return int(self.axis.size)


def _steps(problem: Problem, weight: FloatArray) -> FloatArray:
    """``weight[level] = weight[last] - sum of step[m] * y[m]`` per axis, float64 (n_y,)."""
    inner = np.ones(weight.size, dtype=np.bool_)
    inner[problem.level_start[1:] - 1] = False
    step = np.append(np.diff(weight), 0.0)
    chosen: FloatArray = step[inner]
    return chosen


def _must_be_integer(problem: Problem) -> BoolArray:
    """Axes that integer leaves alone don't settle at the least cost, bool (n_axes,)."""
    tables = tabulate(problem)
    if problem.aggregate == "max" or problem.level_rows or problem.forbidden:
        return np.ones(problem.n_axes, dtype=np.bool_)
    loose: BoolArray = ~tables.unimodal | (tables.group_of >= 0)
    return loose


def _scale(problem: Problem, cutoff: float) -> float:
    """A power of two that brings the cost that matters to about ``LARGEST_COST``."""
    worst = np.maximum.reduceat(problem.cost, problem.level_start[:-1])
    total = float(worst.sum() if problem.aggregate == "sum" else worst.max(initial=0.0))
    size = min(cutoff, total)
    return 2.0 ** float(np.floor(np.log2(LARGEST_COST / size))) if size > 0 else 1.0


def _axis_rows(problem: Problem, layout: _Layout) -> list[_Rows]:
    """Order of the levels, one-hot groups, level rows and forbidden boxes."""
    lower_level = np.flatnonzero(layout.axis[:-1] == layout.axis[1:]) if layout.n_y else layout.axis
    n = lower_level.size
    rank = np.arange(n)
    parts = [
        _Rows(
            np.r_[rank, rank],
            np.r_[lower_level, lower_level + 1],
            np.r_[np.ones(n), -np.ones(n)],
            np.full(n, -np.inf),
            np.zeros(n),
        )
    ]
    owner = owners(problem.level_start)
    for group in problem.one_hot:
        axis = owner[group]
        free = problem.size[axis] > 1
        # A category is chosen iff its axis is not at its level 0; without that one it always is.
        column = layout.first[axis[free]]
        sure = int((~free).sum())
        left = float(column.size + sure - 1)
        parts.append(_row(column, np.ones(column.size), left, left))
    for row in problem.level_rows:
        weight = row.weight.astype(np.float64)
        step = _steps(problem, weight)
        base = weight[problem.level_start[1:] - 1].sum()
        used = np.flatnonzero(step)
        parts.append(_row(used, -step[used], -np.inf, float(row.maximum - base)))
    for box in problem.forbidden:
        below, above = box.lo > 0, box.hi < problem.size[box.axis] - 1
        column = np.r_[
            layout.first[box.axis[below]] + box.lo[below] - 1,
            layout.first[box.axis[above]] + box.hi[above],
        ]
        value = np.r_[np.ones(int(below.sum())), -np.ones(int(above.sum()))]
        parts.append(_row(column, value, 1.0 - float(above.sum()), np.inf))
    return parts


def _row(column: IntArray, value: FloatArray, lower: float, upper: float) -> _Rows:
    return _Rows(
        np.zeros(column.size, dtype=np.int64), column, value, np.array([lower]), np.array([upper])
    )


def _one_leaf_rows(problem: Problem, layout: _Layout) -> _Rows:
    """One active leaf per tree, and the leaf rows, scaled to weights of at most 1."""
    n_trees = problem.tree_start.size - 1
    row = [owners(problem.tree_start)]
    column = [layout.n_y + np.arange(problem.n_leaves)]
    value = [np.ones(problem.n_leaves)]
    lower, upper = [1.0] * n_trees, [1.0] * n_trees
    for number, leaf_row in enumerate(problem.leaf_rows):
        used = np.flatnonzero(leaf_row.weight)
        largest = float(leaf_row.weight.max(initial=1))
        row.append(np.full(used.size, n_trees + number))
        column.append(layout.n_y + used)
        value.append(leaf_row.weight[used] / largest)
        lower.append(leaf_row.minimum / largest)
        upper.append(np.inf)
    return _Rows(
        np.concatenate(row),
        np.concatenate(column),
        np.concatenate(value),
        np.array(lower),
        np.array(upper),
    )


def _side_rows(problem: Problem, layout: _Layout) -> list[_Rows]:
    """``sum of z over the leaves of a tree wholly below a level <= y``, and wholly above."""
    below = problem.hi < problem.size[problem.axis] - 1
    above = problem.lo > 0
    return [
        _nested(problem, layout, np.flatnonzero(below), problem.hi, 1),
        _nested(problem, layout, np.flatnonzero(above), problem.lo - 1, -1),
    ]


def _nested(
    problem: Problem, layout: _Layout, literal: IntArray, level: IntArray, direction: int
) -> _Rows:
    """One row per tree, axis and level at which the set of leaves grows.

    Direction 1: leaves whose level is at most m imply y[m]; -1: at least m imply its negation.
    """
    leaf = owners(problem.leaf_start)[literal]
    tree = owners(problem.tree_start)[leaf]
    axis, at = problem.axis[literal], level[literal]
    order = np.lexsort((direction * at, axis, tree))
    leaf, tree, axis, at = leaf[order], tree[order], axis[order], at[order]
    new_group = np.r_[True, (np.diff(tree) != 0) | (np.diff(axis) != 0)][: tree.size]
    last = np.r_[(np.diff(at) != 0) | new_group[1:], True][: tree.size]
    end = np.flatnonzero(last) + 1
    begin = np.flatnonzero(new_group)[np.cumsum(new_group)[end - 1] - 1]
    n = end.size
    length = end - begin
    row = np.repeat(np.arange(n), length)
    member = np.arange(row.size) - np.repeat(starts(length)[:-1] - begin, length)
    column = np.r_[layout.n_y + leaf[member], layout.first[axis[end - 1]] + at[end - 1]]
    value = np.r_[np.ones(row.size), np.full(n, -float(direction))]
    upper = np.full(n, 0.0 if direction > 0 else 1.0)
    return _Rows(np.r_[row, np.arange(n)], column, value, np.full(n, -np.inf), upper)


def _node_rows(problem: Problem, layout: _Layout, nodes: Nodes) -> list[_Rows]:
    """OCEAN's consistency: the flow into a node's left child <= y, into its right <= 1 - y."""
    parts = []
    y = layout.first[nodes.axis] + nodes.level
    for start, leaf, sign in (
        (nodes.left_start, nodes.left, -1.0),
        (nodes.right_start, nodes.right, 1.0),
    ):
        n = nodes.axis.size
        row = owners(start)
        parts.append(
            _Rows(
                np.r_[row, np.arange(n)],
                np.r_[layout.n_y + leaf, y],
                np.r_[np.ones(leaf.size), np.full(n, sign)],
                np.full(n, -np.inf),
                np.full(n, 0.0 if sign < 0 else 1.0),
            )
        )
    return parts


def _turn_rows(layout: _Layout, nodes: Nodes, first_column: int) -> _Rows:
    """One binary per tree and depth: what turns left at that depth <= it, right <= 1 - it."""
    splits = nodes.depth >= 0
    key = nodes.tree * (int(nodes.depth.max(initial=0)) + 1) + nodes.depth
    turn = np.zeros(key.size, dtype=np.int64)
    _, turn[splits] = np.unique(key[splits], return_inverse=True)
    n = int(turn.max(initial=-1)) + 1 if splits.any() else 0
    parts = []
    for start, leaf, shift in (
        (nodes.left_start, nodes.left, 0),
        (nodes.right_start, nodes.right, n),
    ):
        node = owners(start)
        counts = splits[node]
        parts.append((turn[node[counts]] + shift, layout.n_y + leaf[counts]))
    every = np.arange(n)
    return _Rows(
        np.r_[parts[0][0], parts[1][0], every, n + every],
        np.r_[parts[0][1], parts[1][1], first_column + every, first_column + every],
        np.r_[np.ones(parts[0][0].size + parts[1][0].size), -np.ones(n), np.ones(n)],
        np.full(2 * n, -np.inf),
        np.r_[np.zeros(n), np.ones(n)],
    )


def _worst_rows(
    problem: Problem, layout: _Layout, step: FloatArray, base: FloatArray, worst: int
) -> _Rows:
    """The worst cost is at least each axis' cost."""
    n = problem.n_axes
    every = np.arange(n)
    return _Rows(
        np.r_[layout.axis, every],
        np.r_[np.arange(layout.n_y), np.full(n, worst)],
        np.r_[step, np.ones(n)],
        base,
        np.full(n, np.inf),
    )


def _assemble(
    parts: list[_Rows], n_columns: int
) -> tuple["sparse.csr_matrix", FloatArray, FloatArray]:
    heights = starts(np.array([part.lower.size for part in parts], dtype=np.int64))
    row = np.concatenate([part.row + top for part, top in zip(parts, heights, strict=False)])
    column = np.concatenate([part.column for part in parts])
    value = np.concatenate([part.value for part in parts])
    matrix = sparse.csr_matrix((value, (row, column)), shape=(int(heights[-1]), n_columns))
    return (
        matrix,
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
    )
