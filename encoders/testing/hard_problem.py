"""Problems that no backend is through with in a moment."""

import numpy as np

from encoders.problem.problem import LeafRow, Problem


def hard_problem() -> Problem:
    """500 small trees over 60 axes, and a row that is hard to keep; the same at every call."""
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
        own = rng.integers(0, 10**9, 4)
        weights += (own - own.min()).tolist()
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
    """Market split: six equations over 50 axes of two levels; fits licences that limit the size.

    The instances of Cornuéjols and Dawande (1998), hard for every paradigm: right-hand sides are
    half of what all coefficients add up to. The same at every call.
    """
    rng = np.random.default_rng(1)
    n_rows, n_axes = 6, 50
    coefficients = rng.integers(0, 100, (n_rows, n_axes))
    rows = []
    for own in coefficients:
        half = int(own.sum()) // 2
        low, high = np.zeros((2, n_axes, 2), dtype=np.int64)
        low[:, 1] = own  # the leaf of level 1 weighs
        high[:, 0] = own  # the leaf of level 0 does
        rows.append(LeafRow(low.ravel(), half))
        rows.append(LeafRow(high.ravel(), int(own.sum()) - half))
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
