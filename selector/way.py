"""Paths through a diagram, parsed from the text of a decision."""

from collections.abc import Sequence

from selector import words
from selector.nodes import Node, Split

Edge = tuple[int, int]


def way_of(nodes: Sequence[Node], decision: str) -> frozenset[Edge]:
    """Return the edges on the path, as (node, next node); none for an empty decision."""
    edges, at = set[Edge](), 0
    for part in decision.split("; "):
        node = nodes[at]
        if not isinstance(node, Split):
            at, node = 0, nodes[0]  # the next decision starts at the root
        if isinstance(node, Split):
            side = words.parsed_side(node.feature, node.threshold, part)
            if side is not None:
                following = node.high if side else node.low
                edges.add((at, following))
                at = following
    return frozenset(edges)


def leaves_of(nodes: Sequence[Node], decision: str) -> frozenset[int]:
    """Return the indices of the leaves that decisions reached; none for an empty decision."""
    if not decision:
        return frozenset()
    if not isinstance(nodes[0], Split):
        return frozenset((0,))
    ends = {end for _, end in way_of(nodes, decision)} | {0}
    return frozenset(end for end in ends if not isinstance(nodes[end], Split))
