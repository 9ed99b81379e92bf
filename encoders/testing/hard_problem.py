"""Problems that take every backend longer than a moment."""

import numpy as np

from encoders.problem.problem import LeafRow, Problem


def hard_problem() -> Problem:
    """Return a problem of 500 small trees over 60 axes with one tight leaf row.

    Every call returns the same problem.

    Returns
    -------
    Problem
        The problem.

    Examples
    --------
    >>> from encoders.testing.hard_problem import hard_problem
    >>> hard_problem().n_axes, hard_problem().n_leaves
    (60, 2000)
    """
    rng = np.random.default_rng(0)
    n_axes, n_levels, n_trees = 60, 8, 500
    leaves, weights = [], []
    for _ in range(n_trees):
        a, b, c = rng.choice(n_axes, 3, replace=False)
        i, j, k = rng.integers(0, n_levels - 1, 3)
        leaves += [
            [(a, 0, i), (b, 0, j)],
            [(a, 0, i), (b, j + 1, n_levels - 1)],
            [(a, i + 1, n_levels - 1), (c, 0, k)],
            [(a, i + 1, n_levels - 1), (c, k + 1, n_levels - 1)],
        ]
        four = rng.integers(0, 10**9, 4)
        weights += (four - four.min()).tolist()
    weight = np.array(weights, dtype=np.int64)
    literals = np.array([literal for leaf in leaves for literal in leaf], dtype=np.int64).T
    best = weight.reshape(-1, 4).max(axis=1).sum()
    return Problem(
        level_start=np.arange(0, n_axes * n_levels + 1, n_levels),
        cost=np.concatenate([np.sort(rng.random(n_levels)) for _ in range(n_axes)]),
        aggregate="sum",
        one_hot=(),
        tree_start=np.arange(0, 4 * n_trees + 1, 4),
        leaf_start=np.arange(0, 8 * n_trees + 1, 2),
        axis=literals[0],
        lo=literals[1],
        hi=literals[2],
        leaf_rows=(LeafRow(weight, int(best * 0.69)),),
        level_rows=(),
    )


def small_hard_problem() -> Problem:
    """Return a market split problem: six equations over 50 axes of two levels.

    An instance as of Cornuéjols and Dawande (1998), which is hard for every paradigm: each
    right-hand side is half of the sum of the coefficients. It is small enough for licences that
    limit the size. Every call returns the same problem.

    Returns
    -------
    Problem
        The problem.

    Examples
    --------
    >>> from encoders.testing.hard_problem import small_hard_problem
    >>> len(small_hard_problem().leaf_rows)
    12
    """
    rng = np.random.default_rng(1)
    n_rows, n_axes = 6, 50
    coefficients = rng.integers(0, 100, (n_rows, n_axes))
    rows = []
    for equation in coefficients:
        half = int(equation.sum()) // 2
        low, high = np.zeros((2, n_axes, 2), dtype=np.int64)
        low[:, 1] = equation  # weights of the leaves of level 1
        high[:, 0] = equation  # weights of the leaves of level 0
        rows.append(LeafRow(low.ravel(), half))
        rows.append(LeafRow(high.ravel(), int(equation.sum()) - half))
    ends = np.tile([0, 1], n_axes)
    return Problem(
        level_start=np.arange(0, 2 * n_axes + 1, 2),
        cost=rng.random(2 * n_axes),
        aggregate="sum",
        one_hot=(),
        tree_start=np.arange(0, 2 * n_axes + 1, 2),
        leaf_start=np.arange(2 * n_axes + 1),
        axis=np.repeat(np.arange(n_axes), 2),
        lo=ends,
        hi=ends,
        leaf_rows=tuple(rows),
        level_rows=(),
    )
