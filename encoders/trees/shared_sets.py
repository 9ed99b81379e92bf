"""Several ensembles over the same columns, some of which split these into sets of values."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, frozen, starts
from encoders.trees.ensemble import Ensemble
from encoders.trees.input_type import last_read_as
from encoders.trees.set_splits import SetSplits


def with_shared_sets(plain: Ensemble, every: Sequence[Ensemble], first: IntArray) -> Ensemble:
    """Columns that one ensemble splits into sets are split so by all, into cells of all."""
    coded = {column for own in every if own.sets is not None for column in own.sets.coded}
    columns = coded | {c for own in every if own.sets is not None for c in own.sets.edges}
    if not columns:
        return plain
    of_node = np.full(plain.column.size, -1, dtype=np.int64)
    edges: dict[int, FloatArray] = {}
    members: list[BoolArray] = []
    for column in sorted(columns):
        edges[column] = frozen(_edges(plain, every, column))
        for own, at in zip(every, first.tolist(), strict=True):
            nodes = np.flatnonzero(own.column == column)
            held = _held(plain, own, nodes, at, edges[column])
            alike, index = np.unique(held, axis=0, return_inverse=True)
            of_node[at + nodes] = len(members) + np.ravel(index)
            members += list(alike)
    sets = SetSplits(
        frozen(of_node),
        frozen(starts(np.array([own.size for own in members], dtype=np.int64))[:-1]),
        frozen(np.concatenate(members) if members else np.zeros(0, dtype=np.bool_)),
        edges,
        numbers=frozenset(columns - coded),
    )
    return replace(
        plain, sets=sets, last_left=frozen(np.where(of_node >= 0, -np.inf, plain.last_left))
    )


def _edges(plain: Ensemble, every: Sequence[Ensemble], column: int) -> FloatArray:
    """Where the cells of a column end that all of them know."""
    found = [np.zeros(0)]
    for own in every:
        told = _own_edges(own, column, plain)
        thresholds = own.last_left_as(plain.dtype)[own.column == column]
        found.append(thresholds if told is None else told)
    ends = np.unique(np.concatenate(found))
    return ends[np.isfinite(ends)]


def _own_edges(own: Ensemble, column: int, plain: Ensemble) -> FloatArray | None:
    """The edges of an ensemble's own sets, as read by all of them; None if it has none there."""
    if own.sets is None or column not in own.sets.edges:
        return None
    edges = own.sets.edges[column]
    return edges if own.dtype == plain.dtype else last_read_as(edges, own.dtype)


def _held(plain: Ensemble, own: Ensemble, nodes: IntArray, at: int, edges: FloatArray) -> BoolArray:
    """Which cells go left at nodes of one ensemble, bool (n_nodes, n_cells)."""
    last = np.append(edges, np.inf)
    if nodes.size == 0:
        return np.zeros((0, last.size + 1), dtype=np.bool_)
    column = int(own.column[nodes[0]])
    told = _own_edges(own, column, plain)
    if own.sets is None or told is None:
        left = last <= plain.last_left[at + nodes][:, None]
        gone = np.zeros(nodes.size, dtype=np.bool_)
        if own.default_left is not None:
            gone = own.default_left[nodes]
        return np.hstack([left, gone[:, None]])
    held = own.sets.members(column, own.sets.of_node[nodes])
    return held[:, np.append(np.searchsorted(told, last), told.size + 1)]
