"""The way through a diagram that a decision in words tells of."""

from collections.abc import Sequence

from selector import words
from selector.nodes import Node, Split

Edge = tuple[int, int]


def way_of(nodes: Sequence[Node], decision: str) -> frozenset[Edge]:
    """The edges that were passed, as (node, next node); none without a decision."""
    taken, at = set[Edge](), 0
    for told in decision.split("; "):
        node = nodes[at]
        if not isinstance(node, Split):
            at, node = 0, nodes[0]  # a further decision begins at the root
        if isinstance(node, Split):
            side = words.side_told(node.feature, node.threshold, told)
            if side is not None:
                following = node.high if side else node.low
                taken.add((at, following))
                at = following
    return frozenset(taken)


def leaves_of(nodes: Sequence[Node], decision: str) -> frozenset[int]:
    """Places of the leaves that a decision led to; none without a decision."""
    if not decision:
        return frozenset()
    if not isinstance(nodes[0], Split):
        return frozenset((0,))
    ends = {end for _, end in way_of(nodes, decision)} | {0}
    return frozenset(end for end in ends if not isinstance(nodes[end], Split))
