"""Search for a clique of a given size: nodes of a graph that are pairwise adjacent."""

from collections.abc import Callable

import numpy as np

from encoders.arrays import BoolArray, IntArray


def find_clique(joined: BoolArray, size: int, over: Callable[[], bool]) -> IntArray | None:
    """Return a clique of the given size, int64 (size,), in no order; None if there is none.

    Branch and bound by colours: nodes of one colour are not adjacent, so a clique has at most as
    many nodes as there are colours (Tomita and Seki, 2003).
    """
    alive = np.arange(len(joined))
    while True:
        enough = joined[np.ix_(alive, alive)].sum(axis=1) >= size - 1
        if enough.all():
            break
        alive = alive[enough]
    if alive.size < size:
        return None
    packed = np.packbits(joined[np.ix_(alive, alive)], axis=1, bitorder="little")
    clique = _grown([int.from_bytes(row.tobytes(), "little") for row in packed], size, over)
    return None if clique is None else alive[np.array(clique)]


def _grown(neighbours: list[int], size: int, over: Callable[[], bool]) -> list[int] | None:
    """Return a clique as a list of nodes, or None.

    Nodes are bits of integers, and sets of nodes are integers.
    """

    def among(nodes: int, need: int) -> list[int] | None:
        if need == 0:
            return []
        if over():
            raise TimeoutError
        for node, colours in reversed(_coloured(neighbours, nodes)):
            if colours < need:
                return None
            rest = among(nodes & neighbours[node], need - 1)
            if rest is not None:
                return [node, *rest]
            nodes &= ~(1 << node)
        return None

    return among((1 << len(neighbours)) - 1, size)


def _coloured(neighbours: list[int], nodes: int) -> list[tuple[int, int]]:
    """Return the nodes by colour, each with the number of colours up to its own."""
    order, colour = [], 0
    while nodes:
        colour += 1
        free = nodes
        while free:
            node = (free & -free).bit_length() - 1
            order.append((node, colour))
            nodes &= ~(1 << node)
            free &= ~(1 << node) & ~neighbours[node]
    return order
