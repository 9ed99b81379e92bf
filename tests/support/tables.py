"""Tables of examples, and their best diagrams by hand."""

import itertools
import math

import numpy as np

from selector.diagram import Split
from selector.learning.exact import Table, conditions
from selector.schedule import alone

ALONE = tuple(alone(name) for name in ("milp", "cp", "maxsat"))


def random_table(rng, rows=30, columns=2):
    """Few rows, few values, three backends; costs with ties in one of two."""
    n = int(rng.integers(4, rows))
    values = rng.integers(0, 3, (n, columns)).astype(float)
    cost = np.round(rng.random((n, 3)) * 10, 3)
    if rng.random() < 0.5:
        cost = rng.integers(0, 3, (n, 3)).astype(float)
    return Table(("trees", "classes", "votes")[:columns], values, ALONE, cost)


def best_by_hand(table, alpha, layers=3):
    """Every diagram of the shape, one by one."""
    below = [table.values[:, f] <= cut for f, cut in conditions(table)]
    cost = table.cost

    def leaf(rows):
        return cost[rows].sum(axis=0).min()

    def ended(parts):
        """Cheapest ends of parts, with at most two splits, each for any of the parts."""
        best = math.inf
        options = (None, 0, 1) if layers == 3 else (None,)
        for groups in itertools.product(options, repeat=len(parts)):
            used = sorted({g for g in groups if g is not None})
            total = sum(leaf(p) for p, g in zip(parts, groups, strict=True) if g is None)
            for group in used:
                rows = np.any([p for p, g in zip(parts, groups, strict=True) if g == group], axis=0)
                total += alpha + min(leaf(rows & b) + leaf(rows & ~b) for b in below)
            best = min(best, total)
        return best

    best = leaf(np.ones(len(cost), dtype=bool))
    for root in below:
        for low, high in itertools.product([None, *(below if layers > 1 else [])], repeat=2):
            parts = [root] if low is None else [root & low, root & ~low]
            parts += [~root] if high is None else [~root & high, ~root & ~high]
            splits = 1 + (low is not None) + (high is not None)
            best = min(best, alpha * splits + ended(parts))
    return best


def paid(diagram, table, alpha):
    """What a diagram costs on a table, its splits included."""
    place = {schedule: k for k, schedule in enumerate(table.schedules)}
    rows = [dict(zip(table.features, row, strict=True)) for row in table.values.tolist()]
    cost = sum(
        table.cost[i, place[diagram.decide(row).leaf.schedule]] for i, row in enumerate(rows)
    )
    return cost + alpha * sum(isinstance(node, Split) for node in diagram.nodes)
