"""Problems that need more and more of their rows: each optimum against plain enumeration."""

import math
from dataclasses import replace

import numpy as np
import pytest

from encoders.backends.search import rising
from encoders.testing.enumeration import optimum
from encoders.testing.random_problems import random_problem
from portfolio.solving.together import differ_in_needs, solve_together
from tests.support.parts import few_and_large

PART = 150


@pytest.fixture(params=few_and_large(1, 20))
def seeds(request):
    return range(PART * request.param, PART * (request.param + 1))


def most(problem, row):
    """What the heaviest leaves of all trees weigh together."""
    return np.maximum.reduceat(row.weight, problem.tree_start[:-1]).sum()


def rising_problems(seed):
    """Up to eight of them; some rows need more and more, others always the same."""
    problem, rng = random_problem(seed), np.random.default_rng(seed)
    rises = [rng.random() < 0.7 for _ in problem.leaf_rows]
    problems = []
    for share in np.sort(rng.random(int(rng.integers(2, 9)))):
        rows = tuple(
            replace(row, minimum=int(share * most(problem, row))) if up else row
            for row, up in zip(problem.leaf_rows, rises, strict=True)
        )
        problems.append(replace(problem, leaf_rows=rows))
    return problems


def solved(problems, over=lambda: False):
    assert differ_in_needs(problems)
    nothing = np.empty((0, problems[0].n_axes), dtype=np.int64)
    return solve_together(problems, lambda at: nothing, over)


def test_each_is_the_optimum(seeds):
    proved = different = 0
    for seed in seeds:
        problems = rising_problems(seed)
        costs = [optimum(problem)[0] for problem in problems]
        different += len({cost for cost in costs if math.isfinite(cost)}) > 1
        for problem, cost, report in zip(problems, costs, solved(problems), strict=True):
            if report is None:
                continue
            (choice,) = report.outcome.choices
            assert problem.admits(choice), seed
            assert problem.distance(choice) == report.outcome.upper == report.outcome.lower, seed
            assert math.isclose(report.outcome.upper, cost, rel_tol=1e-9, abs_tol=1e-12), seed
            proved += 1
    assert proved > PART and different > PART / 5


def test_the_search_finds_them_without_any_known(seeds):
    for seed in seeds:
        problems = rising_problems(seed)
        need = np.array([[row.minimum for row in p.leaf_rows] for p in problems], dtype=np.int64)
        above = np.full(len(problems), 1.0 + problems[0].cost.sum())
        risen = rising.search_rising(problems[0], need, above, lambda: False)
        costs = [optimum(problem)[0] for problem in problems]
        assert risen.settled.all() and np.allclose(risen.cost, costs, rtol=1e-9, atol=1e-12), seed


def test_what_takes_too_long_is_left(monkeypatch):
    whole = [solved(rising_problems(seed)) for seed in range(40)]
    monkeypatch.setattr(rising, "FIRST_LOOKS", 0)
    short = [solved(rising_problems(seed)) for seed in range(40)]
    left = sum(report is None for reports in short for report in reports)
    assert left > sum(report is None for reports in whole for report in reports)
    assert all(report is None for report in solved(rising_problems(0), over=lambda: True))


def test_other_weights_are_other_problems():
    problem = next(p for p in map(random_problem, range(9)) if p.leaf_rows)
    row = problem.leaf_rows[0]
    other = replace(problem, leaf_rows=(replace(row, weight=row.weight + 1),))
    less = replace(problem, leaf_rows=(replace(row, minimum=row.minimum - 1),))
    assert not differ_in_needs([problem, other])
    assert not differ_in_needs([replace(problem, leaf_rows=(row,)), less])
    assert not differ_in_needs([problem, replace(problem, leaf_rows=())])
