"""Layout of a drawn diagram: rows of nodes with few crossings, boxes, texts and edges."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, combinations, compress, pairwise, product
from statistics import fmean

import numpy as np

from selector import words
from selector.schedule import Leaf, Node, Split

# In pixels, for a picture as wide as the screen of a phone.
PHONE = 380.0
NAME_SIZE, SHARE_SIZE = 12.5, 11.5
LINE_HEIGHT = 16.0
PADDING = 8.0  # between a box and its text
MARGIN = 6.0  # around the picture
GAP = 8.0  # between neighbours in a row
DROP = 48.0  # vertical space between rows, for the edges
WIDEST_BOX = 200.0
BEND_WIDTH = 4.0
ALIGNMENTS = 12  # passes that move points towards the points they are linked to
MIRRORED = 8  # number of splits whose sides are tried in both orders; the others have low left
CROSSING = 1000  # cost of a crossing; outweighs all swapped sides together

# Width in ems that no character of the group exceeds in DejaVu Sans Bold. That font is wider than
# the sans-serif fonts that browsers prefer.
GROUPS = (
    (0.48, "ijlftI.,:;'|!()[]-/ "),
    (0.68, "crszvxykJ_*?`"),
    (0.72, "abdeghnopqu0123456789$"),
    (0.88, "ABCDEFGHKLNOPQRSTUVXYZ≤≥<>=+~#&^"),
)
WIDEST = 1.11
WIDTH = {character: width for width, group in GROUPS for character in group}


@dataclass(frozen=True)
class Bend:
    """A point where edges to a node further down pass a row; edges to the same node share it."""

    target: int


Point = int | Bend  # index of a node, or a bend
Link = tuple[Point, Point]


@dataclass(frozen=True)
class Layers:
    """Nodes and bends in rows.

    Attributes
    ----------
    nodes : nodes of the diagram.
    rows : points of each row from left to right; the root is in the first row, all leaves in the
        last.
    """

    nodes: tuple[Node, ...]
    rows: tuple[tuple[Point, ...], ...]

    def links(self, row: int) -> list[Link]:
        """Return the links from a row to the next one, those of low sides first."""
        return [
            (upper, self.next_point(target, row))
            for upper in self.rows[row]
            for target in _targets(self.nodes, upper)
        ]

    def next_point(self, target: int, row: int) -> Point:
        """Return the point in the next row on the way to a node."""
        return target if target in self.rows[row + 1] else Bend(target)

    def linked(self, row: int, point: Point) -> list[tuple[int, Point]]:
        """Return the points that a point is linked to, each with its row."""
        above = self.links(row - 1) if row > 0 else []
        below = self.links(row) if row + 1 < len(self.rows) else []
        return [
            *((row - 1, upper) for upper, lower in above if lower == point),
            *((row + 1, lower) for upper, lower in below if upper == point),
        ]

    def crossings(self) -> int:
        """Return the number of pairs of links that cross."""
        return sum(
            (a - c) * (b - d) < 0
            for ends in self._ends()
            for (a, b), (c, d) in combinations(ends, 2)
        )

    def turned(self) -> frozenset[int]:
        """Return the splits whose low side is drawn to the right of their high side."""
        return frozenset(
            point
            for row, ends in enumerate(self._ends())
            for (place, low), (other, high) in pairwise(ends)
            if place == other and low > high and isinstance(point := self.rows[row][place], int)
        )

    def _ends(self) -> Iterator[list[tuple[int, int]]]:
        """Yield the places of both ends of all links, for each pair of neighbouring rows."""
        places = [{point: place for place, point in enumerate(row)} for row in self.rows]
        for row, (above, below) in enumerate(pairwise(places)):
            yield [(above[upper], below[lower]) for upper, lower in self.links(row)]


def layers_of(nodes: Sequence[Node]) -> Layers:
    """Assign nodes to rows by their longest path from the root, with few crossings.

    Points are ordered by a depth-first traversal. The sides of the first splits are tried in both
    orders. Ties are broken so that as many low sides as possible are to the left.
    """
    depth = [0] * len(nodes)
    for index in range(len(nodes)):
        for target in _targets(nodes, index):
            depth[target] = max(depth[target], depth[index] + 1)
    last = max(depth)
    rows = [last if isinstance(n, Leaf) else d for n, d in zip(nodes, depth, strict=True)]
    splits = [index for index, node in enumerate(nodes) if isinstance(node, Split)][:MIRRORED]
    orders = (
        _depth_first(nodes, rows, set(compress(splits, flags)))
        for flags in product((False, True), repeat=len(splits))
    )
    return min(orders, key=lambda layers: CROSSING * layers.crossings() + len(layers.turned()))


def _depth_first(nodes: Sequence[Node], row_of: Sequence[int], mirrored: set[int]) -> Layers:
    """Order points by their first visit, from the right side of mirrored splits first."""
    rows: list[list[Point]] = [[] for _ in range(max(row_of) + 1)]

    def visit(point: Point, row: int) -> None:
        if point not in rows[row]:
            rows[row].append(point)
            targets = _targets(nodes, point)
            for target in reversed(targets) if point in mirrored else targets:
                visit(target if row_of[target] == row + 1 else Bend(target), row + 1)

    visit(0, 0)
    return Layers(tuple(nodes), tuple(map(tuple, rows)))


def _targets(nodes: Sequence[Node], point: Point) -> tuple[int, ...]:
    """Return the nodes that a point leads to: of a split the low side first."""
    if isinstance(point, Bend):
        return (point.target,)
    node = nodes[point]
    return (node.low, node.high) if isinstance(node, Split) else ()


@dataclass(frozen=True)
class Text:
    """A line of text centred at (x, y), in the larger font if ``name``."""

    words: str
    x: float
    y: float
    name: bool


@dataclass(frozen=True)
class Box:
    """The rectangle of a node, lengths in pixels.

    Attributes
    ----------
    lines : lines of the name of the node.
    share : share of flow as text, "" if unknown.
    sides : labels of the left and right side and the nodes they lead to, empty for a leaf.
    backend : first backend of the last turn, "" for a split.
    middle : x position of the middle.
    top : y position of the upper border.
    on_path : bool, whether the highlighted path passes it.
    """

    lines: tuple[str, ...]
    share: str
    sides: tuple[tuple[str, int], ...]
    backend: str
    middle: float = 0.0
    top: float = 0.0
    on_path: bool = False

    @property
    def width(self) -> float:
        """Width that the widest text needs."""
        sides = [2 * text_width(label, SHARE_SIZE) + 2 * PADDING for label, _ in self.sides]
        lines = [text_width(line, NAME_SIZE) for line in self.lines]
        return max(*lines, *sides, text_width(self.share, SHARE_SIZE)) + 2 * PADDING

    @property
    def height(self) -> float:
        """Height of all lines."""
        return LINE_HEIGHT * (len(self.lines) + bool(self.share) + bool(self.sides)) + PADDING

    @property
    def left(self) -> float:
        """X position of the left border."""
        return self.middle - self.width / 2

    @property
    def bottom(self) -> float:
        """Y position of the lower border."""
        return self.top + self.height

    @property
    def ports(self) -> list[tuple[float, str, int]]:
        """X position, label and target of the left and right side of a split."""
        return [
            (self.middle + (place - 0.5) * self.width / 2, label, target)
            for place, (label, target) in enumerate(self.sides)
        ]

    @property
    def texts(self) -> list[Text]:
        """Texts from top to bottom."""
        first = self.top + PADDING / 2 + LINE_HEIGHT * 3 / 4
        centred = [*self.lines, self.share] if self.share else self.lines
        texts = [
            Text(line, self.middle, first + LINE_HEIGHT * row, row < len(self.lines))
            for row, line in enumerate(centred)
        ]
        y = first + LINE_HEIGHT * len(centred)
        return texts + [Text(label, x, y, name=False) for x, label, _ in self.ports]


@dataclass(frozen=True)
class Line:
    """An edge as an SVG path, and whether the highlighted path passes it."""

    path: str
    on_path: bool


@dataclass(frozen=True)
class Picture:
    """The layout of a diagram, lengths in pixels.

    Attributes
    ----------
    boxes : rectangles, one per split and one per schedule, in the order of the nodes
    lines : edges
    crossings : number of pairs of edges that cross
    """

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    crossings: int


def picture_of(
    nodes: Sequence[Node], flow: Sequence[float] | None = None, decision: str = ""
) -> Picture:
    """Lay a diagram out from top to bottom.

    It is as wide as the screen of a phone, unless the longest words of a row need more.
    """
    nodes, flow = _with_shared_leaves(nodes, flow)
    path = words.edges_of(nodes, decision)
    passed = {index for edge in path for index in edge}
    layers = layers_of(nodes)
    boxes = _boxes(layers, flow)
    widths = [[_width(boxes, point) for point in row] for row in layers.rows]
    width = max(PHONE, *(sum(row) + GAP * (len(row) - 1) + 2 * MARGIN for row in widths))
    middles = _middles(layers, widths, width)
    spans, top = list[tuple[float, float]](), MARGIN
    for places in middles:
        inside = [point for point in places if isinstance(point, int)]
        for index in inside:
            boxes[index] = replace(
                boxes[index], middle=places[index], top=top, on_path=index in passed
            )
        spans.append((top, max(boxes[index].bottom for index in inside)))
        top = spans[-1][1] + DROP
    lines = [
        Line(_path(x, boxes[index].bottom, layers, row, target, middles, spans), on_path)
        for row, places in enumerate(middles)
        for index in places
        if isinstance(index, int)
        for x, _, target in boxes[index].ports
        for on_path in [(index, target) in path]
    ]
    placed = tuple(boxes[index] for index in range(len(nodes)))
    return Picture(width, spans[-1][1] + MARGIN, placed, tuple(lines), layers.crossings())


def _with_shared_leaves(
    nodes: Sequence[Node], flow: Sequence[float] | None
) -> tuple[list[Node], list[float] | None]:
    """Merge leaves with the same schedule into the last of them, and add up their shares."""
    last = {node.schedule: index for index, node in enumerate(nodes) if isinstance(node, Leaf)}
    stands = [last[n.schedule] if isinstance(n, Leaf) else i for i, n in enumerate(nodes)]
    remaining = sorted(set(stands))
    place = [remaining.index(index) for index in stands]
    shared = [
        replace(node, low=place[node.low], high=place[node.high])
        if isinstance(node, Split)
        else node
        for node in (nodes[index] for index in remaining)
    ]
    return shared, None if flow is None else np.bincount(place, flow).tolist()


def _boxes(layers: Layers, flow: Sequence[float] | None) -> dict[int, Box]:
    """Return the contents of the boxes by node, not placed yet."""
    turned = layers.turned()
    boxes = {}
    for row in layers.rows:
        inside = [point for point in row if isinstance(point, int)]
        others = 2 * MARGIN + GAP * (len(row) - 1) + BEND_WIDTH * (len(row) - len(inside))
        room = min(WIDEST_BOX, (PHONE - others) / len(inside)) - 2 * PADDING
        for index in inside:
            node, share = layers.nodes[index], "" if flow is None else f"{flow[index]:.1%}"
            if isinstance(node, Leaf):
                name, backend = words.schedule(node.schedule), node.backend
                sides: tuple[tuple[str, int], ...] = ()
            else:
                name, backend = words.label(node.feature), ""
                labels = words.sides(node.feature, node.threshold)
                sides = tuple(zip(labels, (node.low, node.high), strict=True))
                sides = sides[::-1] if index in turned else sides
            boxes[index] = Box(wrapped(name, NAME_SIZE, room), share, sides, backend)
    return boxes


def _width(boxes: dict[int, Box], point: Point) -> float:
    return boxes[point].width if isinstance(point, int) else BEND_WIDTH


def _middles(
    layers: Layers, widths: Sequence[Sequence[float]], width: float
) -> list[dict[Point, float]]:
    """Return the x position of each point by row: in order, apart, close to the linked points."""
    middles = [dict.fromkeys(row, width / 2) for row in layers.rows]
    linked = [
        {point: layers.linked(number, point) for point in row}
        for number, row in enumerate(layers.rows)
    ]
    for sweep in range(ALIGNMENTS):
        numbers = range(len(layers.rows))
        for number in numbers if sweep % 2 else reversed(numbers):
            goals = [
                fmean([middles[row][other] for row, other in others] or [width / 2])
                for others in linked[number].values()
            ]
            places = _apart(goals, widths[number], width)
            middles[number] = dict(zip(layers.rows[number], places, strict=True))
    borders = [
        list(places.values())[end] + side * room[end] / 2
        for places, room in zip(middles, widths, strict=True)
        for end, side in ((0, -1), (-1, 1))
    ]
    shift = (width - min(borders) - max(borders)) / 2
    return [{point: x + shift for point, x in places.items()} for places in middles]


def _apart(goals: Sequence[float], widths: Sequence[float], width: float) -> list[float]:
    """Return the positions nearest to the goals that keep order and distances.

    This is isotonic regression after the distances are subtracted, by its minimax formula.
    """
    steps = [(a + b) / 2 + GAP for a, b in pairwise(widths)]
    least = list(accumulate(steps, initial=MARGIN + widths[0] / 2))
    spare = width - MARGIN - widths[-1] / 2 - least[-1]
    free = [goal - low for goal, low in zip(goals, least, strict=True)]
    n = range(len(free))
    fitted = [
        max(min(fmean(free[j : k + 1]) for k in n[place:]) for j in n[: place + 1]) for place in n
    ]
    return [min(max(x, 0.0), spare) + low for x, low in zip(fitted, least, strict=True)]


def _path(
    x: float,
    y: float,
    layers: Layers,
    row: int,
    target: int,
    middles: Sequence[dict[Point, float]],
    spans: Sequence[tuple[float, float]],
) -> str:
    """Return the SVG path from (x, y) below a split to the target of its edge.

    Each curve begins below all boxes of a row and ends above all boxes of the next row, so it
    touches none.
    """
    path, point = f"M{x:.1f} {y:.1f}", layers.next_point(target, row)
    while True:
        bottom, (to_y, _) = spans[row][1], spans[row + 1]
        to_x, half = middles[row + 1][point], (bottom + to_y) / 2
        path += f"V{bottom:.1f}C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}"
        if point == target:
            return path
        x, row = to_x, row + 1
        point = layers.next_point(target, row)


def text_width(text: str, size: float) -> float:
    """Return an upper bound of the width of a line, in the unit of ``size``, the font height."""
    return size * sum(WIDTH.get(character, WIDEST) for character in text)


def wrapped(text: str, size: float, room: float) -> tuple[str, ...]:
    """Break a text at spaces into the fewest lines within ``room``, each as narrow as possible.

    A word that is wider than ``room`` takes a whole line.
    """

    def widest(lines: Sequence[str]) -> float:
        return max(text_width(line, size) for line in lines)

    choices: list[list[str]] = [
        textwrap.wrap(text, characters, break_long_words=False, break_on_hyphens=False)
        for characters in range(len(text), 0, -1)
    ]
    fitting = [lines for lines in choices if widest(lines) <= room] or choices[-1:]
    narrowest = min(fitting, key=lambda lines: (len(lines), widest(lines)))
    return tuple(narrowest)
