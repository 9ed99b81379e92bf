"""Rows that ask for one of their axes are a clause each: hitting sets are made of such rows."""

from itertools import combinations

import numpy as np
import pytest

from encoders.backends.interface import Request
from encoders.backends.maxsat.clauses import write_clauses
from encoders.backends.registry import find_backend
from encoders.testing.enumeration import optimum
from portfolio.questions.set_problems import hitting_sets

N = 8  # features


def sets_of(seed):
    rng = np.random.default_rng(seed)
    found = rng.random((12, N)) < rng.choice([0.2, 0.4])
    found[~found.any(axis=1), 0] = True
    return list(found)


@pytest.mark.parametrize("seed", range(10))
def test_fewest_features_that_touch_every_set(seed):
    sets = sets_of(seed)
    problem = hitting_sets(sets)
    fewest = next(
        size
        for size in range(N + 1)
        for taken in combinations(range(N), size)
        if all(own[list(taken)].any() for own in sets)
    )
    assert optimum(problem)[0] == fewest
    clauses = write_clauses(problem)
    assert clauses.n_variables == 1 + N + 1  # truth, the axes, and a leaf that is always active
    assert len(clauses.hard) == 2 + len(sets)
    outcome = find_backend("maxsat").load()(problem, Request(30, 1))
    assert (outcome.status, outcome.upper) == ("optimal", fewest)
