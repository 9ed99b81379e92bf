"""A problem that no backend is through with in a moment."""

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
