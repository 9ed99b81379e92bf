"""Thresholds cut every column into cells; every leaf is a box of consecutive cells."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, IntArray, frozen, starts
from encoders.trees.ensemble import Ensemble


@dataclass(frozen=True, eq=False)
class Cells:
    """The finite domain of an ensemble, before any query is known.

    Cell ``m`` of a column holds the values ``boundary[m-1] < v <= boundary[m]`` (open at both
    ends of the line). A leaf is a sparse list of literals ``lo <= cell <= hi``, one per column
    on its path; columns it does not test are absent.

    Attributes
    ----------
    boundary : tuple of float64 arrays, one per column, strictly increasing
    tree_start : int64 (n_trees + 1,), leaves of tree t
    leaf_start : int64 (n_leaves + 1,), literals of leaf l
    column, lo, hi : int64 (n_literals,)
    node : int64 (n_leaves,), the leaf's node in the ensemble
    score : float64 (n_leaves, n_classes)
    length : float64 (n_leaves,), as in :class:`encoders.trees.ensemble.Ensemble`, or None
    """

    boundary: tuple[FloatArray, ...]
    tree_start: IntArray
    leaf_start: IntArray
    column: IntArray
    lo: IntArray
    hi: IntArray
    node: IntArray
    score: FloatArray
    length: FloatArray | None = None


def cut(ensemble: Ensemble) -> Cells:
    """Partition the input space by the ensemble's splits; leaves no value reaches are dropped.

    Parameters
    ----------
    ensemble : of any trees
    """
    boundary, position = _boundaries(ensemble)
    leaves = np.flatnonzero(ensemble.column < 0)
    leaf, column, lo, hi = _path_literals(ensemble, leaves, position, boundary)
    tree = np.searchsorted(ensemble.root, leaves, side="right") - 1
    reachable = np.ones(leaves.size, dtype=bool)
    reachable[leaf[lo > hi]] = False
    renumber = np.cumsum(reachable) - 1
    kept = reachable[leaf]
    counts = np.bincount(renumber[leaf[kept]], minlength=int(reachable.sum()))
    return Cells(
        boundary=boundary,
        tree_start=frozen(starts(np.bincount(tree[reachable], minlength=ensemble.root.size))),
        leaf_start=frozen(starts(counts)),
        column=frozen(column[kept]),
        lo=frozen(lo[kept]),
        hi=frozen(hi[kept]),
        node=frozen(leaves[reachable]),
        score=frozen(ensemble.score[leaves[reachable]]),
        length=None if ensemble.length is None else frozen(ensemble.length[leaves[reachable]]),
    )


def _boundaries(ensemble: Ensemble) -> tuple[tuple[FloatArray, ...], IntArray]:
    """Distinct ``last_left`` per column, and each inner node's index among them."""
    position = np.full(ensemble.column.size, -1, dtype=np.int64)
    boundary = []
    for column in range(ensemble.n_columns):
        nodes = np.flatnonzero(ensemble.column == column)
        values, index = np.unique(ensemble.last_left[nodes], return_inverse=True)
        position[nodes] = index
        boundary.append(frozen(values))
    return tuple(boundary), position


def _path_literals(
    ensemble: Ensemble, leaves: IntArray, position: IntArray, boundary: tuple[FloatArray, ...]
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Climb from all leaves at once; intersect the splits met on the same column."""
    parent = np.full(ensemble.column.size, -1, dtype=np.int64)
    is_right = np.zeros(ensemble.column.size, dtype=bool)
    inner = np.flatnonzero(ensemble.column >= 0)
    parent[ensemble.left[inner]] = inner
    parent[ensemble.right[inner]] = inner
    is_right[ensemble.right[inner]] = True

    leaf, node = np.arange(leaves.size), leaves
    steps: list[tuple[IntArray, IntArray, IntArray, IntArray]] = []
    last = np.array([b.size for b in boundary], dtype=np.int64)
    while (alive := parent[node] >= 0).any():
        leaf, node = leaf[alive], node[alive]
        above = parent[node]
        column = ensemble.column[above]
        lo = np.where(is_right[node], position[above] + 1, 0)
        hi = np.where(is_right[node], last[column], position[above])
        steps.append((leaf, column, lo, hi))
        node = above
    if not steps:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing, nothing
    leaf, column, lo, hi = (np.concatenate(part) for part in zip(*steps, strict=True))
    order = np.lexsort((column, leaf))
    leaf, column, lo, hi = leaf[order], column[order], lo[order], hi[order]
    first = np.flatnonzero(np.r_[True, (np.diff(leaf) != 0) | (np.diff(column) != 0)])
    return (
        leaf[first],
        column[first],
        np.maximum.reduceat(lo, first),
        np.minimum.reduceat(hi, first),
    )


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
        code[:, column] = np.searchsorted(boundary, seen[:, column])
    return code
