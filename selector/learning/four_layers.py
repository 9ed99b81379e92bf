"""Four layers: branch and bound over the first two, enumeration of the last two."""

import heapq
import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray
from selector.learning.enumeration import best_below, halves_of, sums, undominated
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
from selector.learning.kernel import leaf_costs, split_costs

Top = tuple[int, int, int]  # condition of the root and of both nodes below it, -1 for none
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
    part below them has two layers of its own, for the price of one split in each. The parts are
    then shared out to leaves and two nodes, and what is below these is enumerated unless it is
    bound to be too dear. Where time runs out, ``lower`` tells the gap.
    """
    began = time.perf_counter()
    chosen = list(conditions(table) if splits is None else splits)
    flat = learn(table, alpha, chosen, time_limit_s / 2)
    if not chosen:
        return flat
    below = np.array([table.values[:, f] <= cut for f, cut in chosen]).reshape(len(chosen), -1)
    search = _Branching(table.cost, below, alpha, began + time_limit_s, flat.cost)
    plan, lower = None, min(flat.cost, search.least)
    for bound, top in search.tops():
        lower = min(search.best, bound)
        if bound >= search.best - TIE or search.late:
            break
        for groups in _groupings(top):
            cost, layers = search.complete(top, groups)
            if layers is not None and cost < search.best - TIE:
                search.best, plan = cost, (top, groups, layers)
    else:
        lower = search.best
    best = search.best
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


class _Side(NamedTuple):
    """The least that a side of a root costs, left whole and then split by each condition, float64
    (1 + n_conditions,) each.

    Attributes
    ----------
    leaf : its parts being leaves
    split : its parts being leaves, or split once, free of charge
    """

    leaf: FloatArray
    split: FloatArray


class _Branching:
    """Bounds of the first two layers, and what is best below them.

    Attributes
    ----------
    best : cost of the cheapest diagram known; what is bound to cost as much is not looked into
    """

    def __init__(
        self, cost: FloatArray, below: BoolArray, alpha: float, until: float, best: float
    ) -> None:
        self._cost, self._below, self._alpha, self._until = undominated(cost), below, alpha, until
        self._trees: dict[bytes, tuple[float, float]] = {}
        self._sums: dict[bytes, FloatArray] = {}
        self._ideal = float(cost.min(axis=1).sum())
        self.best = best
        # With a split at all, at least this.
        self.least = self._ideal + alpha

    @property
    def late(self) -> bool:
        return time.perf_counter() > self._until

    def tops(self) -> Iterator[tuple[float, Top]]:
        """First two layers with their bounds, the least first; the last one's holds for all that
        do not come.

        A bound that takes no time is improved once it is the least.
        """
        ways = len(self._below) + 1
        sides: list[tuple[_Side, _Side]] = []
        order: list[tuple[FloatArray, IntArray]] = []
        heap: list[tuple[float, bool, int, int]] = []  # bound, improved, root, place in its order
        for root in range(len(self._below)):
            sides.append((self._side(self._below[root]), self._side(~self._below[root])))
            if self.late:
                yield self.least, (root, -1, -1)
                return
            bounds = self._quick(*sides[root]).ravel()
            by_bound = np.argsort(bounds, kind="stable")
            order.append((bounds[by_bound], by_bound))
            heap.append((float(bounds[by_bound[0]]), False, root, 0))
        heapq.heapify(heap)
        while heap:
            bound, improved, root, place = heapq.heappop(heap)
            bounds, by_bound = order[root]
            low, high = divmod(int(by_bound[place]), ways)
            if improved or bound >= self.best - TIE or self.late:
                yield bound, (root, low - 1, high - 1)
                continue
            if place + 1 < bounds.size:
                heapq.heappush(heap, (float(bounds[place + 1]), False, root, place + 1))
            better = max(bound, self._improved(*sides[root], root, low, high))
            heapq.heappush(heap, (better, True, root, place))

    def _side(self, rows: BoolArray) -> _Side:
        table = sums(self._cost, self._below, rows)
        leaf = leaf_costs(table)
        split = np.minimum(leaf, split_costs(table))
        return _Side(*(np.append(each[:1], halves_of(each)) for each in (leaf, split)))

    def _quick(self, low: _Side, high: _Side) -> FloatArray:
        """Bounds for all splits of both sides, float64 (1 + n_conditions, 1 + n_conditions)."""
        leaf, split = np.add.outer(low.leaf, high.leaf), np.add.outer(low.split, high.split)
        paid = np.add.outer(np.arange(low.leaf.size) > 0, np.arange(high.leaf.size) > 0, dtype=int)
        return np.asarray(self._alpha * paid + self._paid(leaf, split, self._ideal))

    def _improved(self, low: _Side, high: _Side, root: int, i: int, j: int) -> float:
        """With two layers of its own below each part, the last two of them for the price of two
        splits."""
        parts = _parts(self._below, (root, i - 1, j - 1))
        ends = sum(self._tree(rows)[1] for rows in parts)
        leaf, split = low.leaf[i] + high.leaf[j], low.split[i] + high.split[j]
        paid = float(self._paid(leaf, split, ends))
        return paid + self._alpha * ((i > 0) + (j > 0))

    def _paid(self, leaf: Any, split: Any, deep: float) -> Any:
        """The least with a root, and then no split of the last two layers, one of the third, or
        one of each at least."""
        alpha = self._alpha
        return alpha + np.minimum(leaf, np.minimum(alpha + split, 2 * alpha + deep))

    def _tree(self, rows: BoolArray) -> tuple[float, float]:
        """The least cost of rows with one layer of splits of their own, and with two, free of
        charge: others may pay for a node that is shared."""
        key = np.packbits(rows).tobytes()
        if key not in self._trees:
            self._trees[key] = least_of_trees(self._cost[rows], self._below[:, rows])
        return self._trees[key]

    def complete(self, top: Top, groups: Groups) -> tuple[float, IntArray | None]:
        """The cheapest end of a diagram: its whole cost, and its last two layers; inf and None
        where it can't be cheaper than the best one."""
        parts = _parts(self._below, top)
        cost = self._alpha * (1 + sum(split >= 0 for split in top[1:]))
        for rows, group in zip(parts, groups, strict=True):
            if group == 0:
                cost += float(self._cost[rows].sum(axis=0).min())
        sides = [joined(parts, groups, node) for node in (1, 2)]
        # A node that is not split is leaves, which other groupings have.
        trees = [self._tree(rows) for node, rows in enumerate(sides, 1) if node in groups]
        split, deep = (sum(tree[k] for tree in trees) for k in (0, 1))
        least = cost + self._alpha * len(trees) + min(split, self._alpha + deep)
        if least >= self.best - TIE:
            return np.inf, None
        found, layers = best_below(self._table(sides[0]), self._table(sides[1]), self._alpha)
        return cost + found, layers

    def _table(self, rows: BoolArray) -> FloatArray:
        key = np.packbits(rows).tobytes()
        if key not in self._sums:
            if len(self._sums) > MAX_SUMS:
                self._sums.clear()
            self._sums[key] = sums(self._cost, self._below, rows)
        return self._sums[key]


