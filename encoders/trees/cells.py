"""Thresholds cut every column into cells; every leaf is a box of consecutive cells."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, frozen, owners, starts
from encoders.trees.ensemble import Ensemble
from encoders.trees.groups import Group, group_of
from encoders.trees.set_splits import cell_of

# Leaves whose paths are looked at together: more take more memory, 1 kB each in deep trees.
SOME_LEAVES = 50_000


@dataclass(frozen=True, eq=False)
class Cells:
    """The finite domain of an ensemble, before any query is known.

    Cell ``m`` of a column holds the values ``boundary[m-1] < v <= boundary[m]`` (open at both
    ends of the line); one more, the last, is for what is missing. A leaf is a sparse list of
    literals ``lo <= cell <= hi``, one per column on its path; columns it does not test are absent.
    Columns that are split into sets of values have a :class:`Group` instead.

    Attributes
    ----------
    boundary : tuple of float64 arrays, one per column, strictly increasing
    tree_start : int64 (n_trees + 1,), leaves of tree t
    leaf_start : int64 (n_leaves + 1,), literals of leaf l
    column, lo, hi : int64 (n_literals,); lo > hi where only a missing value gets to the leaf
    takes_missing : bool (n_literals,), whether a missing value does; None where none may be missing
    node : int64 (n_leaves,), the leaf's node in the ensemble
    score : float64 (n_leaves, n_classes)
    groups : one per column that is split into sets
    """

    boundary: tuple[FloatArray, ...]
    tree_start: IntArray
    leaf_start: IntArray
    column: IntArray
    lo: IntArray
    hi: IntArray
    node: IntArray
    score: FloatArray
    takes_missing: BoolArray | None = None
    groups: tuple[Group, ...] = ()

    @cached_property
    def n_cells(self) -> IntArray:
        """Cells of each column, that of missing values included, int64 (n_columns,)."""
        return np.array([boundary.size + 2 for boundary in self.boundary], dtype=np.int64)

    def only(self, leaves: IntArray) -> "Cells":
        """The same domain with some of the leaves.

        Parameters
        ----------
        leaves : int64 (n_chosen,), ascending
        """
        first, count = self.leaf_start[leaves], np.diff(self.leaf_start)[leaves]
        leaf_start = starts(count)
        literal = np.arange(leaf_start[-1]) + np.repeat(first - leaf_start[:-1], count)
        tree = owners(self.tree_start)[leaves]
        chosen = np.zeros(self.node.size, dtype=np.bool_)
        chosen[leaves] = True
        missing = self.takes_missing
        return replace(
            self,
            tree_start=starts(np.bincount(tree, minlength=self.tree_start.size - 1)),
            leaf_start=leaf_start,
            column=self.column[literal],
            lo=self.lo[literal],
            hi=self.hi[literal],
            node=self.node[leaves],
            score=self.score[leaves],
            takes_missing=None if missing is None else missing[literal],
            groups=tuple(group.only(chosen) for group in self.groups),
        )


def cut(ensemble: Ensemble) -> Cells:
    """Partition the input space by the ensemble's splits; leaves no value reaches are dropped.

    Parameters
    ----------
    ensemble : of any trees
    """
    boundary, position = _boundaries(ensemble)
    leaves = np.flatnonzero(ensemble.column < 0)
    above = _parents(ensemble)
    some = max(len(leaves), 1) if ensemble.sets is not None else SOME_LEAVES
    found: list[tuple[IntArray, IntArray, IntArray, IntArray, BoolArray]] = []
    groups: tuple[Group, ...] = ()
    for first in range(0, max(len(leaves), 1), some):
        steps = _climb(leaves[first : first + some], *above)
        literals = _path_literals(ensemble, steps, position, boundary)
        found.append((literals[0] + first, *literals[1:]))
        groups = tuple(_groups(ensemble, steps))
    leaf, column, lo, hi, missing = (np.concatenate(part) for part in zip(*found, strict=True))
    tree = np.searchsorted(ensemble.root, leaves, side="right") - 1
    reachable = np.ones(leaves.size, dtype=bool)
    reachable[leaf[(lo > hi) & ~missing]] = False
    for group in groups:
        reachable[group.leaf[~group.allowed.any(axis=1)]] = False
    if not reachable.all():
        kept = reachable[leaf]
        leaf, column, lo, hi, missing = (
            part[kept] for part in (np.cumsum(reachable)[leaf] - 1, column, lo, hi, missing)
        )
    counts = np.bincount(leaf, minlength=int(reachable.sum()))
    return Cells(
        boundary=boundary,
        tree_start=frozen(starts(np.bincount(tree[reachable], minlength=ensemble.root.size))),
        leaf_start=frozen(starts(counts)),
        column=frozen(column),
        lo=frozen(lo),
        hi=frozen(hi),
        node=frozen(leaves[reachable]),
        score=frozen(ensemble.score[leaves[reachable]]),
        takes_missing=None if ensemble.default_left is None else frozen(missing),
        groups=tuple(group.only(reachable) for group in groups),
    )


@dataclass(frozen=True, eq=False)
class _Steps:
    """Every split above every leaf.

    Attributes
    ----------
    leaf : int64 (n_steps,), place among the leaves
    node : int64 (n_steps,), the split
    right : bool (n_steps,), whether the way to the leaf turns right there
    """

    leaf: IntArray
    node: IntArray
    right: BoolArray


def _boundaries(ensemble: Ensemble) -> tuple[tuple[FloatArray, ...], IntArray]:
    """Distinct ``last_left`` per column, and each inner node's index among them."""
    position = np.full(ensemble.column.size, -1, dtype=np.int64)
    edges = {} if ensemble.sets is None else ensemble.sets.edges
    boundary = []
    for column in range(ensemble.n_columns):
        nodes = np.flatnonzero(ensemble.column == column)
        values, index = np.unique(ensemble.last_left[nodes], return_inverse=True)
        position[nodes] = index
        boundary.append(frozen(edges.get(column, values)))
    return tuple(boundary), position


