"""Learn a decision diagram from what backends cost: exactly, by enumeration with bounds."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray
from selector.diagram import Diagram, Leaf, Node, Schedule, Split, compact
from selector.learn_kernel import PAIR, SINGLE, best_layers, leaf_costs, pair_costs, split_costs

MOST_THRESHOLDS = 12  # per descriptor, at quantiles between its values
TIME_LIMIT_S = 600.0
TIE = 1e-9
NEAR = 1.25


@dataclass(frozen=True, eq=False)
class Table:
    """What to learn from.

    Attributes
    ----------
    features : names, one per column of ``values``
    values : float64 (n_rows, n_features)
    schedules : what a leaf may hold, one per column of ``cost``
    cost : float64 (n_rows, n_schedules), finite and >= 0
    """

    features: tuple[str, ...]
    values: FloatArray
    schedules: tuple[Schedule, ...]
    cost: FloatArray


@dataclass(frozen=True)
class Learned:
    """A diagram and what is known of its optimality.

    Attributes
    ----------
    cost : sum over rows, plus alpha per split
    lower : no diagram of this shape on these conditions costs less
    """

    diagram: Diagram
    cost: float
    lower: float
    seconds: float

    @property
    def proved(self) -> bool:
        """Whether the diagram is optimal."""
        return self.cost <= self.lower * (1 + 1e-9) + 1e-9


Condition = tuple[int, float]


def conditions(table: Table, most: int = MOST_THRESHOLDS) -> list[Condition]:
    """Splits to choose among: for each descriptor thresholds between values, at most ``most``.

    Thresholds are the lower one of two neighbouring values, so that ``<=`` is exact; conditions
    that divide the rows alike are kept once, the first descriptor's.
    """
    found: list[Condition] = []
    seen: set[bytes] = set()
    for column in range(table.values.shape[1]):
        values = table.values[:, column]
        cuts = np.unique(values)[:-1]
        if cuts.size > most:
            ranks = np.quantile(values, np.linspace(0, 1, most + 2)[1:-1], method="lower")
            cuts = np.intersect1d(ranks, cuts)
        for cut in cuts.tolist():
            below = values <= cut
            key = np.packbits(below if below[0] else ~below).tobytes()
            if key not in seen:
                seen.add(key)
                found.append((column, cut))
    return found


def learn(
    table: Table,
    alpha: float = 0.0,
    splits: Sequence[Condition] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
    manifest: Mapping[str, object] | None = None,
) -> Learned:
    """The cheapest diagram with one, two and two splits in its layers and shared leaves.

    Roots are tried in the order of their bounds until none can be better; below each, all pairs
    of second-layer splits and all ways to share third-layer splits are enumerated. Ties go to
    what is tried first, so equal tables give equal diagrams.

    Parameters
    ----------
    alpha : cost of each split
    time_limit_s : then the best so far is returned, with the bound that is proved
    """
    began = time.perf_counter()
    chosen = list(conditions(table) if splits is None else splits)
    below = np.array([table.values[:, f] <= cut for f, cut in chosen]).reshape(len(chosen), -1)
    best, plan = float(table.cost.sum(axis=0).min()), None
    ideal = float(table.cost.min(axis=1).sum()) + alpha  # with a split, at least this
    search = _Enumeration(table.cost, below, alpha)
    lower = min(best, ideal)
    for bound, root in search.roots(began + time_limit_s):
        lower = min(best, max(lower, bound))
        if bound >= best - TIE or time.perf_counter() - began > time_limit_s:
            break
        cost, layers = search.under(root)
        if cost < best - TIE:
            best, plan = cost, (root, layers)
    else:
        lower = best if search.complete else min(best, lower)
    nodes = _nodes(table, chosen, below, plan)
    return Learned(
        diagram=Diagram(compact(nodes), dict(manifest or {})),
        cost=best,
        lower=lower,
        seconds=time.perf_counter() - began,
    )


class _Enumeration:
    """Roots by their bounds, and what is best below one."""

    def __init__(self, cost: FloatArray, below: BoolArray, alpha: float) -> None:
        self._cost, self._below, self._alpha = cost, below, alpha
        self._whole = _sums(cost, below, np.ones(len(cost), dtype=bool))
        self.complete = True

    def roots(self, until: float) -> list[tuple[float, int]]:
        """(bound, condition), the least first.

        A third-layer split of its own for every part, free of charge, is as good as any sharing.
        """
        found = []
        for root in range(len(self._below)):
            if time.perf_counter() > until:
                self.complete = False
                break
            bound = self._alpha + sum(self._side_bound(side) for side in self._sides(root))
            found.append((bound, root))
        return sorted(found)

    def under(self, root: int) -> tuple[float, IntArray]:
        """The cheapest diagram with this root: its cost, and its layers as in ``best_layers``."""
        low, high = self._sides(root)
        found, layers = best_layers(
            leaf_costs(low),
            leaf_costs(high),
            split_costs(low)[0],
            split_costs(high)[0],
            pair_costs(low, high)[0],
            self._alpha,
        )
        return found + self._alpha, layers

    def _sides(self, root: int) -> tuple[FloatArray, FloatArray]:
        low = _sums(self._cost, self._below, self._below[root])
        return low, np.maximum(self._whole - low, 0.0)

    def _side_bound(self, table: FloatArray) -> float:
        single = split_costs(table)[0]  # a split into twice the same class is a leaf
        halves = single[1:].reshape(-1, 2).sum(axis=1)
        return min(float(single[0]), float(halves.min()) + self._alpha)


def _sums(cost: FloatArray, below: BoolArray, side: BoolArray) -> FloatArray:
    """Cost of each backend on each set (the side, and its halves by each condition), divided by
    each condition: float64 (1 + 2 n, n, 2, n_backends)."""
    n, held, mine = len(below), below[:, side].astype(np.float64), cost[side]
    halves = np.stack([held, 1 - held], axis=1).reshape(2 * n, -1)
    sets = np.vstack([np.ones((1, halves.shape[1])), halves])
    parts = [sets @ (halves * mine[:, k]).T for k in range(mine.shape[1])]
    return np.ascontiguousarray(np.stack(parts, axis=-1).reshape(2 * n + 1, n, 2, -1))


def _nodes(
    table: Table,
    chosen: Sequence[Condition],
    below: BoolArray,
    plan: tuple[int, IntArray] | None,
) -> list[Node]:
    """The diagram as a list of nodes; equal ones are merged later."""
    nodes: list[Node] = []
    every = np.ones(len(table.cost), dtype=bool)
    if plan is None:
        return [_leaf(table, every)]
    root, layers = plan
    sides = (below[root], ~below[root])

    def members(side: int, part: int) -> BoolArray:
        rows: BoolArray = sides[side]
        chosen_set = int(layers[side, part, 0])
        if chosen_set > 0:
            low = below[(chosen_set - 1) // 2]
            rows = rows & (low if chosen_set % 2 else ~low)
        return rows

    def place(node: Node) -> int:
        nodes.append(node)
        return len(nodes) - 1

    def split(rows: BoolArray) -> int:
        by = _cheapest_split(table.cost, below, rows)
        low, high = (place(_leaf(table, rows & half)) for half in (below[by], ~below[by]))
        return place(_split(table, chosen[by], low, high))

    def end(side: int, part: int) -> int:
        becomes = int(layers[side, part, 1])
        rows = members(side, part)
        if becomes >= PAIR:
            return split(rows | members(1 - side, becomes - PAIR))
        return split(rows) if becomes == SINGLE else place(_leaf(table, rows))

    tops = []
    for side in (0, 1):
        if layers[side, 1, 0] < 0:
            tops.append(end(side, 0))
        else:
            condition = chosen[(int(layers[side, 0, 0]) - 1) // 2]
            tops.append(place(_split(table, condition, end(side, 0), end(side, 1))))
    place(_split(table, chosen[root], *tops))
    return _root_first(nodes)


def _root_first(nodes: list[Node]) -> list[Node]:
    """Built from the leaves up; turned round, so that edges lead on."""
    last = len(nodes) - 1
    return [
        Split(n.feature, n.threshold, last - n.low, last - n.high) if isinstance(n, Split) else n
        for n in reversed(nodes)
    ]


def _split(table: Table, condition: Condition, low: int, high: int) -> Split:
    return Split(table.features[condition[0]], condition[1], low, high)


def _leaf(table: Table, rows: BoolArray) -> Leaf:
    cost = table.cost[rows]
    best = int(cost.sum(axis=0).argmin())
    mine = cost[:, [best]]
    near = mine[:, 0] <= NEAR * cost.min(axis=1) + TIE
    single = [len(schedule) == 1 for schedule in table.schedules]
    beside = np.where(single, np.minimum(cost, mine).sum(axis=0), np.inf)
    other = table.schedules[int(beside.argmin())][0][0]
    schedule = table.schedules[best]
    saves = beside.min() < mine.sum() - TIE and other != schedule[-1][0]
    return Leaf(schedule, float(near.mean()) if len(cost) else 1.0, other if saves else "")


def _cheapest_split(cost: FloatArray, below: BoolArray, rows: BoolArray) -> int:
    costs = [
        cost[rows & low].sum(axis=0).min() + cost[rows & ~low].sum(axis=0).min() for low in below
    ]
    return int(np.argmin(np.array(costs)))