def least_of_trees(cost: FloatArray, below: BoolArray) -> tuple[float, float]:
    """The least cost of rows with at most one layer of splits, and with at most two.

    What is on the other side of a split is what is left of the whole, so that a quarter of what
    :func:`selector.learning.enumeration.sums` adds up is enough.
    """
    holds = below.astype(np.float64)
    n, whole = len(holds), cost.sum(axis=0)
    each = (holds.T[:, :, None] * cost[:, None, :]).reshape(len(cost), n * cost.shape[1])
    both = (holds @ each).reshape(n, n, cost.shape[1])  # where two conditions hold
    one = holds @ cost
    first, second = one[:, None] - both, one[None, :] - both  # only the first, only the second
    neither = whole - one[:, None] - second
    # A condition is no split of its own halves, so that leaves are among these.
    held = (both.min(axis=2) + first.min(axis=2)).min(axis=1)
    failed = (second.min(axis=2) + neither.min(axis=2)).min(axis=1)
    single = min(float((one.min(axis=1) + (whole - one).min(axis=1)).min()), float(whole.min()))
    return single, min(single, float((held + failed).min()))


def joined(parts: list[BoolArray], groups: Groups, node: int) -> BoolArray:
    """Rows that reach a node of the third layer, bool (n_rows,)."""
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
