"""An ensemble and others over the same columns -> one whose trees are those of all of them.

Only the first one's leaves have scores in it. What the others say of a row is told by their own
scores at the same leaves (:class:`encoders.trees.ensemble.Companion`), which get rows of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, frozen, starts
from encoders.trees.ensemble import Companion, Ensemble
from encoders.trees.input_type import last_read_as
from encoders.trees.set_splits import SetSplits
from encoders.trees.stretches import Stretches

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def accompanied(ensemble: Ensemble, companions: Sequence[Companion]) -> Ensemble:
    """The ensemble's trees, and then those of each companion.

    Parameters
    ----------
    ensemble : its sums, rounding and link stay
    companions : over the same columns, of which the same may be missing; ``first`` is set here
    """
    if not companions:
        return ensemble
    every = [ensemble, *(own.ensemble for own in companions)]
    first = starts(np.array([own.column.size for own in every]))[:-1]
    # Where input types differ, a float64 goes where the ensemble that rounds it sends it.
    single = all(own.dtype == SINGLE for own in every)
    dtype = SINGLE if single else DOUBLE

    def moved(field: str) -> IntArray:
        nodes = [(getattr(own, field), at) for own, at in zip(every, first, strict=True)]
        return frozen(np.concatenate([np.where(n >= 0, n + at, n) for n, at in nodes]))

    ways = [own.default_left for own in every if own.default_left is not None]
    nothing = np.zeros((sum(own.column.size for own in every[1:]), ensemble.n_sums))
    plain = replace(
        ensemble,
        root=moved("root"),
        column=frozen(np.concatenate([own.column for own in every])),
        last_left=frozen(np.concatenate([own.last_left_as(dtype) for own in every])),
        left=moved("left"),
        right=moved("right"),
        score=frozen(np.concatenate([ensemble.score, nothing])),
        dtype=dtype,
        default_left=frozen(np.concatenate(ways)) if ways else None,
        sets=None,
        unsure=_unsure(every),
        companions=tuple(
            replace(own, first=int(at)) for own, at in zip(companions, first[1:], strict=True)
        ),
    )
    return _with_sets(plain, every, first)


def _unsure(every: Sequence[Ensemble]) -> Mapping[int, Stretches] | None:
    """By column, where one of them is not sure."""
    told: dict[int, list[Stretches]] = {}
    for own in every:
        for column, stretches in (own.unsure or {}).items():
            told.setdefault(column, []).append(stretches)
    return {at: Stretches.of_all(parts) for at, parts in sorted(told.items())} or None


def _with_sets(plain: Ensemble, every: Sequence[Ensemble], first: IntArray) -> Ensemble:
    """Columns that one of them splits into sets are split so by all, into cells of all."""
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
