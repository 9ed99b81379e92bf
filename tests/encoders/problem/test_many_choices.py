"""Many choices at once: as one by one."""

import numpy as np

from encoders.problem.many_choices import admitted
from encoders.testing.random_problems import random_problem


def test_many_choices_are_admitted_as_one_by_one():
    kept = refused = 0
    for seed in range(150):
        rng, problem = np.random.default_rng(seed), random_problem(seed)
        choices = rng.integers(0, problem.size, (40, problem.n_axes))
        for at in rng.integers(0, 40, 3):
            if problem.admits(choices[at]):
                problem = problem.without(choices[at])
        expected = [problem.admits(levels) for levels in choices]
        assert admitted(problem, choices).tolist() == expected, seed
        kept, refused = kept + sum(expected), refused + 40 - sum(expected)
    assert kept > 150 and refused > 150
    assert admitted(random_problem(0), np.empty((0, random_problem(0).n_axes), dtype=int)).size == 0
