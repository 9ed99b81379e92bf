"""Random additive ensembles, whose trees split one or two columns each."""

from dataclasses import replace

import numpy as np

from encoders.core.arrays import frozen
from encoders.trees.ensemble import Ensemble

N_COLUMNS = 3
PAIRS = ((0, 0), (0, 1), (1, 2), (2, 0), (1, 1))


def grown(random, n_nodes):
    """Return the children of the nodes of a random tree, int64 (2, n_nodes), -1 at leaves."""
    children = np.full((2, n_nodes), -1)
    leaves, free = [0], list(range(1, n_nodes))
    while free:
        node = leaves.pop(int(random.integers(len(leaves))))
        children[:, node] = free.pop(), free.pop()
        leaves += children[:, node].tolist()
    return children


def random_additive(seed, with_gaps, n_nodes=9):
    """Return an ensemble of trees that split the columns of ``PAIRS``; many splits contradict."""
    random, columns, sides = np.random.default_rng(seed), [], []
    for tree, pair in enumerate(PAIRS):
        children = grown(random, n_nodes)
        inner = children[0] >= 0
        columns.append(np.where(inner, random.choice(pair, n_nodes), -1))
        sides.append(np.where(inner, children + tree * n_nodes, -1))
    column, (smaller, larger) = np.concatenate(columns), np.hstack(sides)
    last_left = np.where(column >= 0, random.integers(-1, 2, column.size), 0).astype(np.float64)
    root = np.arange(len(PAIRS)) * n_nodes
    ensemble = Ensemble(
        N_COLUMNS,
        *(frozen(part) for part in (root, column, last_left, smaller, larger)),
        frozen(random.integers(-9, 10, (column.size, 1)).astype(np.float64)),
        np.zeros(1),
        np.dtype(np.float64),
        1.0,
        True,
    )
    gaps = frozen(random.random(column.size) < 0.5) if with_gaps else None
    return replace(ensemble, default_left=gaps)
