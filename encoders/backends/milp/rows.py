"""Rows that every linear model of a problem has, as sparse entries."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from encoders.backends.order_encoding import OrderEncoding
from encoders.core.arrays import FloatArray, IntArray, starts
from encoders.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a linear model: entries (row, column, value) and bounds.

    Attributes
    ----------
    row, column : int64 (n_entries,), rows counted within these
    value : float64 (n_entries,)
    lower, upper : float64 (n_rows,), -inf or inf for an unbounded side
    """

    row: IntArray
    column: IntArray
    value: FloatArray
    lower: FloatArray
    upper: FloatArray


def axis_rows(problem: Problem, encoding: OrderEncoding) -> list[Rows]:
    """Order of the levels, one-hot groups, level rows and forbidden boxes."""
    lower_level = (
        np.flatnonzero(encoding.axis[:-1] == encoding.axis[1:]) if encoding.n else encoding.axis
    )
    n = lower_level.size
    rank = np.arange(n)
    parts = [
        Rows(
            np.r_[rank, rank],
            np.r_[lower_level, lower_level + 1],
            np.r_[np.ones(n), -np.ones(n)],
            np.full(n, -np.inf),
            np.zeros(n),
        )
    ]
    owner = problem.axis_of
    for group in problem.one_hot:
        axis = owner[group]
        free = problem.size[axis] > 1
        # A category is chosen iff its axis is not at its level 0; without that one it always is.
        column = encoding.first[axis[free]]
        sure = int((~free).sum())
        left = float(column.size + sure - 1)
        parts.append(one_row(column, np.ones(column.size), left, left))
    for row in problem.level_rows:
        weight = row.weight.astype(np.float64)
        step = encoding.steps(weight)
        base = weight[problem.level_start[1:] - 1].sum()
        used = np.flatnonzero(step)
        parts.append(one_row(used, -step[used], -np.inf, float(row.maximum - base)))
    for box in problem.forbidden:
        below, above = box.lo > 0, box.hi < problem.size[box.axis] - 1
        column = np.r_[
            encoding.first[box.axis[below]] + box.lo[below] - 1,
            encoding.first[box.axis[above]] + box.hi[above],
        ]
        value = np.r_[np.ones(int(below.sum())), -np.ones(int(above.sum()))]
        parts.append(one_row(column, value, 1.0 - float(above.sum()), np.inf))
    return parts


def one_row(column: IntArray, value: FloatArray, lower: float, upper: float) -> Rows:
    """Return a single row with the given entries and bounds."""
    return Rows(
        np.zeros(column.size, dtype=np.int64), column, value, np.array([lower]), np.array([upper])
    )


def one_leaf_rows(problem: Problem, encoding: OrderEncoding) -> Rows:
    """Return rows for one active leaf per tree, and leaf rows scaled to weights of at most 1.

    Equations (2), (7) and (11) of the paper.
    """
    n_trees = problem.tree_start.size - 1
    row = [problem.tree_of]
    column = [encoding.n + np.arange(problem.n_leaves)]
    value = [np.ones(problem.n_leaves)]
    lower, upper = [1.0] * n_trees, [1.0] * n_trees
    for number, leaf_row in enumerate(problem.leaf_rows):
        used = np.flatnonzero(leaf_row.weight)
        largest = float(leaf_row.weight.max(initial=1))
        row.append(np.full(used.size, n_trees + number))
        column.append(encoding.n + used)
        value.append(leaf_row.weight[used] / largest)
        lower.append(leaf_row.minimum / largest)
        upper.append(np.inf)
    return Rows(
        np.concatenate(row),
        np.concatenate(column),
        np.concatenate(value),
        np.array(lower),
        np.array(upper),
    )


def worst_rows(
    problem: Problem, encoding: OrderEncoding, step: FloatArray, base: FloatArray, worst: int
) -> Rows:
    """Return one row per axis: column ``worst`` is at least the cost of the axis."""
    n = problem.n_axes
    every = np.arange(n)
    return Rows(
        np.r_[encoding.axis, every],
        np.r_[np.arange(encoding.n), np.full(n, worst)],
        np.r_[step, np.ones(n)],
        base,
        np.full(n, np.inf),
    )


def assemble(
    parts: list[Rows], n_columns: int
) -> tuple["sparse.csr_matrix", FloatArray, FloatArray]:
    """Stack rows: return one CSR matrix (n_rows, n_columns) and the bounds of its rows."""
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
