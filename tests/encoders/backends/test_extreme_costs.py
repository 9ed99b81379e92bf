"""Costs that differ by many orders of magnitude, and cutoffs far beyond all of them."""

from dataclasses import replace

import numpy as np
import pytest

from encoders.backends.interface import Request
from encoders.backends.registry import all_backends
from encoders.testing.conformance import configurations
from encoders.testing.enumeration import optimum
from encoders.testing.random_problems import random_problem

EVERY = [own for backend in all_backends() for own in configurations(backend)]
FACTORS = ([1e6, 0.0, 0.5], [1e-300, 1e-300, 1e-300], [1e100, 1.0, 1e30], [1e-30, 1.0, 0.0])
CUTOFFS = (np.inf, 1e200, 2.0**70, 1e-20)


def problems():
    """Random problems whose axes cost a little or a lot more than each other."""
    for seed in range(3):
        problem = random_problem(seed)
        for factors in FACTORS:
            factor = np.resize(factors, problem.n_axes)
            yield replace(problem, cost=problem.cost * np.repeat(factor, problem.size))


@pytest.mark.slow
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("configuration", EVERY, ids=str)
def test_extreme_costs_are_solved_as_by_enumeration(configuration):
    """The "feasible" answers of smt, which stops at a gap of 1e-3, have true bounds."""
    tried = 0
    for number, problem in enumerate(problems()):
        if not configuration.takes(problem):
            continue
        cutoff = CUTOFFS[number % len(CUTOFFS)]
        best, _ = optimum(problem)
        outcome = configuration.solve(problem, Request(20.0, 1, cutoff=cutoff))
        slack = 2e-6 * best + 1e-290
        if best > cutoff:
            assert not outcome.choices or outcome.upper >= best - slack
            assert outcome.status != "optimal" or outcome.upper <= best + slack
            continue
        tried += 1
        assert (outcome.status == "infeasible") == np.isinf(best)
        if np.isinf(best):
            continue
        assert outcome.lower <= best + slack
        assert outcome.status == "feasible" or outcome.upper == pytest.approx(best, abs=slack)
    assert tried > 2
