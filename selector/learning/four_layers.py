"""Learning of four-layer diagrams: branch and bound over two layers, enumeration of the rest."""

import heapq
import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray
from selector.learning.exact import (
    TIE,
    TIME_LIMIT_S,
    Builder,
    Condition,
    Learned,
    Table,
    best_below,
    conditions,
    halves_of,
    learn,
    sums,
    undominated,
)
from selector.learning.kernel import leaf_costs, split_costs

Top = tuple[int, int, int]  # conditions of the root and of the two nodes below it, -1 for none
Groups = tuple[int, ...]  # of each part: 0 for a leaf, 1 or 2 for a node of the third layer
MAX_SUMS = 50  # cached tables; each has 4 * conditions ** 2 * schedules entries of 8 bytes


def learn_deep(
    table: Table,
    alpha: float = 0.0,
    splits: Sequence[Condition] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> Learned:
    """Learn a diagram with one, two, two and two splits in its layers.

    The first two layers are branched on in the order of a lower bound. The bound is the cost of
    trees in which every part has two separate layers, at the cost of one split per layer. Then
    the parts are assigned to leaves and to two nodes, and the layers below these nodes are
    enumerated unless their bound prunes them. After a timeout ``lower`` may be below ``cost``.
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
    """Yield assignments of parts to leaves and nodes; by symmetry the first node is 1."""
    parts = 2 + (top[1] >= 0) + (top[2] >= 0)
    for groups in itertools.product((0, 1, 2), repeat=parts):
        nodes = [group for group in groups if group]
        if nodes and nodes[0] == 1:
            yield groups


def _parts(below: BoolArray, top: Top) -> list[BoolArray]:
    """Return the masks of rows at the end of the second layer, one per path."""
    parts: list[BoolArray] = []
    for side, split in zip((below[top[0]], ~below[top[0]]), top[1:], strict=True):
        parts += [side] if split < 0 else [side & below[split], side & ~below[split]]
    return parts


class _Side(NamedTuple):
    """The minimum costs of a side of a root, without a split and with each condition as split.

    Attributes
    ----------
    leaf : costs if its parts are leaves, float64 (1 + n_conditions,)
    split : costs if its parts are leaves or have one free split, float64 (1 + n_conditions,)
    """

    leaf: FloatArray
    split: FloatArray


class _Branching:
    """A branch-and-bound search over the first two layers.

    Attributes
    ----------
    best : cost of the incumbent; nodes whose bound reaches it are pruned
    least : lower bound of the cost of any diagram with a split
    """

    def __init__(
        self, cost: FloatArray, below: BoolArray, alpha: float, until: float, best: float
    ) -> None:
        self._cost, self._below, self._alpha, self._until = undominated(cost), below, alpha, until
        self._trees: dict[bytes, tuple[float, float]] = {}
        self._sums: dict[bytes, FloatArray] = {}
        self._ideal = float(cost.min(axis=1).sum())
        self.best = best
        self.least = self._ideal + alpha

    @property
    def late(self) -> bool:
        return time.perf_counter() > self._until

    def tops(self) -> Iterator[tuple[float, Top]]:
        """Yield first two layers with their bounds, the smallest bound first.

        After a timeout the last bound holds for all layers that are not yielded. A quick bound is
        improved once it is the smallest.
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
        """Return quick bounds for each pair of splits, float64 (n_conditions + 1,) * 2."""
        leaf, split = np.add.outer(low.leaf, high.leaf), np.add.outer(low.split, high.split)
        paid = np.add.outer(np.arange(low.leaf.size) > 0, np.arange(high.leaf.size) > 0, dtype=int)
        return np.asarray(self._alpha * paid + self._paid(leaf, split, self._ideal))

    def _improved(self, low: _Side, high: _Side, root: int, i: int, j: int) -> float:
        """Return the bound with two layers below each part, at the cost of two splits in total."""
        parts = _parts(self._below, (root, i - 1, j - 1))
        ends = sum(self._tree(rows)[1] for rows in parts)
        leaf, split = low.leaf[i] + high.leaf[j], low.split[i] + high.split[j]
        paid = float(self._paid(leaf, split, ends))
        return paid + self._alpha * ((i > 0) + (j > 0))

    def _paid(self, leaf: Any, split: Any, deep: float) -> Any:
        """Return the minimum with no split below, one in the third layer, or one in each layer."""
        alpha = self._alpha
        return alpha + np.minimum(leaf, np.minimum(alpha + split, 2 * alpha + deep))

    def _tree(self, rows: BoolArray) -> tuple[float, float]:
        """Return the minimum cost of rows with one and with two layers of free splits.

        The splits are free because other parts may pay for a shared node.
        """
        key = np.packbits(rows).tobytes()
        if key not in self._trees:
            self._trees[key] = least_of_trees(self._cost[rows], self._below[:, rows])
        return self._trees[key]

    def complete(self, top: Top, groups: Groups) -> tuple[float, IntArray | None]:
        """Return the total cost and the last two layers of the cheapest completion.

        They are inf and None if its bound shows that it cannot improve on the incumbent.
        """
        parts = _parts(self._below, top)
        cost = self._alpha * (1 + sum(split >= 0 for split in top[1:]))
        for rows, group in zip(parts, groups, strict=True):
            if group == 0:
                cost += float(self._cost[rows].sum(axis=0).min())
        sides = [joined(parts, groups, node) for node in (1, 2)]
        # A node without a split is a leaf, which other groupings cover.
        trees = [self._tree(rows) for node, rows in enumerate(sides, 1) if node in groups]
        split, deep = (sum(tree[k] for tree in trees) for k in (0, 1))
        least = cost + self._alpha * len(trees) + min(split, self._alpha + deep)
        if least >= self.best - TIE:
            return np.inf, None
        rest, layers = best_below(self._table(sides[0]), self._table(sides[1]), self._alpha)
        return cost + rest, layers

    def _table(self, rows: BoolArray) -> FloatArray:
        key = np.packbits(rows).tobytes()
        if key not in self._sums:
            if len(self._sums) > MAX_SUMS:
                self._sums.clear()
            self._sums[key] = sums(self._cost, self._below, rows)
        return self._sums[key]


def least_of_trees(cost: FloatArray, below: BoolArray) -> tuple[float, float]:
    """Return the minimum cost of rows with at most one layer of splits, and with at most two.

    The cost on the other side of a split is the total minus this side. So a quarter of the sums of
    :func:`selector.learning.exact.sums` is enough.
    """
    holds = below.astype(np.float64)
    n, whole = len(holds), cost.sum(axis=0)
    each = (holds.T[:, :, None] * cost[:, None, :]).reshape(len(cost), n * cost.shape[1])
    both = (holds @ each).reshape(n, n, cost.shape[1])  # rows where both conditions hold
    one = holds @ cost
    first, second = one[:, None] - both, one[None, :] - both  # exactly one of them holds
    neither = whole - one[:, None] - second
    # A condition does not divide its own halves, so these minima include leaves.
    low = (both.min(axis=2) + first.min(axis=2)).min(axis=1)
    high = (second.min(axis=2) + neither.min(axis=2)).min(axis=1)
    single = min(float((one.min(axis=1) + (whole - one).min(axis=1)).min()), float(whole.min()))
    return single, min(single, float((low + high).min()))


def joined(parts: list[BoolArray], groups: Groups, node: int) -> BoolArray:
    """Return the mask of rows that reach a node of the third layer, bool (n_rows,)."""
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
