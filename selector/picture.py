"""Positions of the boxes, texts and edges of a drawn diagram."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from statistics import mean

from selector import words
from selector.layers import Bend, Layers, Point, layers_of
from selector.nodes import Leaf, Node, Split
from selector.text_width import text_width, wrapped
from selector.way import way_of

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
    backend : first backend of the last turn, "" for a split.
    ports : x positions where the edges of its left and right side begin, empty for a leaf.
    taken : bool, whether the highlighted path passes it.
    """

    left: float
    top: float
    width: float
    height: float
    backend: str
    texts: tuple[Text, ...]
    ports: tuple[float, ...]
    taken: bool = False


@dataclass(frozen=True)
class Line:
    """An edge as an SVG path, and whether the highlighted path passes it."""

    path: str
    taken: bool


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


@dataclass(frozen=True)
class _Face:
    """The content of a box and the size that it needs.

    Attributes
    ----------
    targets : nodes that the left and the right side of a split lead to
    cells : labels of these sides
    """

    lines: tuple[str, ...]
    share: str
    targets: tuple[int, ...]
    cells: tuple[str, ...]
    backend: str

    @property
    def width(self) -> float:
        cells = [2 * text_width(cell, SHARE_SIZE) + 2 * PADDING for cell in self.cells]
        lines = [text_width(line, NAME_SIZE) for line in self.lines]
        return max(*lines, *cells, text_width(self.share, SHARE_SIZE)) + 2 * PADDING

    @property
    def height(self) -> float:
        return LINE_HEIGHT * (len(self.lines) + bool(self.share) + bool(self.cells)) + PADDING


def picture_of(
    nodes: Sequence[Node], flow: Sequence[float] | None = None, decision: str = ""
) -> Picture:
    """Lay a diagram out from top to bottom.

    It is as wide as the screen of a phone, unless the longest words of a row need more.
    """
    nodes, flow = _with_shared_leaves(nodes, flow)
    way = way_of(nodes, decision)
    passed = {index for edge in way for index in edge}
    layers = layers_of(nodes)
    faces = _faces(nodes, layers, flow)
    needed = max(_row_width(faces, row) for row in layers.rows) + 2 * MARGIN
    width = max(PHONE, needed)
    middles = _middles(layers, faces, width)
    boxes: dict[int, Box] = {}
    spans, top = list[tuple[float, float]](), MARGIN
    for row, places in zip(layers.rows, middles, strict=True):
        drawn = {p: _box(faces[p], places[p], top) for p in row if isinstance(p, int)}
        spans.append((top, top + max(box.height for box in drawn.values())))
        boxes |= drawn
        top = spans[-1][1] + DROP
    lines = [
        Line(
            _path(boxes[index], port, spans[number][1], _way(middles, spans, number, target)),
            (index, target) in way,
        )
        for number, row in enumerate(layers.rows)
        for index in row
        if isinstance(index, int)
        for port, target in zip(boxes[index].ports, faces[index].targets, strict=True)
    ]
    placed = tuple(replace(boxes[index], taken=index in passed) for index in range(len(nodes)))
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
    if flow is None:
        return shared, None
    shares = [0.0] * len(remaining)
    for index, share in zip(place, flow, strict=True):
        shares[index] += share
    return shared, shares


def _faces(nodes: Sequence[Node], layers: Layers, flow: Sequence[float] | None) -> dict[int, _Face]:
    turned = layers.turned()
    faces = {}
    for row in layers.rows:
        boxes = [point for point in row if isinstance(point, int)]
        others = 2 * MARGIN + GAP * (len(row) - 1) + BEND_WIDTH * (len(row) - len(boxes))
        room = min(WIDEST_BOX, (PHONE - others) / len(boxes)) - 2 * PADDING
        for index in boxes:
            share = "" if flow is None else f"{flow[index]:.1%}"
            faces[index] = _face(nodes[index], share, index in turned, room)
    return faces


def _face(node: Node, share: str, turned: bool, room: float) -> _Face:
    if isinstance(node, Leaf):
        lines = wrapped(words.schedule(node.schedule), NAME_SIZE, room)
        return _Face(lines, share, (), (), node.backend)
    low, high = words.sides(node.feature, node.threshold)
    lines = wrapped(words.label(node.feature), NAME_SIZE, room)
    if turned:
        return _Face(lines, share, (node.high, node.low), (high, low), "")
    return _Face(lines, share, (node.low, node.high), (low, high), "")


