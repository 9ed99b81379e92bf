"""The ``ocean`` formulation's rows: flows into the children of every node."""

import numpy as np

from encoders.arrays import owners
from encoders.backends.milp.rows import Rows
from encoders.backends.milp.split_nodes import Nodes
from encoders.backends.order_encoding import OrderEncoding


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
