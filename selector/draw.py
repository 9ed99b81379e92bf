"""Decision diagrams as pictures and text."""

from xml.sax.saxutils import escape

from selector.diagram import Diagram, Leaf, Node, Split, in_words

COLOURS = {
    "search": "#0072B2", "cp": "#D55E00", "milp": "#009E73", "maxsat": "#CC79A7", "smt": "#777777",
}  # fmt: skip
WIDTH, HEIGHT, GAP_X, GAP_Y, EDGE = 230, 46, 90, 26, 20


def flow_of(diagram: Diagram) -> list[float] | None:
    """Shares of flow that the manifest tells, None if it does not."""
    told = diagram.manifest.get("flow")
    if not isinstance(told, list) or len(told) != len(diagram.nodes):
        return None
    return told if all(isinstance(share, int | float) for share in told) else None


def as_text(diagram: Diagram, flow: list[float] | None = None) -> str:
    """One line per node."""
    lines = []
    for index, node in enumerate(diagram.nodes):
        share = "" if flow is None else f" ({flow[index]:.1%})"
        if isinstance(node, Split):
            lines.append(
                f"{index}{share}: {node.feature} <= {node.threshold:g} -> {node.low}, "
                f"else {node.high}"
            )
        else:
            lines.append(f"{index}{share}: {in_words(node.schedule)}")
    return "\n".join(lines)


def as_dot(diagram: Diagram, flow: list[float] | None = None) -> str:
    """For Graphviz."""
    lines = ["digraph diagram {", "  rankdir=LR; node [fontname=sans, fontsize=10];"]
    for index, node in enumerate(diagram.nodes):
        share = "" if flow is None else f"\\n{flow[index]:.1%}"
        if isinstance(node, Split):
            lines.append(f'  n{index} [label="{node.feature}{share}", shape=ellipse];')
            for target, sign in ((node.low, "<="), (node.high, ">")):
                lines.append(f'  n{index} -> n{target} [label="{sign} {node.threshold:g}"];')
        else:
            colour = COLOURS.get(node.backend, "#000000")
            words = in_words(node.schedule) + share
            lines.append(f'  n{index} [label="{words}", shape=box, color="{colour}"];')
    return "\n".join([*lines, "}"]) + "\n"


def as_svg(diagram: Diagram, flow: list[float] | None = None) -> str:
    """In the style of the paper's figure 1: from left to right, leaves in the colour of their
    backend, shares of flow below the names."""
    places = _places(diagram.nodes)
    right = max(x for x, _ in places) + WIDTH + EDGE
    bottom = max(y for _, y in places) + HEIGHT + EDGE
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{right}' height='{bottom}' "
        f"viewBox='0 0 {right} {bottom}' font-family='sans-serif' font-size='12'>",
        "<defs><marker id='tip' viewBox='0 0 8 8' refX='8' refY='4' markerWidth='7' "
        "markerHeight='7' orient='auto'><path d='M0 0 8 4 0 8z' fill='#444'/></marker></defs>",
        "<rect width='100%' height='100%' fill='white'/>",
    ]
    for index, node in enumerate(diagram.nodes):
        if isinstance(node, Split):
            for target, sign, side in ((node.low, "≤", -1), (node.high, ">", 1)):
                words = f"{sign} {node.threshold:.4g}"
                parts.append(_edge(places[index], places[target], words, side))
    for index, node in enumerate(diagram.nodes):
        share = "" if flow is None else f"{flow[index]:.1%}"
        parts.append(_box(node, places[index], share))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _places(nodes: tuple[Node, ...]) -> list[tuple[int, int]]:
    """Columns by the longest way from the root, leaves in the last one."""
    depth = [0] * len(nodes)
    for index, node in enumerate(nodes):
        if isinstance(node, Split):
            for target in (node.low, node.high):
                depth[target] = max(depth[target], depth[index] + 1)
    deepest = max(depth)
    column = [deepest if isinstance(n, Leaf) else d for n, d in zip(nodes, depth, strict=True)]
    members = [[i for i, c in enumerate(column) if c == place] for place in range(deepest + 1)]
    tallest = max(len(own) for own in members)
    places = [(0, 0)] * len(nodes)
    for place, own in enumerate(members):
        top = EDGE + (tallest - len(own)) * (HEIGHT + GAP_Y) // 2
        for row, index in enumerate(own):
            places[index] = (EDGE + place * (WIDTH + GAP_X), top + row * (HEIGHT + GAP_Y))
    return places


def _edge(start: tuple[int, int], end: tuple[int, int], words: str, side: int) -> str:
    x, y = start[0] + WIDTH, start[1] + HEIGHT // 2 + 8 * side
    to_x, to_y = end[0], end[1] + HEIGHT // 2 + 6 * side
    middle = (x + to_x) // 2
    label_x, label_y = x + 8, y + (side * 12 if side > 0 else -5)
    return (
        f"<path d='M{x} {y} C{middle} {y} {middle} {to_y} {to_x} {to_y}' fill='none' "
        f"stroke='#444' marker-end='url(#tip)'/>"
        f"<text x='{label_x}' y='{label_y}' font-size='11' fill='#444'>{escape(words)}</text>"
    )


def _box(node: Node, place: tuple[int, int], share: str) -> str:
    x, y = place
    colour = "#888888" if isinstance(node, Split) else COLOURS.get(node.backend, "#000000")
    name = node.feature.replace("_", " ") if isinstance(node, Split) else in_words(node.schedule)
    radius = HEIGHT // 2 if isinstance(node, Split) else 4
    weight = "normal" if isinstance(node, Split) else "bold"
    centre, first = x + WIDTH // 2, y + (20 if share else 28)
    text = (
        f"<rect x='{x}' y='{y}' width='{WIDTH}' height='{HEIGHT}' rx='{radius}' fill='{colour}' "
        f"fill-opacity='0.15' stroke='{colour}'/>"
        f"<text x='{centre}' y='{first}' text-anchor='middle' font-weight='{weight}'>"
        f"{escape(name)}</text>"
    )
    if share:
        text += (
            f"<text x='{centre}' y='{y + 36}' text-anchor='middle' font-size='11'>{share}</text>"
        )
    return text
