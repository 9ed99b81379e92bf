"""Enumeration of all diagrams below a root split, from the costs of sets of rows."""

import time

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray
from selector.learning.kernel import best_layers, leaf_costs, pair_costs, split_costs

Ends = list[tuple[float, float]]  # for a side that is not split, and for one that is split


class Enumeration:
    """An enumeration of root splits with bounds and optimal diagrams, for several split costs.

    Most of the work does not depend on the cost of a split and is done once. Not thread safe.
    """

    def __init__(
        self, cost: FloatArray, below: BoolArray, alphas: tuple[float, ...], layers: int
    ) -> None:
        self.alphas = alphas
        self._cost, self._below, self._layers = undominated(cost), below, layers
        self._whole = sums(self._cost, below, np.ones(len(cost), dtype=bool))
        self._bounds: list[list[float]] = []  # of the first roots, one for each cost
        self._optima: dict[int, list[tuple[float, IntArray]]] = {}

    def roots(self, place: int, until: float) -> list[tuple[float, int]]:
        """Return (bound, condition) of the roots, the smallest bound first; not all at a timeout.

        The bound gives every part its own third-layer split at the cost of one, which costs at most
        as much as any sharing.
        """
        while len(self._bounds) < len(self._below) and time.perf_counter() <= until:
            low, high = map(_least_of_a_side, self._sides(len(self._bounds)))
            self._bounds.append([_least_below(low, high, alpha) + alpha for alpha in self.alphas])
        return sorted((bounds[place], root) for root, bounds in enumerate(self._bounds))

    def under(self, root: int, place: int) -> tuple[float, IntArray]:
        """Return cost and layers (as in ``best_layers``) of the cheapest diagram with a root."""
        if root not in self._optima:
            parts = _parts_below(*self._sides(root), self._layers - 1, min(self.alphas))
            each = [(best_layers(*parts, alpha), alpha) for alpha in self.alphas]
            self._optima[root] = [(cost + alpha, layers) for (cost, layers), alpha in each]
        return self._optima[root][place]

    def _sides(self, root: int) -> tuple[FloatArray, FloatArray]:
        low = sums(self._cost, self._below, self._below[root])
        return low, np.maximum(self._whole - low, 0.0)


def undominated(cost: FloatArray) -> FloatArray:
    """Return the columns that no other column dominates; only these can have the smallest sum."""
    remaining = list(range(cost.shape[1]))
    for column in range(cost.shape[1]):
        if any((cost[:, k] <= cost[:, column]).all() for k in remaining if k != column):
            remaining.remove(column)
    return np.ascontiguousarray(cost[:, remaining])


def _least_of_a_side(table: FloatArray) -> Ends:
    """Return the minimum cost of a side that is not split, and of one that is split.

    Each is a pair: with leaves only, and with leaves or free third-layer splits.
    """
    leaf, single = leaf_costs(table), split_costs(table)
    best = np.minimum(leaf, single)
    return [
        (float(leaf[0]), float(best[0])),
        (float(halves_of(leaf).min()), float(halves_of(best).min())),
    ]


def halves_of(costs: FloatArray) -> FloatArray:
    """Return the total cost of both halves of each condition, float64 (n,)."""
    return np.asarray(costs[1:].reshape(-1, 2).sum(axis=1))


def _least_below(low: Ends, high: Ends, alpha: float) -> float:
    """Return a lower bound of the cost below a root.

    It is the minimum without splits in the third layer, or with one that is paid for.
    """
    return min(
        alpha * (a + b) + min(low[a][0] + high[b][0], alpha + low[a][1] + high[b][1])
        for a in (0, 1)
        for b in (0, 1)
    )


def best_below(
    low: FloatArray, high: FloatArray, alpha: float, layers: int = 2
) -> tuple[float, IntArray]:
    """Return cost and plan of up to two layers of at most two splits, below two sets of rows."""
    cost, plan = best_layers(*_parts_below(low, high, layers, alpha), alpha)
    return cost, plan


def _parts_below(
    low: FloatArray, high: FloatArray, layers: int, least: float
) -> tuple[FloatArray, ...]:
    """Return the arguments of ``best_layers`` for any cost of a split of at least ``least``."""
    leaves = [leaf_costs(low), leaf_costs(high)]
    if layers == 2:
        single = [split_costs(low), split_costs(high)]
        room = [leaf - split for leaf, split in zip(leaves, single, strict=True)]
        shared = pair_costs(low, high, *room, least)
    else:
        # Without layers, pass only the whole sides, so that nothing is split.
        leaves = [costs if layers else costs[:1] for costs in leaves]
        single = [np.full(costs.size, np.inf) for costs in leaves]
        shared = np.full((leaves[0].size, leaves[1].size), np.inf)
    return (*leaves, *single, shared)


def sums(cost: FloatArray, below: BoolArray, side: BoolArray) -> FloatArray:
    """Return the cost of each schedule on each set, on both sides of each condition.

    The sets are the side and its halves by each condition: float64 (2 n + 1, n, 2, n_schedules).
    """
    n, holds, cost = len(below), below[:, side].astype(np.float64), cost[side]
    halves = np.stack([holds, 1 - holds], axis=1).reshape(2 * n, -1)
    sets = np.vstack([np.ones((1, halves.shape[1])), halves])
    parts = [sets @ (halves * cost[:, k]).T for k in range(cost.shape[1])]
    return np.ascontiguousarray(np.stack(parts, axis=-1).reshape(2 * n + 1, n, 2, -1))
