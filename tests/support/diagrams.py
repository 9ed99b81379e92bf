"""Diagrams at random."""

import math

from selector.diagram import Leaf, Split
from selector.schedule import alone

LEAVES = (
    *(Leaf(alone(name)) for name in ("search", "cp", "milp", "maxsat")),
    Leaf(((("search",), 0.1), (("search", "milp"), math.inf))),
)
FEATURES = ("norm", "votes", "left_options", "thresholds_max", "solver_only", "left_slack")


def random_nodes(rng, splits=5):
    """Splits whose sides lead to any later node; every node is reached."""
    leaves = int(rng.integers(2, min(len(LEAVES), splits + 1) + 1))
    count = splits + leaves
    targets = {}
    for node in range(1, count):
        free = [
            (split, side)
            for split in range(min(node, splits))
            for side in (0, 1)
            if (split, side) not in targets
        ]
        targets[free[int(rng.integers(len(free)))]] = node
    nodes = []
    for split in range(splits):
        low, high = (targets.get((split, s), int(rng.integers(split + 1, count))) for s in (0, 1))
        feature = FEATURES[int(rng.integers(len(FEATURES)))]
        nodes.append(Split(feature, round(float(rng.normal()) * 100, 3), low, high))
    order = rng.permutation(len(LEAVES))[:leaves]
    return [*nodes, *(LEAVES[k] for k in order)]
