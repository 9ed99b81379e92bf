"""Every backend on random problems, reduced or not, against trying all choices."""

import threading

import numpy as np
import pytest

import encoders.search
from encoders.backend import BACKENDS, Request
from encoders.reduce import Step, solve_reduced
from tests.test_reduce import optimum, random_problem

CASES = [(b.name, f) for b in BACKENDS for f in b.formulations]
SEEDS = range(300)


def backend(name):
    return next(b for b in BACKENDS if b.name == name)


def check(problem, outcome, cost, tolerance=1e-9):
    if np.isinf(cost):
        assert outcome.status == "infeasible"
        return
    assert outcome.status == "optimal" and outcome.stop_reason == "proved"
    assert outcome.upper == pytest.approx(cost, rel=tolerance, abs=1e-9)
    assert outcome.lower == pytest.approx(cost, rel=10 * tolerance, abs=1e-9)
    assert problem.admits(outcome.choices[0])


@pytest.mark.parametrize(("name", "formulation"), CASES)
def test_optimum(name, formulation):
    solve, tolerance = backend(name).load(), backend(name).capability.tolerance
    for seed in SEEDS:
        problem = random_problem(seed)
        bounds = []
        request = Request(
            60.0, 1, formulation=formulation, on_bounds=lambda *b, kept=bounds: kept.append(b)
        )
        check(problem, solve(problem, request), optimum(problem)[0], tolerance)
        assert all(lower <= upper for upper, lower in bounds)


@pytest.mark.parametrize("name", [b.name for b in BACKENDS])
def test_optimum_of_the_reduced_problem(name):
    for seed in SEEDS:
        problem = random_problem(seed)
        start = np.zeros((1, problem.n_axes), dtype=np.int64)
        outcome = solve_reduced(problem, Request(60.0, 1), lambda _: [Step(backend(name))], start)
        check(problem, outcome, optimum(problem)[0], backend(name).capability.tolerance)


@pytest.mark.parametrize("name", [b.name for b in BACKENDS])
def test_cutoffs(name):
    solve = backend(name).load()
    for seed in SEEDS:
        problem = random_problem(seed)
        cost, _ = optimum(problem)
        if np.isfinite(cost) and cost > 0:
            below = solve(problem, Request(60.0, 1, cutoff=cost * 0.99))
            assert below.status == "infeasible" and below.choices == ()
            above = solve(problem, Request(60.0, 1, cutoff=cost * 1.01))
            assert above.upper == pytest.approx(cost)


@pytest.mark.parametrize("name", [b.name for b in BACKENDS])
def test_a_stop_before_the_start_is_kept(name):
    stop = threading.Event()
    stop.set()
    outcome = backend(name).load()(random_problem(3), Request(60.0, 1, stop=stop))
    assert (outcome.status, outcome.stop_reason) == ("unknown", "interrupted")


def test_search_goes_depth_first_when_memory_is_short(monkeypatch):
    monkeypatch.setattr(encoders.search, "FIRST_POOL", 1)
    monkeypatch.setattr(encoders.search, "LARGEST_POOL", 1)
    for seed in SEEDS:
        problem = random_problem(seed)
        check(problem, encoders.search.solve(problem, Request(60.0, 1)), optimum(problem)[0])
