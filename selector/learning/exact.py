"""Exact learning of decision diagrams from costs, by enumeration with bounds.

The diagrams have the shape of figure 1 of the paper: one, two and two splits in three layers, with
shared leaves and splits. The paper used the optimal decision diagrams of Florio et al.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray
from selector.diagram import Diagram, Leaf, Node, Schedule, Split, compact
from selector.learning.kernel import (
    NO_PART,
    PAIR,
    SINGLE,
    best_layers,
    leaf_costs,
    pair_costs,
    set_sums,
    split_costs,
)
from selector.schedule import complexity

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
        low = self._below[root]
        return sums(self._cost, self._below, low), sums(self._cost, self._below, ~low)


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

    The sets are the side and its halves by each condition: float64 (2 n + 1, n_schedules, 2, n).
    Thresholds of one descriptor form a chain, so rows are counted into bins instead of being tested
    with every pair of conditions.
    """
    follows = [not (first & ~second).any() for first, second in pairwise(below)]
    start = np.flatnonzero([True, *(not each for each in follows), True])
    bins = np.array([(~below[a:b]).sum(axis=0) for a, b in pairwise(start.tolist())])
    rows = np.flatnonzero(side)
    return np.asarray(set_sums(bins, start, np.ascontiguousarray(cost), rows))


MAX_THRESHOLDS = 12  # per descriptor, at quantiles of its values
TIME_LIMIT_S = 600.0  # per diagram, as in the paper's appendix
TIE = 1e-9  # costs that differ by less are equal
NEAR = 1.25  # multiple of a row's smallest cost that still counts as good, see Leaf.purity


@dataclass(frozen=True, eq=False)
class Table:
    """Training data: descriptors of rows and the cost of each schedule on them.

    Attributes
    ----------
    features : names, one per column of ``values``.
    values : finite descriptors, float64 (n_rows, n_features).
    schedules : candidates for leaves, one per column of ``cost``; ties go to the smallest
        :func:`selector.schedule.complexity`, then to the last.
    cost : finite costs >= 0 in any unit (seconds or errors), float64 (n_rows, n_schedules).
    """

    features: tuple[str, ...]
    values: FloatArray
    schedules: tuple[Schedule, ...]
    cost: FloatArray


@dataclass(frozen=True)
class Learned:
    """A diagram with its cost and a lower bound."""

    diagram: Diagram
    cost: float  # sum over rows plus alpha per split, in the unit of the table
    lower: float  # lower bound of the cost of all diagrams of this shape with these conditions
    seconds: float  # wall-clock seconds of learning

    @property
    def proved(self) -> bool:
        """Return whether the diagram is optimal."""
        return self.cost <= self.lower * (1 + 1e-9) + 1e-9


Condition = tuple[int, float]  # column of a table, and threshold


def conditions(
    table: Table, max_thresholds: int = MAX_THRESHOLDS, without: Collection[str] = ()
) -> list[Condition]:
    """Return the candidate splits.

    A threshold is the lower one of two neighbouring values, so that ``<=`` is exact. If several
    conditions divide the rows equally, only the first is returned.
    """
    candidates: list[Condition] = []
    seen: set[bytes] = set()
    for column in range(table.values.shape[1]):
        if table.features[column] in without:
            continue
        values = table.values[:, column]
        cuts = np.unique(values)[:-1]
        if cuts.size > max_thresholds:
            ranks = np.quantile(values, np.linspace(0, 1, max_thresholds + 2)[1:-1], method="lower")
            cuts = np.intersect1d(ranks, cuts)
        for cut in cuts.tolist():
            below = values <= cut
            key = np.packbits(below if below[0] else ~below).tobytes()
            if key not in seen:
                seen.add(key)
                candidates.append((column, cut))
    return candidates


def learn(
    table: Table,
    alpha: float = 0.0,
    splits: Sequence[Condition] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
    layers: int = 3,
) -> Learned:
    """Learn the cheapest diagram with one, two and two splits in its layers and shared leaves.

    Roots are tried in the order of their bounds until none can be better. Below each root, all
    pairs of second-layer splits and all ways to share third-layer splits are enumerated. Ties go to
    the first, so equal tables give equal diagrams.
    """
    return learn_each(table, (alpha,), splits, time_limit_s, layers)[0]


def learn_each(
    table: Table,
    alphas: Sequence[float],
    splits: Sequence[Condition] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
    layers: int = 3,
) -> list[Learned]:
    """Learn a diagram for each cost of a split, in little more time than for one."""
    chosen = list(conditions(table) if splits is None else splits)
    if not chosen:
        return [learned_leaf(table) for _ in alphas]
    below = np.array([table.values[:, f] <= cut for f, cut in chosen]).reshape(len(chosen), -1)
    search = Enumeration(table.cost, below, tuple(alphas), layers)
    return [
        _cheapest(table, chosen, below, search, place, time_limit_s) for place in range(len(alphas))
    ]


