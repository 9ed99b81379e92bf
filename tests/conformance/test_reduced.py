"""Reduction before a backend changes no optimum; steps follow each other."""

import numpy as np
import pytest

from encoders.backends.attempt import ConfiguredBackend
from encoders.backends.interface import Request
from encoders.backends.registry import BUILT_IN, find_backend
from encoders.testing.answers import check_outcome
from encoders.testing.enumeration import optimum
from encoders.testing.hard_problem import hard_problem
from encoders.testing.named_problems import NAMED
from encoders.testing.random_problems import random_problem
from portfolio.engine.reduced import Plan, Step, solve_reduced
from tests.support.parts import few_and_large

SEEDS = 30


def solve(problem, *steps, why="", **settings):
    start, request = np.zeros((1, problem.n_axes), dtype=np.int64), Request(60.0, 1, **settings)
    return solve_reduced(problem, request, lambda *_: Plan(list(steps), why), start)


@pytest.mark.parametrize("backend", BUILT_IN, ids=lambda backend: backend.name)
def test_named_problems(backend):
    for named in NAMED:
        if named.problem.aggregate in backend.capability.aggregates:
            outcome = solve(named.problem, Step(ConfiguredBackend(backend))).outcome
            check_outcome(named.problem, outcome, named.optimum, backend.capability)


@pytest.mark.slow
@pytest.mark.parametrize("part", few_and_large(1, 12))
@pytest.mark.parametrize("backend", BUILT_IN, ids=lambda backend: backend.name)
def test_random_problems(backend, part):
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        problem = random_problem(seed)
        outcome = solve(problem, Step(ConfiguredBackend(backend))).outcome
        check_outcome(problem, outcome, optimum(problem)[0], backend.capability)


@pytest.mark.slow
def test_steps_follow_each_other_until_one_proves():
    """The first step has no time at all, the second one answers."""
    first = Step(ConfiguredBackend(find_backend("search")), 0.0)
    second = Step(ConfiguredBackend(find_backend("cp")))
    for seed in range(100):
        problem = random_problem(seed)
        report = solve(problem, first, second, why="so")
        told = report.provenance
        assert told.decision == ("" if told.backend == "reduce" else "so")
        assert told.backend in ("reduce", "cp")
        cost = optimum(problem)[0]
        check_outcome(problem, report.outcome, cost, find_backend("cp").capability)


def test_a_turn_ends_after_presolve_and_no_step_follows():
    step = Step(ConfiguredBackend(find_backend("search")))
    report = solve(hard_problem(), step, step, turn_s=0.0)
    assert report.outcome.stop_reason == "time_limit"
    assert len(report.provenance.attempts) == 1
    assert report.outcome.choices  # by presolve
