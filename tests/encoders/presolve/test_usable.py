"""No leaf is dropped that a choice below the cutoff uses."""

import numpy as np
import pytest

from encoders.presolve.usable import usable
from encoders.testing.random_problems import random_problem

SEEDS = range(40)


def leaves_in_use(problem, cutoff):
    """Leaves that are active in any choice that keeps all rows and costs less, by trying all."""
    used = np.zeros(problem.n_leaves, dtype=bool)
    for index in np.ndindex(*problem.size.tolist()):
        levels = np.array(index, dtype=np.int64)
        if problem.distance(levels) < cutoff and problem.keeps_rows(levels):
            used[problem.active_leaves(levels)] = True
    return used


@pytest.mark.parametrize("cutoff", [0.4, 1.0, np.inf])
def test_no_leaf_of_anything_cheaper_is_dropped(cutoff):
    dropped = empty = 0
    for seed in SEEDS:
        problem = random_problem(seed)
        used, alive = leaves_in_use(problem, cutoff), usable(problem, cutoff)
        if alive is None:
            assert not used.any()
            empty += 1
            continue
        assert not (used & ~alive).any()
        dropped += int((~alive).sum())
        again = usable(problem.only(alive), cutoff)
        assert again is None or not (used[alive] & ~again).any()
    assert dropped > 20 and empty > 3


def test_a_problem_of_fewer_leaves_admits_the_choices_that_lie_in_them():
    for seed in SEEDS[:20]:
        problem = random_problem(seed)
        rng = np.random.default_rng(seed)
        alive = rng.random(problem.n_leaves) < 0.7
        alive[problem.tree_start[:-1]] = True
        fewer = problem.only(alive)
        for index in np.ndindex(*problem.size.tolist()):
            levels = np.array(index, dtype=np.int64)
            inside = alive[problem.active_leaves(levels)].all()
            assert fewer.admits(levels) == (problem.admits(levels) and inside)
