"""Choices that who asks refuses: what is found without them, and what may still be claimed."""

import numpy as np
import pytest

from encoders.backends.interface import Request
from encoders.presolve.reduction import reduce
from encoders.search.backend import solve
from encoders.testing.enumeration import optimum
from encoders.testing.random_problems import random_problem


def refused_by(seed, problem):
    """A third of all cells, each told by the leaves that share it, and what was refused."""
    told = []

    def refuses(choice):
        leaves = problem.active_leaves(choice)
        refused = int.from_bytes(np.sort(leaves).astype("<i8").tobytes(), "little") % 7919
        if (refused + seed) % 3:
            return False
        told.append(choice)
        return True

    return refuses, told


def least_of_the_rest(problem, refuses):
    """By enumeration: the least cost of what is not refused."""
    while True:
        cost, choice = optimum(problem)
        if choice is None or not refuses(choice):
            return cost
        problem = problem.without(choice)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("threads", [1, 2])
def test_bounds_hold_and_rounds_end_in_the_optimum(seed, threads):
    problem = random_problem(seed)
    refuses, told = refused_by(seed, problem)
    expected = least_of_the_rest(problem, refuses)
    while True:
        told.clear()
        outcome = solve(problem, Request(30.0, threads, refuses=refuses))
        assert outcome.lower <= expected + 1e-9
        if outcome.choices:
            assert not refuses(outcome.choices[0])
            assert problem.distance(outcome.choices[0]) == pytest.approx(expected)
        else:
            assert np.isinf(expected)
        if not told:
            break
        for choice in told:
            problem = problem.without(choice)
    assert outcome.stop_reason == "proved"
    assert outcome.lower == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_refused_is_no_incumbent_of_a_reduction(seed):
    problem = random_problem(seed)
    refuses, _ = refused_by(seed, problem)
    expected = least_of_the_rest(problem, refuses)
    starts = np.zeros((1, problem.n_axes), dtype=np.int64)
    found = reduce(problem, starts, refuses=refuses)
    if found.incumbent is not None and found.problem is not None:
        assert not refuses(found.incumbent)
        assert problem.distance(found.incumbent) >= expected - 1e-9
    if found.problem is not None:
        left, _ = optimum(found.problem)
        assert min(left, found.upper) <= expected + 1e-9