def _width(faces: dict[int, _Face], point: Point) -> float:
    return faces[point].width if isinstance(point, int) else BEND_WIDTH


def _row_width(faces: dict[int, _Face], row: Sequence[Point]) -> float:
    return sum(_width(faces, point) for point in row) + GAP * (len(row) - 1)


def _middles(layers: Layers, faces: dict[int, _Face], width: float) -> list[dict[Point, float]]:
    """Return the x position of each point by row: in order, apart, close to the linked points."""
    middles: list[dict[Point, float]] = []
    for row in layers.rows:
        free = (width - 2 * MARGIN - _row_width(faces, row)) / len(row)
        start, positions = MARGIN, dict[Point, float]()
        for point in row:
            room = _width(faces, point) + free
            positions[point] = start + room / 2
            start += room + GAP
        middles.append(positions)
    for sweep in range(ALIGNMENTS):
        numbers = range(len(layers.rows))
        for number in numbers if sweep % 2 else reversed(numbers):
            targets = []
            for point in layers.rows[number]:
                linked = [middles[row][other] for row, other in _linked(layers, number, point)]
                targets.append(mean(linked or [middles[number][point]]))
            middles[number] = _apart(layers.rows[number], targets, faces, width)
    return middles


def _linked(layers: Layers, row: int, point: Point) -> list[tuple[int, Point]]:
    """Return the points that a point is linked to, each with its row."""
    above = layers.links[row - 1] if row > 0 else ()
    below = layers.links[row] if row < len(layers.links) else ()
    return [
        *((row - 1, upper) for upper, lower in above if lower == point),
        *((row + 1, lower) for upper, lower in below if upper == point),
    ]


def _apart(
    row: Sequence[Point], targets: Sequence[float], faces: dict[int, _Face], width: float
) -> dict[Point, float]:
    """Return x positions close to the targets, in order and without overlaps."""
    halves = [_width(faces, point) / 2 for point in row]
    steps = [a + b + GAP for a, b in pairwise(halves)]
    least = list(accumulate(steps, initial=MARGIN + halves[0]))
    spare = width - MARGIN - halves[-1] - least[-1]
    goals = [min(max(goal, low), low + spare) for goal, low in zip(targets, least, strict=True)]
    rightwards, leftwards = [goals[0]], [goals[-1]]
    for goal, step in zip(goals[1:], steps, strict=True):
        rightwards.append(max(goal, rightwards[-1] + step))
    for goal, step in zip(reversed(goals[:-1]), reversed(steps), strict=True):
        leftwards.append(min(goal, leftwards[-1] - step))
    middles = [(a + b) / 2 for a, b in zip(rightwards, reversed(leftwards), strict=True)]
    return dict(zip(row, middles, strict=True))


def _box(face: _Face, middle: float, top: float) -> Box:
    texts, y = [], top + PADDING / 2 - LINE_HEIGHT / 4
    for line in face.lines:
        y += LINE_HEIGHT
        texts.append(Text(line, middle, y, name=True))
    if face.share:
        y += LINE_HEIGHT
        texts.append(Text(face.share, middle, y, name=False))
    ports = tuple(middle + side * face.width / 4 for side in (-1, 1)) if face.cells else ()
    for port, cell in zip(ports, face.cells, strict=True):
        texts.append(Text(cell, port, y + LINE_HEIGHT, name=False))
    start = middle - face.width / 2
    return Box(start, top, face.width, face.height, face.backend, tuple(texts), ports)


Stop = tuple[float, float, float]  # middle of a point, top and bottom of its row


def _way(
    middles: Sequence[dict[Point, float]],
    spans: Sequence[tuple[float, float]],
    number: int,
    target: int,
) -> list[Stop]:
    """Return the points that an edge passes after row ``number``, including its target."""
    way = []
    while True:
        number += 1
        point = target if target in middles[number] else Bend(target)
        way.append((middles[number][point], *spans[number]))
        if point == target:
            return way


def _path(box: Box, port: float, bottom: float, way: Sequence[Stop]) -> str:
    """Return the SVG path from a side of a split to the target of its edge.

    Each curve begins below all boxes of a row and ends above all boxes of the next row, so it
    touches none.
    """
    path, x = f"M{port:.1f} {box.top + box.height:.1f}", port
    for to_x, to_y, to_bottom in way:
        half = (bottom + to_y) / 2
        path += f"V{bottom:.1f}C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}"
        x, bottom = to_x, to_bottom
    return path
