"""Decision diagrams as text, as Graphviz source and as SVG pictures."""

from selector.drawing.formats import as_dot, as_svg, as_text, flow_of

__all__ = ["as_dot", "as_svg", "as_text", "flow_of"]
