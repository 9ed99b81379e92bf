"""Joining of several ensembles over the same columns into one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, frozen, starts
from encoders.core.errors import UnsupportedModelError
from encoders.trees.arithmetic import Rounding, rounding_of
from encoders.trees.blend import Blend, Expression, among
from encoders.trees.ensemble import Companion, Ensemble
from encoders.trees.floats import Stretches, last_read_as
from encoders.trees.set_splits import SetSplits

BlendOf = Callable[[list[Expression]], Blend]

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
MEMBER_TERMS = 4  # roundings per member: average and weight, in the library and here


@dataclass(frozen=True, eq=False)
class Member:
    """Ensemble among several that are added up.

    Its summand is its leaf scores times ``weight``, divided by ``whole``.
    """

    ensemble: Ensemble  # trees of the member, over the columns of the sum
    classes: IntArray  # index of each of its classes among those of the sum, int64 (n_own_classes,)
    weight: float = 1.0  # factor of the member's output in the library
    whole: float = 1.0  # leaf score per unit of the member's output, such as its number of trees

    @property
    def exact(self) -> bool:
        """True if the library's sum of sums rounds no more than one sum over all trees."""
        if self.ensemble.root.size == 1 and self.whole == 1.0:
            return True  # the leaf's score times the weight, rounded once in both cases
        powers = np.frexp([self.weight, self.whole])[0] == 0.5
        return bool(powers.all()) and self.ensemble.rounding.grid > 0.0


def _nodes_of_all(ensembles: Sequence[Ensemble]) -> tuple[dict[str, Any], IntArray]:
    """Return the nodes of all ensembles as fields of one, and the first node of each.

    If input types differ, thresholds become float64 such that every value takes the same way as in
    its ensemble, which rounds it.
    """
    first = starts(np.array([each.column.size for each in ensembles]))[:-1]
    dtype = SINGLE if all(each.dtype == SINGLE for each in ensembles) else DOUBLE

    def moved(name: str) -> IntArray:
        nodes = [(getattr(each, name), at) for each, at in zip(ensembles, first, strict=True)]
        return frozen(np.concatenate([np.where(n >= 0, n + at, n) for n, at in nodes]))

    nodes = {
        **{name: moved(name) for name in ("root", "left", "right")},
        "column": frozen(np.concatenate([each.column for each in ensembles])),
        "last_left": frozen(np.concatenate([each.last_left_as(dtype) for each in ensembles])),
        "dtype": dtype,
    }
    return nodes, first


def summed(members: Sequence[Member], n_classes: int, margin_unit: float) -> Ensemble:
    """Return the sum of members, in float64; the first of the largest sums wins."""
    if not members:
        raise UnsupportedModelError(
            "the model has no fitted members. Fit it with at least one member."
        )
    ensembles = [member.ensemble for member in members]
    nodes, first = _nodes_of_all(ensembles)
    score = np.zeros((sum(e.column.size for e in ensembles), n_classes))
    bias = np.zeros(n_classes)
    for member, at in zip(members, first, strict=True):
        scaled = member.ensemble.score * member.weight / member.whole
        score[at : at + len(scaled), member.classes] = scaled
        bias[member.classes] += member.ensemble.bias * member.weight / member.whole
    if not np.isfinite(score).all():
        raise UnsupportedModelError(
            "some weights of the model's members are not finite. Use finite weights."
        )
    ways = [e.default_left for e in ensembles if e.default_left is not None]
    exact = all(member.exact for member in members)
    plain = Ensemble(
        n_columns=ensembles[0].n_columns,
        **nodes,
        score=frozen(score),
        bias=frozen(bias),
        margin_unit=margin_unit,
        votes=False,
        rounding=rounding_of(
            score, nodes["root"], bias, terms=MEMBER_TERMS + len(members), may_be_exact=exact
        ),
        default_left=frozen(np.concatenate(ways)) if len(ways) == len(ensembles) else None,
    )
    return with_shared_sets(plain, ensembles, first)


def blended(members: Sequence[tuple[Member, Sequence[Expression]]], blend: BlendOf) -> Ensemble:
    """Return members whose outputs are blended: each has separate sums."""
    widths = [member.ensemble.n_sums for member, _ in members]
    first, n_sums = starts(np.array(widths))[:-1].tolist(), sum(widths)
    separate = [
        replace(member, classes=np.arange(at, at + width), weight=1.0, whole=1.0)
        for (member, _), at, width in zip(members, first, widths, strict=True)
    ]
    placed = [among(adds, n_sums, at) for (_, adds), at in zip(members, first, strict=True)]
    link = blend([reduce(Expression.plus, shares) for shares in zip(*placed, strict=True)])
    whole = summed(separate, n_sums, 1.0)
    return replace(whole, rounding=Rounding(), link=link)


def accompanied(ensemble: Ensemble, companions: Sequence[Companion]) -> Ensemble:
    """Return an ensemble of the trees of the first one and of all companions, in this order."""
    if not companions:
        return ensemble
    every = [ensemble, *(each.ensemble for each in companions)]
    nodes, first = _nodes_of_all(every)
    ways = [each.default_left for each in every if each.default_left is not None]
    nothing = np.zeros((sum(each.column.size for each in every[1:]), ensemble.n_sums))
    plain = replace(
        ensemble,
        **nodes,
        score=frozen(np.concatenate([ensemble.score, nothing])),
        default_left=frozen(np.concatenate(ways)) if ways else None,
        sets=None,
        unsure=_unsure(every),
        companions=tuple(
            replace(each, first=int(at)) for each, at in zip(companions, first[1:], strict=True)
        ),
    )
    return with_shared_sets(plain, every, first)


def _unsure(every: Sequence[Ensemble]) -> Mapping[int, Stretches] | None:
    """Return the union of the uncertain intervals of all ensembles, by column; None if empty."""
    by_column: dict[int, list[Stretches]] = {}
    for each in every:
        for column, stretches in (each.unsure or {}).items():
            by_column.setdefault(column, []).append(stretches)
    return {at: Stretches.of_all(parts) for at, parts in sorted(by_column.items())} or None


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
