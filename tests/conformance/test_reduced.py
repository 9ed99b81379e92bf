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


def test_a_turn_without_time_ends_after_presolve():
    step = Step(ConfiguredBackend(find_backend("search")))
    report = solve(hard_problem(), step, step, turn_s=0.0)
    outcome = report.outcome
    assert outcome.stop_reason == "time_limit" and report.provenance.attempts == ()
    assert outcome.choices  # of presolve
    assert 0 < outcome.lower <= outcome.upper


def test_bounds_of_turns_without_time_hold():
    ended = 0
    for seed in range(60):
        problem = random_problem(seed, n_trees=8)
        outcome = solve(problem, turn_s=0.0).outcome
        if outcome.stop_reason != "proved":
            cost = optimum(problem)[0]
            assert outcome.lower <= cost * (1 + 1e-9) and outcome.upper >= cost * (1 - 1e-9)
            ended += 1
    assert ended > 5
