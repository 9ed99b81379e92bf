"""Exact learning of decision diagrams from costs, by enumeration with bounds.

The diagrams have the shape of figure 1 of the paper: one, two and two splits in three layers, with
shared leaves and splits. The paper used the optimal decision diagrams of Florio et al.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray
from selector.diagram import Diagram, Leaf, Node, Schedule, Split, compact
from selector.learning.enumeration import Enumeration
from selector.learning.kernel import NO_PART, PAIR, SINGLE
from selector.schedule import complexity

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
    """A diagram with its cost and a lower bound.

    Attributes
    ----------
    cost : sum over rows plus alpha per split, in the unit of the table.
    lower : lower bound of the cost of all diagrams of this shape with these conditions.
    seconds : wall-clock seconds of learning.
    """

    diagram: Diagram
    cost: float
    lower: float
    seconds: float

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
    lower, roots = min(best, ideal), search.roots(place, began + time_limit_s)
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
    return Leaf(table.schedules[best], float(near.mean()) if len(cost) else 1.0)


def _cheapest_split(cost: FloatArray, below: BoolArray, rows: BoolArray) -> int:
    costs = [
        cost[rows & low].sum(axis=0).min() + cost[rows & ~low].sum(axis=0).min() for low in below
    ]
    return int(np.argmin(np.array(costs)))
