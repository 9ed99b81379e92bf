"""Layered layout of a diagram: nodes in rows, ordered so that few edges cross."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from types import MappingProxyType

import numpy as np

from encoders.arrays import FloatArray, IntArray
from selector.nodes import Leaf, Node, Split

EXACT = 6  # maximum points per row for exact ordering, which then takes a second at most
SWEEPS = 8  # maximum passes over all rows in heuristic ordering
CROSSING = 1000.0  # cost of a crossing; outweighs all swapped sides together


@dataclass(frozen=True)
class Bend:
    """A point where edges to a node further down pass a row; edges to the same node share it."""

    target: int


Point = int | Bend  # index of a node in its diagram, or a bend


@dataclass(frozen=True)
class Layers:
    """Rows of points, with links between neighbouring rows.

    Attributes
    ----------
    rows : points of each row from left to right; the root is in the first row, all leaves in the
        last.
    links : pairs (upper point, lower point) for each pair of neighbouring rows.
    sides : mapping for each of these pairs of rows, from a split to the lower points of its low and
        high side.
    """

    rows: tuple[tuple[Point, ...], ...]
    links: tuple[tuple[tuple[Point, Point], ...], ...]
    sides: tuple[MappingProxyType[int, tuple[Point, Point]], ...]

    def crossings(self) -> int:
        """Return the number of pairs of links that cross."""
        total = 0
        for row, links in enumerate(self.links):
            above = {point: place for place, point in enumerate(self.rows[row])}
            below = {point: place for place, point in enumerate(self.rows[row + 1])}
            ends = [(above[a], below[b]) for a, b in links]
            total += sum(a < c and b > d for a, b in ends for c, d in ends)
        return total

    def turned(self) -> frozenset[int]:
        """Return the splits whose low side is drawn to the right of their high side."""
        swapped = set[int]()
        for row, sides in enumerate(self.sides):
            place = {point: place for place, point in enumerate(self.rows[row + 1])}
            swapped |= {index for index, (low, high) in sides.items() if place[low] > place[high]}
        return frozenset(swapped)


def layers_of(nodes: Sequence[Node]) -> Layers:
    """Assign nodes to rows by their longest path from the root, and minimise crossings.

    Ties are broken so that as many low sides as possible are to the left of their high sides.
    The minimum is exact if no row has more than ``EXACT`` points.
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
    """Order all rows at minimal cost, by dynamic programming over the orders of each row."""
    places = [_all_places(len(row)) for row in layers.rows]
    total, previous = np.zeros(1), list[IntArray]()
    for row, links in enumerate(layers.links):
        upper = {point: place for place, point in enumerate(layers.rows[row])}
        lower = {point: place for place, point in enumerate(layers.rows[row + 1])}
        ends = [(upper[a], lower[b]) for a, b in links]
        cost = CROSSING * _crossings(places[row], places[row + 1], ends) + total[:, None]
        previous.append(cost.argmin(axis=0))
        swapped = [
            places[row + 1][:, lower[low]] > places[row + 1][:, lower[high]]
            for low, high in layers.sides[row].values()
        ]
        total = cost.min(axis=0) + np.sum(swapped, axis=0)
    order = int(total.argmin())
    rows = [_in_order(layers.rows[-1], places[-1][order])]
    for row in reversed(range(len(previous))):
        order = int(previous[row][order])
        rows.append(_in_order(layers.rows[row], places[row][order]))
    return replace(layers, rows=tuple(reversed(rows)))


def _all_places(count: int) -> IntArray:
    """Return the place of each point in each order, int64 (n_orders, n_points)."""
    return np.array(list(permutations(range(count))), dtype=np.int64).reshape(-1, count)


def _in_order(row: Sequence[Point], places: IntArray) -> tuple[Point, ...]:
    return tuple(row[point] for point in np.argsort(places).tolist())


def _crossings(upper: IntArray, lower: IntArray, ends: Sequence[tuple[int, int]]) -> FloatArray:
    """Count the pairs of links that cross, float64 (n_orders_above, n_orders_below)."""
    total = np.zeros((len(upper), len(lower)))
    for (a, b), (c, d) in combinations(ends, 2):
        above = upper[:, a] - upper[:, c]
        below = lower[:, b] - lower[:, d]
        total += above[:, None] * below < 0
    return total


def _roughly_ordered(layers: Layers) -> Layers:
    """Move points within their rows to reduce the cost, until no move helps."""
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
