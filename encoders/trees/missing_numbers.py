"""Numbers that a library takes for missing: they go the way that a split keeps for gaps."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, frozen
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import no_sets


def with_missing_numbers(
    ensemble: Ensemble, columns: Iterable[int], low: float, high: float
) -> Ensemble:
    """The same trees where a number above ``low`` and up to ``high`` counts as missing.

    A split of such a column is then no threshold, but a set of cells: what is at most its
    threshold outside that interval, and the interval where a gap goes left.
    """
    sets = ensemble.sets or no_sets(ensemble.column.size)
    chosen = np.zeros(ensemble.column.size, dtype=np.bool_)
    edges, members = dict(sets.edges), dict[int, BoolArray]()
    for column in columns:
        nodes = np.flatnonzero(ensemble.column == column)
        edges[column], held = _cells(ensemble, nodes, low, high)
        members.update(zip(nodes.tolist(), held, strict=True))
        chosen[nodes] = True
    joined = sets.joined(chosen, [members[node] for node in sorted(members)])
    return replace(
        ensemble,
        sets=replace(
            joined, edges=dict(sorted(edges.items())), numbers=sets.numbers | set(columns)
        ),
        last_left=frozen(np.where(chosen, -np.inf, ensemble.last_left)),
    )


def _cells(
    ensemble: Ensemble, nodes: IntArray, low: float, high: float
) -> tuple[FloatArray, BoolArray]:
    """Edges of a column's cells, and which of these go left at each node, the gap the last."""
    assert ensemble.default_left is not None
    last = ensemble.last_left[nodes]
    edges = np.unique(np.append(last[np.isfinite(last)], [low, high]))
    ends = np.append(edges, np.inf)
    left = ends <= last[:, None]
    missing_left = ensemble.default_left[nodes][:, None]
    counts = (low < ends) & (ends <= high)
    return frozen(edges), np.hstack([np.where(counts, missing_left, left), missing_left])
