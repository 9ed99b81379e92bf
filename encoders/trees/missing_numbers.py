"""Numbers that a library treats as missing: they take the default direction of each split."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, frozen
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import no_sets


def with_missing_numbers(
    ensemble: Ensemble, columns: Iterable[int], low: float, high: float
) -> Ensemble:
    """Return the trees with numbers above ``low`` and up to ``high`` treated as missing.

    Splits of the columns become sets of cells. Outside of the interval, values of at most the
    threshold go left. The interval goes left where missing values do.
    """
    sets = ensemble.sets or no_sets(ensemble.column.size)
    chosen = np.zeros(ensemble.column.size, dtype=np.bool_)
    edges, members = dict(sets.edges), dict[int, BoolArray]()
    for column in columns:
        nodes = np.flatnonzero(ensemble.column == column)
        edges[column], goes_left = _cells(ensemble, nodes, low, high)
        members.update(zip(nodes.tolist(), goes_left, strict=True))
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
    """Return the edges of a column's cells, and the cells that go left at each node.

    The latter is bool (n_nodes, n_cells); the last cell is for missing values.
    """
    assert ensemble.default_left is not None
    last = ensemble.last_left[nodes]
    edges = np.unique(np.append(last[np.isfinite(last)], [low, high]))
    ends = np.append(edges, np.inf)
    left = ends <= last[:, None]
    missing_left = ensemble.default_left[nodes][:, None]
    counts = (low < ends) & (ends <= high)
    return frozen(edges), np.hstack([np.where(counts, missing_left, left), missing_left])