def _cheapest(
    table: Table,
    chosen: Sequence[Condition],
    below: BoolArray,
    search: Enumeration,
    place: int,
    time_limit_s: float,
) -> Learned:
    """Return the diagram for one cost of a split, given by its index."""
    began = time.perf_counter()
    best, plan = float(table.cost.sum(axis=0).min()), None
    ideal = float(table.cost.min(axis=1).sum()) + search.alphas[place]  # lower bound with a split
    lower = min(best, ideal)
    roots = search.roots(place, began + time_limit_s) if ideal < best else []
    for bound, root in roots:
        lower = min(best, max(lower, bound))
        if bound >= best - TIE or time.perf_counter() - began > time_limit_s:
            break
        cost, layers = search.under(root, place)
        if cost < best - TIE:
            best, plan = cost, (root, layers)
    else:
        lower = best if len(roots) == len(chosen) else min(best, lower)
    builder = Builder(table, chosen, below)
    every = np.ones(len(table.cost), dtype=bool)
    if plan is None:
        builder.leaf(every)
    else:
        root, layers = plan
        builder.split_by(root, *builder.sides((below[root], ~below[root]), layers))
    return Learned(builder.diagram(), best, lower, time.perf_counter() - began)


def learned_leaf(table: Table) -> Learned:
    """Return the diagram with a single leaf: the schedule that is cheapest on all rows."""
    cost = float(table.cost.sum(axis=0).min())
    return Learned(Diagram((_leaf(table, np.ones(len(table.cost), dtype=bool)),)), cost, cost, 0.0)


class Builder:
    """A builder of diagrams from the leaves up; not thread safe."""

    def __init__(self, table: Table, chosen: Sequence[Condition], below: BoolArray) -> None:
        self._table, self._chosen, self._below = table, chosen, below
        self._nodes: list[Node] = []

    def diagram(self) -> Diagram:
        """Return the diagram, with the last node as root and equal nodes merged."""
        last = len(self._nodes) - 1  # reversed, so that parents come first
        nodes = [
            Split(n.feature, n.threshold, last - n.low, last - n.high)
            if isinstance(n, Split)
            else n
            for n in reversed(self._nodes)
        ]
        return Diagram(compact(nodes))

    def leaf(self, rows: BoolArray) -> int:
        """Add a leaf with the cheapest schedule of some rows, and return its index."""
        return self._place(_leaf(self._table, rows))

    def split_by(self, condition: int, low: int, high: int) -> int:
        """Add a split, and return its index."""
        feature, cut = self._chosen[condition]
        return self._place(Split(self._table.features[feature], cut, low, high))

    def sides(self, sides: tuple[BoolArray, BoolArray], layers: IntArray) -> list[int]:
        """Build the planned layers below two sets of rows, and return the indices of their tops."""
        tops = []
        for side in (0, 1):
            ends = [
                self._end(sides, layers, side, part)
                for part in (0, 1)
                if layers[side, part, 0] != NO_PART
            ]
            if len(ends) == 1:
                tops += ends
            else:
                tops.append(self.split_by((int(layers[side, 0, 0]) - 1) // 2, *ends))
        return tops

    def _end(
        self, sides: tuple[BoolArray, BoolArray], layers: IntArray, side: int, part: int
    ) -> int:
        becomes = int(layers[side, part, 1])
        rows = self._members(sides, layers, side, part)
        if becomes >= PAIR:
            return self._split(rows | self._members(sides, layers, 1 - side, becomes - PAIR))
        return self._split(rows) if becomes == SINGLE else self.leaf(rows)

    def _members(
        self, sides: tuple[BoolArray, BoolArray], layers: IntArray, side: int, part: int
    ) -> BoolArray:
        chosen = int(layers[side, part, 0])
        if chosen == 0:
            return sides[side]
        low = self._below[(chosen - 1) // 2]
        return np.asarray(sides[side] & (low if chosen % 2 else ~low))

    def _split(self, rows: BoolArray) -> int:
        by = _cheapest_split(self._table.cost, self._below, rows)
        halves = (self._below[by], ~self._below[by])
        return self.split_by(by, *(self.leaf(rows & half) for half in halves))

    def _place(self, node: Node) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1


def _leaf(table: Table, rows: BoolArray) -> Leaf:
    cost = table.cost[rows]
    total = cost.sum(axis=0)
    ties = np.flatnonzero(total <= total.min() + TIE).tolist()
    best = min(ties, key=lambda column: (complexity(table.schedules[column]), -column))
    near = cost[:, best] <= NEAR * cost.min(axis=1) + TIE
    schedule = _in_order(table, table.schedules[best], total)
    return Leaf(schedule, float(near.mean()) if len(cost) else 1.0)


def _in_order(table: Table, schedule: Schedule, total: FloatArray) -> Schedule:
    """Order racing backends by their own cost, as one thread runs the first one only."""
    begun = {name for names, _ in schedule[:-1] for name in names}
    singles = {
        each[0][0][0]: total[column]
        for column, each in enumerate(table.schedules)
        if complexity(each) == (1, 1)
    }
    names, seconds = schedule[-1]
    order = sorted(names, key=lambda name: (name not in begun, singles.get(name, np.inf)))
    return (*schedule[:-1], (tuple(order), seconds))


def _cheapest_split(cost: FloatArray, below: BoolArray, rows: BoolArray) -> int:
    costs = [
        cost[rows & low].sum(axis=0).min() + cost[rows & ~low].sum(axis=0).min() for low in below
    ]
    return int(np.argmin(np.array(costs)))
