"""The ``tight`` formulation's rows: one per side of a split and tree."""

import numpy as np

from encoders.arrays import IntArray, starts
from encoders.backends.milp.rows import Rows
from encoders.backends.order_encoding import OrderEncoding
from encoders.problem.problem import Problem


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