def _parents(ensemble: Ensemble) -> tuple[IntArray, BoolArray]:
    """The node above each, -1 for none, and whether it is the right one of two."""
    parent = np.full(ensemble.column.size, -1, dtype=np.int64)
    is_right = np.zeros(ensemble.column.size, dtype=bool)
    inner = np.flatnonzero(ensemble.column >= 0)
    parent[ensemble.left[inner]] = inner
    parent[ensemble.right[inner]] = inner
    is_right[ensemble.right[inner]] = True
    return parent, is_right


def _climb(leaves: IntArray, parent: IntArray, is_right: BoolArray) -> _Steps:
    """Climb from some leaves at once."""
    leaf, node = np.arange(leaves.size), leaves
    steps = [(leaf[:0], node[:0], is_right[:0])]
    while (alive := parent[node] >= 0).any():
        leaf, node = leaf[alive], node[alive]
        steps.append((leaf, parent[node], is_right[node]))
        node = parent[node]
    return _Steps(*(np.concatenate(part) for part in zip(*steps, strict=True)))


def _path_literals(
    ensemble: Ensemble, steps: _Steps, position: IntArray, boundary: tuple[FloatArray, ...]
) -> tuple[IntArray, IntArray, IntArray, IntArray, BoolArray]:
    """Intersect the thresholds met on the same column."""
    leaf, node, right = steps.leaf, steps.node, steps.right
    if ensemble.sets is not None:
        plain = ensemble.sets.of_node[node] < 0
        leaf, node, right = leaf[plain], node[plain], right[plain]
    column = ensemble.column[node]
    last = np.array([b.size for b in boundary], dtype=np.int64)
    lo = np.where(right, position[node] + 1, 0)
    hi = np.where(right, last[column], position[node])
    default_left = ensemble.default_left
    missing = np.zeros(leaf.size, dtype=bool)
    if default_left is not None:
        missing = default_left[node] != right
    if leaf.size == 0:
        return leaf, column, lo, hi, missing
    order = np.argsort(leaf * ensemble.n_columns + column, kind="stable")
    leaf, column, lo, hi = leaf[order], column[order], lo[order], hi[order]
    first = np.flatnonzero(np.r_[True, (np.diff(leaf) != 0) | (np.diff(column) != 0)])
    return (
        leaf[first],
        column[first],
        np.maximum.reduceat(lo, first),
        np.minimum.reduceat(hi, first),
        np.logical_and.reduceat(missing[order], first),
    )


def _groups(ensemble: Ensemble, steps: _Steps) -> Iterator[Group]:
    """Intersect the sets met on the same column."""
    sets = ensemble.sets
    if sets is None:
        return
    column = ensemble.column[steps.node]
    for own in sets.edges:
        mine = np.flatnonzero(column == own)
        of_node = sets.of_node[steps.node[mine]]
        used, index = np.unique(of_node, return_inverse=True)
        members = sets.members(own, used)
        yield group_of(own, members, steps.leaf[mine], index, steps.right[mine])


def codes(cells: Cells, rows: FloatArray, dtype: np.dtype[Any]) -> IntArray:
    """The cell of every value, int64 (n_rows, n_columns), for float64 rows.

    Parameters
    ----------
    cells : of a model
    rows : float64 (n_rows, n_columns)
    dtype : the model's input type
    """
    seen = rows.astype(dtype).astype(np.float64)
    code = np.empty(rows.shape, dtype=np.int64)
    for column, boundary in enumerate(cells.boundary):
        code[:, column] = cell_of(boundary, seen[:, column])
    return code
