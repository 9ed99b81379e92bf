"""Many choices at once: as one by one."""

import numpy as np
import pytest

from encoders.search import many_choices
from encoders.search.many_choices import admitted
from encoders.testing.random_problems import random_problem


@pytest.mark.parametrize(("largest", "trees"), [(many_choices.BYTES, 5), (0, 40)])
def test_many_choices_are_admitted_as_one_by_one(monkeypatch, largest, trees):
    # With no room at all leaves are looked at in pieces of as many as a word has bits.
    monkeypatch.setattr(many_choices, "BYTES", largest)
    kept = refused = leaves = 0
    for seed in range(150):
        rng, problem = np.random.default_rng(seed), random_problem(seed, 6, trees)
        choices = rng.integers(0, problem.size, (40, problem.n_axes))
        for at in rng.integers(0, 40, 3):
            if problem.admits(choices[at]):
                problem = problem.without(choices[at])
        expected = [problem.admits(levels) for levels in choices]
        assert admitted(problem, choices).tolist() == expected, seed
        kept, refused = kept + sum(expected), refused + 40 - sum(expected)
        leaves = max(leaves, problem.n_leaves)
    assert kept > 150 and refused > 150 and (largest or leaves > many_choices.BITS)
    assert admitted(random_problem(0), np.empty((0, random_problem(0).n_axes), dtype=int)).size == 0
