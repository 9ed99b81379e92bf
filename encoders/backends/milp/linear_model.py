"""Mixed-integer linear models of a problem, independent of the engine that solves them.

``tight``
    Order-encoded axes, ``y[a, m] = 1`` iff axis a is at most level m. One row per side of a split
    and tree: the active leaf lies wholly below a level only if the axis does.
``ocean``
    Parmentier and Vidal (2021), appendix D of the paper, on the finite domain. One binary
    variable per tree and depth says whether the path turns left; axes are continuous, with one
    pair of rows per node.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from encoders.backends.milp.rows import Rows, assemble, axis_rows, one_leaf_rows, worst_rows
from encoders.backends.milp.split_nodes import Nodes, find_nodes
from encoders.backends.order_encoding import OrderEncoding
from encoders.core.arrays import BoolArray, FloatArray, IntArray, owners, starts
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import Problem

# Objective units that costs are scaled to, as the engines' tolerances are absolute. With fewer the
# gap is too wide for the answer, with more large numbers blur the small ones.
LARGEST_COST = 1e3

LARGEST_EXPONENT = 1000  # of the scale, which has to stay a finite float64


def side_rows(problem: Problem, encoding: OrderEncoding) -> list[Rows]:
    """``sum of z over the leaves of a tree wholly below a level <= y``, and wholly above."""
    below = problem.hi < problem.size[problem.axis] - 1
    above = problem.lo > 0
    return [
        _nested(problem, encoding, np.flatnonzero(below), problem.hi, 1),
        _nested(problem, encoding, np.flatnonzero(above), problem.lo - 1, -1),
    ]


def _nested(
    problem: Problem, encoding: OrderEncoding, literal: IntArray, level: IntArray, direction: int
) -> Rows:
    """Return one row per tree, axis and level at which the set of leaves grows.

    Direction 1: leaves whose level is at most m imply y[m]; -1: at least m imply its negation.
    """
    leaf = problem.leaf_of[literal]
    tree = problem.tree_of[leaf]
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
    column = np.r_[encoding.n + leaf[member], encoding.first[axis[end - 1]] + at[end - 1]]
    value = np.r_[np.ones(row.size), np.full(n, -float(direction))]
    upper = np.full(n, 0.0 if direction > 0 else 1.0)
    return Rows(np.r_[row, np.arange(n)], column, value, np.full(n, -np.inf), upper)


def node_rows(encoding: OrderEncoding, nodes: Nodes) -> list[Rows]:
    """OCEAN's consistency: the flow into a node's left child <= y, into its right <= 1 - y.

    Equations (3) to (5) of the paper, over flows into leaves.
    """
    parts = []
    y = encoding.first[nodes.axis] + nodes.level
    for start, leaf, sign in (
        (nodes.left_start, nodes.left, -1.0),
        (nodes.right_start, nodes.right, 1.0),
    ):
        n = nodes.axis.size
        row = owners(start)
        parts.append(
            Rows(
                np.r_[row, np.arange(n)],
                np.r_[encoding.n + leaf, y],
                np.r_[np.ones(leaf.size), np.full(n, sign)],
                np.full(n, -np.inf),
                np.full(n, 0.0 if sign < 0 else 1.0),
            )
        )
    return parts


def turn_rows(encoding: OrderEncoding, nodes: Nodes, first_column: int) -> Rows:
    """Return rows with one binary t per tree and depth: leaves to the left <= t, right <= 1 - t."""
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
        parts.append((turn[node[counts]] + shift, encoding.n + leaf[counts]))
    every = np.arange(n)
    return Rows(
        np.r_[parts[0][0], parts[1][0], every, n + every],
        np.r_[parts[0][1], parts[1][1], first_column + every, first_column + every],
        np.r_[np.ones(parts[0][0].size + parts[1][0].size), -np.ones(n), np.ones(n)],
        np.full(2 * n, -np.inf),
        np.r_[np.zeros(n), np.ones(n)],
    )


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Minimise ``scale * cost`` over rows ``lower <= matrix @ x <= upper``, 0 <= x <= 1.

    Columns are y in order of axes and levels (one less than levels per axis), then one per leaf,
    then others. Only "max" has a column beyond 1: the worst cost.

    Attributes
    ----------
    cost, ceiling : float64 (n_columns,), objective and upper bound of each column.
    integer : bool (n_columns,)
    matrix : CSR (n_rows, n_columns)
    lower, upper : float64 (n_rows,)
    offset : constant of the objective.
    scale : objective units per unit of the problem's cost.
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
class Structure:
    """All of a model but its costs; ``price`` adds those of any problem that shares the rest.

    Attributes
    ----------
    ocean : whether it is the formulation of that name
    n_columns : columns, without the worst cost of "max"
    matrix : CSR (n_rows, n_columns)
    lower, upper : float64 (n_rows,)
    """

    ocean: bool
    n_columns: int
    matrix: "sparse.csr_matrix"
    lower: FloatArray
    upper: FloatArray


def build(problem: Problem, formulation: str) -> Structure:
    """Columns and rows of the named formulation."""
    encoding = OrderEncoding.of(problem)
    n_columns = encoding.n + problem.n_leaves
    parts = [*axis_rows(problem, encoding), one_leaf_rows(problem, encoding)]
    ocean = formulation == "ocean"
    if ocean:
        nodes = find_nodes(problem)
        parts += node_rows(encoding, nodes)
        turns = turn_rows(encoding, nodes, n_columns)
        parts.append(turns)
        n_columns += turns.lower.size // 2
    else:
        parts += side_rows(problem, encoding)
    return Structure(ocean, n_columns, *assemble(parts, n_columns))


def price(structure: Structure, problem: Problem, cutoff: float = np.inf) -> LinearModel:
    """Return the model with a problem's costs, clipped at twice ``cutoff`` and scaled."""
    encoding = OrderEncoding.of(problem)
    n_columns, matrix = structure.n_columns, structure.matrix
    lower, upper = structure.lower, structure.upper
    integer = np.zeros(n_columns, dtype=np.bool_)
    integer[: encoding.n] = True
    if structure.ocean:
        integer[: encoding.n] = np.repeat(_must_be_integer(problem), problem.size - 1)
        integer[encoding.n + problem.n_leaves :] = True
    scale = _scale(problem, cutoff)
    # What costs more than the cutoff is out anyway; large numbers only blur the small ones.
    cost_of = np.minimum(problem.cost, 2 * cutoff) * scale
    step = encoding.steps(cost_of)
    base = cost_of[problem.level_start[1:] - 1]
    cost, ceiling, offset = np.zeros(n_columns), np.ones(n_columns), 0.0
    if problem.aggregate == "sum":
        cost[: encoding.n] = -step
        offset = float(base.sum())
    else:
        integer = np.r_[integer, False]
        cost = np.r_[cost, 1.0]
        ceiling = np.r_[ceiling, np.inf]
        more = assemble([worst_rows(problem, encoding, step, base, n_columns)], n_columns + 1)
        wider = sparse.csr_matrix((matrix.shape[0], 1))
        matrix = sparse.vstack([sparse.hstack([matrix, wider]), more[0]], format="csr")
        lower, upper = np.r_[lower, more[1]], np.r_[upper, more[2]]
    return LinearModel(cost, ceiling, integer, matrix, lower, upper, offset, scale)


def levels_of(problem: Problem, x: FloatArray) -> IntArray:
    """Return the chosen level of each axis in a solution, int64 (n_axes,)."""
    encoding = OrderEncoding.of(problem)
    return encoding.levels(np.rint(x[: encoding.n]) == 1)


def _must_be_integer(problem: Problem) -> BoolArray:
    """Axes that integer leaves alone don't settle at the least cost, bool (n_axes,)."""
    tables = tabulate(problem)
    if problem.aggregate == "max" or problem.level_rows or problem.forbidden:
        return np.ones(problem.n_axes, dtype=np.bool_)
    loose: BoolArray = ~tables.unimodal | (tables.group_of >= 0)
    return loose


def _scale(problem: Problem, cutoff: float) -> float:
    """Return a power of two that scales the largest relevant cost to about ``LARGEST_COST``."""
    worst = np.maximum.reduceat(problem.cost, problem.level_start[:-1])
    total = float(worst.sum() if problem.aggregate == "sum" else worst.max(initial=0.0))
    size = min(cutoff, total)
    exponent = np.floor(np.log2(LARGEST_COST) - np.log2(size)) if size > 0 else 0.0
    return float(2.0 ** min(float(exponent), LARGEST_EXPONENT))
