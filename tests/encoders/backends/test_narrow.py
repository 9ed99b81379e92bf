"""Tables of a box: every choice within has the same leaves there, and misses rows by as much."""

import numpy as np
import pytest

from encoders.problem.flat_problem import tabulate
from encoders.search.narrow import narrowed
from encoders.testing.random_problems import random_problem


def holding(t, choice):
    """The leaves that hold a choice."""
    first = t.leaf_start
    spans = [slice(first[leaf], first[leaf + 1]) for leaf in range(first.size - 1)]
    return [
        leaf
        for leaf, own in enumerate(spans)
        if ((t.lo[own] <= choice[t.axis[own]]) & (choice[t.axis[own]] <= t.hi[own])).all()
    ]


@pytest.mark.slow
def test_choices_in_live_leaves_keep_their_leaves_and_what_rows_miss():
    kept = lost = 0
    for seed in range(150):
        problem, rng = random_problem(seed), np.random.default_rng(seed)
        t = tabulate(problem)
        live = rng.random(problem.n_leaves) < 0.8
        live[t.tree_start[:-1]] = True  # at least one in each tree
        lo, hi = np.zeros_like(problem.size), problem.size - 1
        hi[0] = rng.integers(problem.size[0])
        low, high = lo.copy(), hi.copy()
        own, leaf, out = narrowed(t, live, low, high)
        assert not set(leaf) & set(out) and set(leaf) | set(out) == set(np.flatnonzero(live))
        for index in np.ndindex(*(hi - lo + 1).tolist()):
            choice = np.array(index)
            active = holding(t, choice)
            if not live[active].all():
                lost += 1
                continue
            assert (low <= choice).all() and (choice <= high).all(), seed
            inside = holding(own, choice)
            assert sorted([*leaf[inside], *out]) == active, seed
            missing = t.need - t.weight[:, active].sum(axis=1)
            assert (missing == own.need - own.weight[:, inside].sum(axis=1)).all(), seed
            assert (np.bincount(own.tree_of[inside], minlength=own.tree_start.size - 1) == 1).all()
            kept += 1
        for r in range(t.need.size):
            for first, end in zip(own.tree_start[:-1], own.tree_start[1:], strict=True):
                assert sorted(own.order[r, first:end]) == list(range(first, end))
                assert (np.diff(own.weight[r, own.order[r, first:end]]) <= 0).all()
    assert kept > 500 and lost > 100
