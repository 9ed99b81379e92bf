"""Common cells of several ensembles over the same columns, some of which have set splits."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, frozen, starts
from encoders.trees.ensemble import Ensemble
from encoders.trees.input_type import last_read_as
from encoders.trees.set_splits import SetSplits


def with_shared_sets(plain: Ensemble, every: Sequence[Ensemble], first: IntArray) -> Ensemble:
    """Return joined ensembles with set splits on each column on which some ensemble has them."""
    coded = {column for each in every if each.sets is not None for column in each.sets.coded}
    columns = coded | {c for each in every if each.sets is not None for c in each.sets.edges}
    if not columns:
        return plain
    of_node = np.full(plain.column.size, -1, dtype=np.int64)
    edges: dict[int, FloatArray] = {}
    members: list[BoolArray] = []
    for column in sorted(columns):
        edges[column] = frozen(_edges(plain, every, column))
        for each, at in zip(every, first.tolist(), strict=True):
            nodes = np.flatnonzero(each.column == column)
            left = _left_cells(plain, each, nodes, at, edges[column])
            distinct, index = np.unique(left, axis=0, return_inverse=True)
            of_node[at + nodes] = len(members) + np.ravel(index)
            members += list(distinct)
    sets = SetSplits(
        frozen(of_node),
        frozen(starts(np.array([cells.size for cells in members], dtype=np.int64))[:-1]),
        frozen(np.concatenate(members) if members else np.zeros(0, dtype=np.bool_)),
        edges,
        numbers=frozenset(columns - coded),
    )
    return replace(
        plain, sets=sets, last_left=frozen(np.where(of_node >= 0, -np.inf, plain.last_left))
    )


def _edges(plain: Ensemble, every: Sequence[Ensemble], column: int) -> FloatArray:
    """Return the edges of a column's common cells, float64 (n_edges,), ascending."""
    every_edge = [np.zeros(0)]
    for each in every:
        set_edges = _set_edges(each, column, plain)
        thresholds = each.last_left_as(plain.dtype)[each.column == column]
        every_edge.append(thresholds if set_edges is None else set_edges)
    ends = np.unique(np.concatenate(every_edge))
    return ends[np.isfinite(ends)]


def _set_edges(ensemble: Ensemble, column: int, plain: Ensemble) -> FloatArray | None:
    """Return the edges of an ensemble's sets in the joint input type; None without sets."""
    if ensemble.sets is None or column not in ensemble.sets.edges:
        return None
    edges = ensemble.sets.edges[column]
    return edges if ensemble.dtype == plain.dtype else last_read_as(edges, ensemble.dtype)


def _left_cells(
    plain: Ensemble, ensemble: Ensemble, nodes: IntArray, at: int, edges: FloatArray
) -> BoolArray:
    """Return the cells that go left at nodes of one ensemble, bool (n_nodes, n_cells)."""
    last = np.append(edges, np.inf)
    if nodes.size == 0:
        return np.zeros((0, last.size + 1), dtype=np.bool_)
    column = int(ensemble.column[nodes[0]])
    set_edges = _set_edges(ensemble, column, plain)
    if ensemble.sets is None or set_edges is None:
        left = last <= plain.last_left[at + nodes][:, None]
        missing_left = np.zeros(nodes.size, dtype=np.bool_)
        if ensemble.default_left is not None:
            missing_left = ensemble.default_left[nodes]
        return np.hstack([left, missing_left[:, None]])
    members = ensemble.sets.members(column, ensemble.sets.of_node[nodes])
    return members[:, np.append(np.searchsorted(set_edges, last), set_edges.size + 1)]
