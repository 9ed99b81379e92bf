"""Every backend on random problems, reduced or not, against trying all choices."""

import threading

import numpy as np
import pytest

import encoders.at_least
import encoders.search
from encoders.attempt import Try
from encoders.backend import BACKENDS, Request
from encoders.reduce import Plan, Step, solve_reduced
from tests.conformance.checks import CASES, backend, check
from tests.test_reduce import optimum, random_problem

NAMES = [b.name for b in BACKENDS]
SEEDS = range(300)


@pytest.mark.parametrize(("name", "engine", "formulation"), CASES)
def test_optimum(name, engine, formulation):
    solve, capability = backend(name).load(), backend(name).capability
    for seed in SEEDS:
        problem = random_problem(seed)
        bounds, choices = [], []
        request = Request(
            60.0,
            1,
            engine=engine,
            formulation=formulation,
            on_choice=choices.append,
            on_bounds=lambda *b, kept=bounds: kept.append(b),
        )
        outcome = solve(problem, request)
        cost = optimum(problem)[0]
        check(problem, outcome, cost, capability)
        assert all(lower <= upper for upper, lower in bounds)
        assert all(lower <= cost + 1e-9 for _, lower in bounds)
        assert all(problem.admits(choice) for choice in choices)


@pytest.mark.parametrize("name", NAMES)
def test_optimum_of_the_reduced_problem(name):
    for seed in SEEDS:
        problem = random_problem(seed)
        start = np.zeros((1, problem.n_axes), dtype=np.int64)
        outcome = solve_reduced(
            problem, Request(60.0, 1), lambda *_: Plan([Step(Try(backend(name)))]), start
        )
        check(problem, outcome, optimum(problem)[0], backend(name).capability)


@pytest.mark.parametrize("name", NAMES)
def test_cutoffs(name):
    solve, capability = backend(name).load(), backend(name).capability
    for seed in SEEDS:
        problem = random_problem(seed)
        cost, _ = optimum(problem)
        if np.isfinite(cost) and cost > 0:
            below = solve(problem, Request(60.0, 1, cutoff=cost * 0.99))
            assert below.status == "infeasible" and below.choices == ()
            above = solve(problem, Request(60.0, 1, cutoff=cost * 1.01))
            check(problem, above, cost, capability)


@pytest.mark.parametrize("name", NAMES)
def test_a_stop_before_the_start_is_kept(name):
    stop = threading.Event()
    stop.set()
    outcome = backend(name).load()(random_problem(3), Request(60.0, 1, stop=stop))
    assert (outcome.status, outcome.stop_reason) == ("unknown", "interrupted")


def test_steps_follow_each_other_until_one_proves():
    """The first step has no time at all, the second one answers."""
    for seed in range(100):
        problem = random_problem(seed)
        start = np.zeros((1, problem.n_axes), dtype=np.int64)
        plan = Plan([Step(Try(backend("search")), 0.0), Step(Try(backend("cp")))], "so")
        outcome = solve_reduced(problem, Request(60.0, 1), lambda *_, p=plan: p, start)
        assert outcome.decision == ("" if outcome.backend == "reduce" else "so")
        assert outcome.backend in ("reduce", "cp")
        check(problem, outcome, optimum(problem)[0], backend("cp").capability)


def test_search_goes_depth_first_when_memory_is_short(monkeypatch):
    monkeypatch.setattr(encoders.search, "FIRST_POOL", 1)
    monkeypatch.setattr(encoders.search, "LARGEST_POOL", 1)
    for seed in SEEDS:
        problem = random_problem(seed)
        outcome = encoders.search.solve(problem, Request(60.0, 1))
        check(problem, outcome, optimum(problem)[0], backend("search").capability)


def test_maxsat_adds_up_in_binary_where_there_are_many_sums(monkeypatch):
    monkeypatch.setattr(encoders.at_least, "MOST_SUMS", 0)
    for seed in SEEDS:
        problem = random_problem(seed)
        outcome = backend("maxsat").load()(problem, Request(60.0, 1))
        check(problem, outcome, optimum(problem)[0], backend("maxsat").capability)
