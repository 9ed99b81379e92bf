"""Which of many choices keep every constraint: as :meth:`Problem.admits` says it, all at once."""

import numpy as np

from encoders.arrays import BoolArray, IntArray
from encoders.problem.problem import Problem

BITS = 8  # leaves that are told in one byte


def admitted(problem: Problem, choices: IntArray) -> BoolArray:
    """Whether each choice keeps every constraint, bool (n_choices,).

    Parameters
    ----------
    problem : any
    choices : int64 (n_choices, n_axes), levels within the axes
    """
    kept = np.ones(len(choices), dtype=np.bool_)
    if len(choices) == 0:
        return kept
    chosen = problem.level_start[:-1] + choices
    for group in problem.one_hot:
        kept &= np.isin(chosen, group).sum(axis=1) == 1
    for limited in problem.level_rows:
        kept &= limited.weight[chosen].sum(axis=1) <= limited.maximum
    choice, leaf = np.nonzero(_active(problem, choices))
    n_active = np.bincount(choice, minlength=len(choices))
    kept &= n_active == problem.tree_start.size - 1
    for row in problem.leaf_rows:
        lead = np.zeros(len(choices), dtype=np.int64)
        np.add.at(lead, choice, row.weight[leaf])
        kept &= lead >= row.minimum
    for at in np.flatnonzero(kept) if problem.forbidden else ():
        kept[at] = not problem.forbids(choices[at])
    return kept


def _active(problem: Problem, choices: IntArray) -> BoolArray:
    """Which leaves hold each choice, bool (n_choices, n_leaves)."""
    n_leaves = problem.n_leaves
    misses = np.zeros((len(choices), -(-n_leaves // BITS)), dtype=np.uint8)
    leaf_of = problem.leaf_of
    order = np.argsort(problem.axis, kind="stable")
    first = np.searchsorted(problem.axis[order], np.arange(problem.n_axes + 1))
    for a in np.flatnonzero(np.diff(first)):
        own = order[first[a] : first[a + 1]]
        levels, place = np.unique(choices[:, a], return_inverse=True)
        broken = np.zeros((levels.size, n_leaves), dtype=np.bool_)
        outside = (levels[:, None] < problem.lo[own]) | (levels[:, None] > problem.hi[own])
        broken[:, leaf_of[own]] = outside
        misses |= np.packbits(broken, axis=1)[place]
    active: BoolArray = np.unpackbits(misses, axis=1, count=n_leaves) == 0
    return active
