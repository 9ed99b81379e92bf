"""Decision diagrams as text, as Graphviz source and as SVG pictures.

Pictures follow the style of figure 1 of the paper, but run from top to bottom, so that they are
readable on a phone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from xml.sax.saxutils import escape

from selector import words
from selector.candidates import colour_of
from selector.drawing.layout import NAME_SIZE, SHARE_SIZE, Box, picture_of
from selector.schedule import Node, Split

# Overrides the attributes in dark mode.
DARK = """<style>@media (prefers-color-scheme:dark){
.dd-ground{fill:#0d1117}.dd-ink{fill:#e6edf3}.dd-edge{stroke:#9198a1}.dd-tip{fill:#9198a1}
.dd-split{fill:#21262d;stroke:#9198a1}.dd-leaf{fill-opacity:.4}}</style>"""
INK, LINE, GROUND, SPLIT = "#1f2328", "#59636e", "#ffffff", "#f3f5f7"
STRONG = " stroke-width='3'"
MAX_GROWTH = 1.6  # maximum width, as a multiple of the width on a phone


class Drawn(Protocol):
    """The part of a diagram that is drawn; :class:`selector.diagram.Diagram` implements it."""

    @property
    def nodes(self) -> Sequence[Node]:
        """Nodes in topological order, the root first."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Provenance of the diagram."""


def flow_of(diagram: Drawn) -> list[float] | None:
    """Return the shares of flow in the manifest, one per node; None if there are none."""
    flow = diagram.manifest.get("flow")
    if not isinstance(flow, list) or len(flow) != len(diagram.nodes):
        return None
    return flow if all(isinstance(share, int | float) for share in flow) else None


def as_text(diagram: Drawn, flow: Sequence[float] | None = None) -> str:
    """Return one line of text per node."""
    lines = []
    for index, node in enumerate(diagram.nodes):
        share = "" if flow is None else f" ({flow[index]:.1%})"
        if isinstance(node, Split):
            low, high = words.sides(node.feature, node.threshold)
            lines.append(
                f"{index}{share}: {words.label(node.feature)}: "
                f"{low} -> {node.low}, {high} -> {node.high}"
            )
        else:
            lines.append(f"{index}{share}: {words.schedule(node.schedule)}")
    return "\n".join(lines)


def as_dot(diagram: Drawn, flow: Sequence[float] | None = None) -> str:
    """Return Graphviz source."""
    lines = ["digraph diagram {", "  rankdir=LR; node [fontname=sans, fontsize=10];"]
    for index, node in enumerate(diagram.nodes):
        share = "" if flow is None else f"\\n{flow[index]:.1%}"
        if isinstance(node, Split):
            label = words.label(node.feature) + share
            lines.append(f'  n{index} [label="{label}", shape=ellipse];')
            for target, side in zip(
                (node.low, node.high), words.sides(node.feature, node.threshold), strict=True
            ):
                lines.append(f'  n{index} -> n{target} [label="{side}"];')
        else:
            label = words.schedule(node.schedule) + share
            colour = colour_of(node.backend)
            lines.append(f'  n{index} [label="{label}", shape=box, color="{colour}"];')
    return "\n".join([*lines, "}"]) + "\n"


def as_svg(diagram: Drawn, flow: Sequence[float] | None = None, decision: str = "") -> str:
    """Return an SVG picture from top to bottom, with leaves in the colours of their backends.

    It is as wide as the page up to a limit, readable at 380 pixels, and supports dark mode. The
    path of ``decision`` is highlighted.
    """
    picture = picture_of(diagram.nodes, flow, decision)
    width, height = picture.width, picture.height
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' width='100%' "
        f"style='max-width:{MAX_GROWTH * width:.0f}px' role='img' "
        "font-family='system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif'>",
        "<title>Decision diagram</title>",
        DARK,
        "<defs><marker id='dd-tip' viewBox='0 0 8 8' refX='8' refY='4' markerWidth='7' "
        f"markerHeight='7' orient='auto'><path class='dd-tip' d='M0 0 8 4 0 8z' fill='{LINE}'/>"
        "</marker></defs>",
        f"<rect class='dd-ground' width='100%' height='100%' fill='{GROUND}'/>",
        *(
            f"<path class='dd-edge' d='{line.path}' fill='none' stroke='{LINE}'"
            f"{STRONG if line.on_path else ''} marker-end='url(#dd-tip)'/>"
            for line in picture.lines
        ),
        *(_box(box) for box in picture.boxes),
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _box(box: Box) -> str:
    colour = colour_of(box.backend)
    look = (
        f"class='dd-leaf' rx='4' fill='{colour}' fill-opacity='.14' stroke='{colour}'"
        if box.backend
        else f"class='dd-split' rx='10' fill='{SPLIT}' stroke='{LINE}'"
    )
    parts = [
        f"<rect x='{box.left:g}' y='{box.top:g}' width='{box.width:g}' height='{box.height:g}' "
        f"{look}{STRONG if box.on_path else ''}/>"
    ]
    weight = " font-weight='bold'" if box.backend else ""
    for text in box.texts:
        size = NAME_SIZE if text.name else SHARE_SIZE
        parts.append(
            f"<text class='dd-ink' x='{text.x:g}' y='{text.y:g}' text-anchor='middle' "
            f"font-size='{size:g}' fill='{INK}'{weight if text.name else ''}>"
            f"{escape(text.words)}</text>"
        )
    return "".join(parts)
