"""Small random problems: trees over ordered axes and a one-hot group, rows, forbidden boxes."""

import numpy as np

from encoders.core.arrays import IntArray, starts
from encoders.problem.problem import Box, LeafRow, LevelRow, Problem

Leaf = dict[int, tuple[int, int]]


def random_problem(seed: int, largest: int = 6, n_trees: int = 5) -> Problem:
    """Return a small random problem of trees over ordered axes, and sometimes a one-hot group.

    Parameters
    ----------
    seed : int
        Random seed; the same seed gives the same problem.
    largest : int, default 6
        Exclusive upper limit of the number of levels per axis.
    n_trees : int, default 5
        Exclusive upper limit of the number of trees.

    Returns
    -------
    Problem
        The problem.

    See Also
    --------
    optimum : Solve a small problem by enumeration.

    Examples
    --------
    >>> from encoders.testing import optimum, random_problem
    >>> problem = random_problem(seed=0)
    >>> problem.n_axes, optimum(problem)[0]
    (3, 0.02)
    """
    rng = np.random.default_rng(seed)
    size = rng.integers(1, largest, int(rng.integers(1, 4)))
    n_group = int(rng.choice([0, 3]))
    size = np.r_[size, [2] * n_group].astype(np.int64)
    level_start = starts(size)
    cost = np.round(rng.random(level_start[-1]), 2)
    for a in range(size.size):
        first = level_start[a]
        if a >= size.size - n_group:
            cost[first] = 0.0
        elif rng.random() < 0.7:  # most costs are distances, some are custom costs
            cost[first : first + size[a]] = np.abs(np.arange(size[a]) - rng.integers(size[a])) / 4
    one_hot: tuple[IntArray, ...] = ()
    if n_group:
        one_hot = (level_start[size.size - n_group : -1] + 1,)
    trees = [_random_tree(rng, size, 3) for _ in range(int(rng.integers(1, n_trees)))]
    leaves = [leaf for tree in trees for leaf in tree]
    literals = [(a, lo, hi) for leaf in leaves for a, (lo, hi) in sorted(leaf.items())]
    column = [np.array(part, dtype=np.int64) for part in zip(*literals, strict=True)]
    axis, lo, hi = column or [np.zeros(0, dtype=np.int64)] * 3
    tree_start = starts(np.array([len(tree) for tree in trees]))
    rows = []
    for _ in range(int(rng.integers(1, 3))):
        weight = rng.integers(0, 20, len(leaves))
        weight -= np.repeat(np.minimum.reduceat(weight, tree_start[:-1]), np.diff(tree_start))
        top = np.maximum.reduceat(weight, tree_start[:-1]).sum()
        rows.append(LeafRow(weight, int(top * rng.uniform(0.3, 1.0))))
    level_rows: tuple[LevelRow, ...] = ()
    if rng.random() < 0.4:
        level_rows = (LevelRow((cost > 0).astype(np.int64), int(rng.integers(0, 3))),)
    forbidden: tuple[Box, ...] = ()
    if rng.random() < 0.3:
        a = int(rng.integers(size.size))
        v = np.array([int(rng.integers(size[a]))])
        forbidden = (Box(np.array([a]), v, v),)
    return Problem(
        level_start=level_start,
        cost=cost,
        aggregate="max" if rng.random() < 0.3 else "sum",
        one_hot=one_hot,
        tree_start=tree_start,
        leaf_start=starts(np.array([len(leaf) for leaf in leaves])),
        axis=axis,
        lo=lo,
        hi=hi,
        leaf_rows=tuple(rows),
        level_rows=level_rows,
        forbidden=forbidden,
    )


def _random_tree(
    rng: np.random.Generator, size: IntArray, depth: int, box: Leaf | None = None
) -> list[Leaf]:
    box = box or {}
    spans = {a: box.get(a, (0, int(size[a]) - 1)) for a in range(size.size)}
    open_axes = [a for a, (lo, hi) in spans.items() if lo < hi]
    if depth == 0 or not open_axes or rng.random() < 0.15:
        return [box]
    a = int(rng.choice(open_axes))
    lo, hi = spans[a]
    cut = int(rng.integers(lo, hi))
    below = _random_tree(rng, size, depth - 1, box | {a: (lo, cut)})
    return below + _random_tree(rng, size, depth - 1, box | {a: (cut + 1, hi)})
