"""The nodes of a diagram in rows, ordered so that few edges cross."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from types import MappingProxyType

import numpy as np

from encoders.arrays import FloatArray, IntArray
from selector.nodes import Leaf, Node, Split

EXACT = 6  # points; rows of at most so many are ordered exactly, in a second at most
SWEEPS = 8  # over all rows, where some have more points
CROSSING = 1000.0  # counts more than all sides that are turned round


@dataclass(frozen=True)
class Bend:
    """Where edges pass a row on their way to a node further down; they share it."""

    target: int


Point = int | Bend  # a node's place in its diagram, or a bend


@dataclass(frozen=True)
class Layers:
    """Rows of points, and the links between neighbouring rows.

    Attributes
    ----------
    rows : points from left to right; the root's row first, all leaves in the last
    links : for each pair of neighbouring rows (upper point, lower point)
    sides : for each of these pairs, by split, the lower points that its low and its high side
        lead to
    """

    rows: tuple[tuple[Point, ...], ...]
    links: tuple[tuple[tuple[Point, Point], ...], ...]
    sides: tuple[MappingProxyType[int, tuple[Point, Point]], ...]

    def crossings(self) -> int:
        """Pairs of links that cross."""
        total = 0
        for row, links in enumerate(self.links):
            above = {point: place for place, point in enumerate(self.rows[row])}
            below = {point: place for place, point in enumerate(self.rows[row + 1])}
            ends = [(above[a], below[b]) for a, b in links]
            total += sum(a < c and b > d for a, b in ends for c, d in ends)
        return total

    def turned(self) -> frozenset[int]:
        """Splits whose low side leads to the right of their high side."""
        found = set[int]()
        for row, sides in enumerate(self.sides):
            place = {point: place for place, point in enumerate(self.rows[row + 1])}
            found |= {index for index, (low, high) in sides.items() if place[low] > place[high]}
        return frozenset(found)


def layers_of(nodes: Sequence[Node]) -> Layers:
    """Rows by the longest way from the root, in the order with the least crossings.

    Of such orders one in which as many low sides as possible stand left of their high sides.
    The least is found for sure where no row has more than ``EXACT`` points.
    """
    layers = _layered(nodes)
    if max(len(row) for row in layers.rows) <= EXACT:
        return _exactly_ordered(layers)
    return _roughly_ordered(layers)


def _layered(nodes: Sequence[Node]) -> Layers:
    depth = [0] * len(nodes)
    for index, node in enumerate(nodes):
        if isinstance(node, Split):
            for target in (node.low, node.high):
                depth[target] = max(depth[target], depth[index] + 1)
    last = max(depth)
    depth = [last if isinstance(n, Leaf) else d for n, d in zip(nodes, depth, strict=True)]
    rows: list[list[Point]] = [[] for _ in range(last + 1)]
    links: list[list[tuple[Point, Point]]] = [[] for _ in range(last)]
    sides: list[dict[int, tuple[Point, Point]]] = [{} for _ in range(last)]
    for index, row_number in enumerate(depth):
        rows[row_number].append(index)
    for index, node in enumerate(nodes):
        if not isinstance(node, Split):
            continue
        firsts: list[Point] = []
        for target in (node.low, node.high):
            upper: Point = index
            for row in range(depth[index], depth[target]):
                lower: Point = target if row + 1 == depth[target] else Bend(target)
                if lower not in rows[row + 1]:
                    rows[row + 1].append(lower)
                if (upper, lower) not in links[row]:
                    links[row].append((upper, lower))
                if upper == index:
                    firsts.append(lower)
                upper = lower
        sides[depth[index]][index] = (firsts[0], firsts[1])
    return Layers(
        tuple(map(tuple, rows)), tuple(map(tuple, links)), tuple(map(MappingProxyType, sides))
    )


def _exactly_ordered(layers: Layers) -> Layers:
    """The cheapest way through all orders of all rows, row by row."""
    places = [_all_places(len(row)) for row in layers.rows]
    total, came = np.zeros(1), list[IntArray]()
    for row, links in enumerate(layers.links):
        upper = {point: place for place, point in enumerate(layers.rows[row])}
        lower = {point: place for place, point in enumerate(layers.rows[row + 1])}
        ends = [(upper[a], lower[b]) for a, b in links]
        cost = CROSSING * _crossings(places[row], places[row + 1], ends) + total[:, None]
        came.append(cost.argmin(axis=0))
        turned = [
            places[row + 1][:, lower[low]] > places[row + 1][:, lower[high]]
            for low, high in layers.sides[row].values()
        ]
        total = cost.min(axis=0) + np.sum(turned, axis=0)
    order = int(total.argmin())
    rows = [_in_order(layers.rows[-1], places[-1][order])]
    for row in reversed(range(len(came))):
        order = int(came[row][order])
        rows.append(_in_order(layers.rows[row], places[row][order]))
    return replace(layers, rows=tuple(reversed(rows)))


def _all_places(count: int) -> IntArray:
    """The place of each point in each order, int64 (n_orders, n_points)."""
    return np.array(list(permutations(range(count))), dtype=np.int64).reshape(-1, count)


def _in_order(row: Sequence[Point], places: IntArray) -> tuple[Point, ...]:
    return tuple(row[point] for point in np.argsort(places).tolist())


def _crossings(upper: IntArray, lower: IntArray, ends: Sequence[tuple[int, int]]) -> FloatArray:
    """Pairs of links that cross, float64 (n_orders_above, n_orders_below)."""
    total = np.zeros((len(upper), len(lower)))
    for (a, b), (c, d) in combinations(ends, 2):
        above = upper[:, a] - upper[:, c]
        below = lower[:, b] - lower[:, d]
        total += above[:, None] * below < 0
    return total


def _roughly_ordered(layers: Layers) -> Layers:
    """Points moved to wherever in their row it is best, until no move helps."""
    best, cost = layers, _cost(layers)
    for _ in range(SWEEPS):
        before = cost
        for row, points in enumerate(layers.rows):
            for point in points:
                others = [other for other in best.rows[row] if other != point]
                for place in range(len(points)):
                    moved = (*others[:place], point, *others[place:])
                    tried = replace(best, rows=(*best.rows[:row], moved, *best.rows[row + 1 :]))
                    if _cost(tried) < cost:
                        best, cost = tried, _cost(tried)
        if cost == before:
            break
    return best


def _cost(layers: Layers) -> float:
    return CROSSING * layers.crossings() + len(layers.turned())
