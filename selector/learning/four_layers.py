"""Four layers: branch and bound over the first two, enumeration of the last two."""

import heapq
import itertools
import time
from collections.abc import Iterator, Sequence

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray
from selector.learning.enumeration import best_below, sums
from selector.learning.exact import (
    TIE,
    TIME_LIMIT_S,
    Builder,
    Condition,
    Learned,
    Table,
    conditions,
    learn,
)
from selector.learning.kernel import split_costs

Top = tuple[int, int, int]  # condition of the root and of both nodes below it, -1 for none
Sides = list[tuple[float, int]]  # (bound, condition of a node or -1 for none), the least first
Groups = tuple[int, ...]  # for each part: 0 a leaf, 1 or 2 a node of the third layer
MAX_SUMS = 50  # tables kept; each has 4 * conditions ** 2 * schedules entries of 8 bytes


def learn_deep(
    table: Table,
    alpha: float = 0.0,
    splits: Sequence[Condition] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> Learned:
    """The cheapest diagram found with one, two, two and two splits in its layers.

    The first two layers are branched on, in the order of a bound: that of trees, in which every
    part below them has two layers of its own. The parts are then shared out to leaves and two
    nodes, and what is below these is enumerated. Where time runs out, ``lower`` tells the gap.

    Parameters
    ----------
    table : is not changed; threads may learn from one table at once
    alpha, splits, time_limit_s : as in :func:`selector.learning.exact.learn`
    """
    began = time.perf_counter()
    chosen = list(conditions(table) if splits is None else splits)
    flat = learn(table, alpha, chosen, time_limit_s / 2)
    if not chosen:
        return flat
    below = np.array([table.values[:, f] <= cut for f, cut in chosen]).reshape(len(chosen), -1)
    search = _Branching(table.cost, below, alpha, began + time_limit_s)
    best, plan, lower = flat.cost, None, min(flat.cost, search.least)
    for bound, top in search.tops():
        lower = min(best, bound)
        if bound >= best - TIE or search.late:
            break
        for groups in _groupings(top):
            cost, layers = search.complete(top, groups)
            if cost < best - TIE:
                best, plan = cost, (top, groups, layers)
    else:
        lower = best
    diagram = flat.diagram
    if plan is not None:
        builder = Builder(table, chosen, below)
        _build(builder, below, *plan)
        diagram = builder.diagram()
    return Learned(diagram, best, lower, time.perf_counter() - began)


def _groupings(top: Top) -> Iterator[Groups]:
    """Ways to share parts out; two nodes are alike, so the first one named is 1."""
    parts = 2 + (top[1] >= 0) + (top[2] >= 0)
    for groups in itertools.product((0, 1, 2), repeat=parts):
        nodes = [group for group in groups if group]
        if nodes and nodes[0] == 1:
            yield groups


def _parts(below: BoolArray, top: Top) -> list[BoolArray]:
    """Rows that reach the end of the second layer, by the way they came."""
    found: list[BoolArray] = []
    for side, split in zip((below[top[0]], ~below[top[0]]), top[1:], strict=True):
        found += [side] if split < 0 else [side & below[split], side & ~below[split]]
    return found


class _Branching:
    """Bounds of the first two layers, and what is best below them."""

    def __init__(self, cost: FloatArray, below: BoolArray, alpha: float, until: float) -> None:
        self._cost, self._below, self._alpha, self._until = cost, below, alpha, until
        self._trees: dict[bytes, float] = {}
        self._sums: dict[bytes, FloatArray] = {}
        # With a split at all, at least this.
        self.least = float(cost.min(axis=1).sum()) + alpha

    @property
    def late(self) -> bool:
        return time.perf_counter() > self._until

    def tops(self) -> Iterator[tuple[float, Top]]:
        """First two layers with their bounds, the least first; what time did not allow to bound
        properly comes with the bound that holds for all."""
        heap: list[tuple[float, Top, Sides, Sides]] = []
        for root in range(len(self._below)):
            low, high = (self._side(side) for side in (self._below[root], ~self._below[root]))
            if self.late:
                yield self.least, (root, -1, -1)
                return
            heapq.heappush(heap, self._entry(root, 0, 0, low, high))
        while heap:
            bound, top, low, high = heapq.heappop(heap)
            yield bound, top
            i = [split for _, split in low].index(top[1])
            j = [split for _, split in high].index(top[2])
            if j + 1 < len(high):
                heapq.heappush(heap, self._entry(top[0], i, j + 1, low, high))
            if j == 0 and i + 1 < len(low):
                heapq.heappush(heap, self._entry(top[0], i + 1, 0, low, high))

    def _entry(
        self, root: int, i: int, j: int, low: Sides, high: Sides
    ) -> tuple[float, Top, Sides, Sides]:
        return self._alpha + low[i][0] + high[j][0], (root, low[i][1], high[j][1]), low, high

    def _side(self, side: BoolArray) -> Sides:
        """(bound, condition or -1 for none), the least first."""
        found = [(self._tree(side), -1)]
        for split, low in enumerate(self._below):
            if self.late:
                break
            parts = self._tree(side & low) + self._tree(side & ~low)
            found.append((self._alpha + parts, split))
        return sorted(found)

    def _tree(self, rows: BoolArray) -> float:
        """The least cost of rows with two layers of splits of their own, free of charge: others
        may pay for a node that is shared."""
        key = np.packbits(rows).tobytes()
        if key not in self._trees:
            single = split_costs(sums(self._cost, self._below, rows))
            halves = single[1:].reshape(-1, 2).sum(axis=1)
            self._trees[key] = min(float(single[0]), float(halves.min()))
        return self._trees[key]

    def complete(self, top: Top, groups: Groups) -> tuple[float, IntArray]:
        """The cheapest end of a diagram: its whole cost, and its last two layers."""
        parts = _parts(self._below, top)
        cost = self._alpha * (1 + sum(split >= 0 for split in top[1:]))
        for rows, group in zip(parts, groups, strict=True):
            if group == 0:
                cost += float(self._cost[rows].sum(axis=0).min())
        low, high = (self._table(joined(parts, groups, node)) for node in (1, 2))
        found, layers = best_below(low, high, self._alpha)
        return cost + found, layers

    def _table(self, rows: BoolArray) -> FloatArray:
        key = np.packbits(rows).tobytes()
        if key not in self._sums:
            if len(self._sums) > MAX_SUMS:
                self._sums.clear()
            self._sums[key] = sums(self._cost, self._below, rows)
        return self._sums[key]


def joined(parts: list[BoolArray], groups: Groups, node: int) -> BoolArray:
    """Rows that reach a node of the third layer, bool (n_rows,).

    Parameters
    ----------
    parts : rows that reach the end of the second layer, by the way they came, bool (n_rows,) each
    groups : what each part becomes
    node : 1 or 2
    """
    rows = np.zeros(parts[0].size, dtype=bool)
    for part, group in zip(parts, groups, strict=True):
        if group == node:
            rows |= part
    return rows


def _build(builder: Builder, below: BoolArray, top: Top, groups: Groups, layers: IntArray) -> None:
    parts = _parts(below, top)
    nodes = builder.sides((joined(parts, groups, 1), joined(parts, groups, 2)), layers)
    ends = [
        builder.leaf(rows) if group == 0 else nodes[group - 1]
        for rows, group in zip(parts, groups, strict=True)
    ]
    tops = []
    for split in top[1:]:
        if split < 0:
            tops.append(ends.pop(0))
        else:
            tops.append(builder.split_by(split, ends.pop(0), ends.pop(0)))
    builder.split_by(top[0], *tops)
