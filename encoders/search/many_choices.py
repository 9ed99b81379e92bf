"""Which of many choices keep every constraint: as :meth:`Problem.admits` says it, all at once."""

import numpy as np
import numpy.typing as npt

from encoders.core.arrays import BoolArray, IntArray, starts
from encoders.core.compiled import kernel
from encoders.problem.problem import Problem
from encoders.search.outside import BITS, BYTES, mark_outside

SOME = 8  # leaves that are asked for together: of most that many none is active


def admitted(problem: Problem, choices: IntArray) -> BoolArray:
    """Return whether each choice keeps every constraint, bool (n_choices,)."""
    kept = np.ones(len(choices), dtype=np.bool_)
    if len(choices) == 0:
        return kept
    chosen = problem.level_start[:-1] + choices
    for group in problem.one_hot:
        kept &= np.isin(chosen, group).sum(axis=1) == 1
    for limited in problem.level_rows:
        kept &= limited.weight[chosen].sum(axis=1) <= limited.maximum
    n_active, lead = _added_up(problem, chosen)
    kept &= n_active == problem.tree_start.size - 1
    for own, row in zip(lead, problem.leaf_rows, strict=True):
        kept &= own >= row.minimum
    for at in np.flatnonzero(kept) if problem.forbidden else ():
        kept[at] = not problem.forbids(choices[at])
    return kept


def _added_up(problem: Problem, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return the number of leaves that contain each choice, and row weights (n_rows, n_choices).

    Levels that no choice uses are left out. Each other level has one bit per leaf, set if the leaf
    does not contain the level.
    """
    used = np.zeros(problem.cost.size, dtype=np.bool_)
    used[chosen] = True
    rank = np.cumsum(used)
    first = problem.level_start[:-1]
    level_start = starts(np.add.reduceat(used, first, dtype=np.int64))
    lo = (rank - used)[first[problem.axis] + problem.lo] - level_start[problem.axis]
    hi = rank[first[problem.axis] + problem.hi] - 1 - level_start[problem.axis]
    weight = np.array([row.weight for row in problem.leaf_rows], dtype=np.int64)
    weight = weight.reshape(len(problem.leaf_rows), problem.n_leaves)
    n_active = np.zeros(len(chosen), dtype=np.int64)
    lead = np.zeros((len(weight), len(chosen)), dtype=np.int64)
    piece = BITS * max(1, BYTES // (2 * BITS // 8 * int(level_start[-1])))
    for leaf in range(0, problem.n_leaves, piece):
        end = min(leaf + piece, problem.n_leaves)
        part = slice(problem.leaf_start[leaf], problem.leaf_start[end])
        shape = (int(level_start[-1]), -(-(end - leaf) // BITS))
        above, below = np.zeros(shape, dtype=np.uint64), np.zeros(shape, dtype=np.uint64)
        axis, leaf_of = problem.axis[part].copy(), problem.leaf_of[part] - leaf
        mark_outside(level_start, leaf_of, axis, lo[part], hi[part], above, below)
        own = weight[:, leaf:end].copy()
        _add(above | below, rank[chosen] - 1, own, n_active, lead)
    return n_active, lead


@kernel
def _add(
    beside: npt.NDArray[np.uint64],
    places: IntArray,
    weight: IntArray,
    n_active: IntArray,
    lead: IntArray,
) -> None:
    """Add up the leaves that lie beside no level of a choice."""
    out = np.zeros(beside.shape[1], dtype=np.uint64)
    for i in range(places.shape[0]):
        out[:] = 0
        for a in range(places.shape[1]):
            out |= beside[places[i, a]]
        for first in range(0, weight.shape[1], SOME):
            some = ~(out[first // BITS] >> np.uint64(first % BITS)) & np.uint64(2**SOME - 1)
            if not some:
                continue
            for leaf in range(first, min(first + SOME, weight.shape[1])):
                if (some >> np.uint64(leaf - first)) & np.uint64(1):
                    n_active[i] += 1
                    for r in range(weight.shape[0]):
                        lead[r, i] += weight[r, leaf]
