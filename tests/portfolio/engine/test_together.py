"""Problems that need more and more of their rows: each optimum against plain enumeration."""

import math
from dataclasses import replace

import numpy as np
import pytest

from encoders.backends.attempt import ConfiguredBackend
from encoders.backends.interface import Request
from encoders.problem.flat_problem import tabulate
from encoders.search import rising
from encoders.testing.enumeration import optimum
from encoders.testing.random_problems import random_problem
from portfolio.engine import ahead
from portfolio.engine.ahead import differ_in_needs, solve_together
from portfolio.engine.reduced import Plan, Step, solve_left
from selector import named
from tests.support.parts import few_and_large

PART = 150
FIND = ahead.find_incumbent
REQUEST = Request(time_limit_s=60.0, threads=1)


@pytest.fixture(params=few_and_large(1, 20))
def seeds(request):
    return range(PART * request.param, PART * (request.param + 1))


def by_search(problem, request):
    return Plan([Step(ConfiguredBackend(named(problem, "search").backend))])


def most(problem, row):
    """What the heaviest leaves of all trees weigh together."""
    return np.maximum.reduceat(row.weight, problem.tree_start[:-1]).sum()


def rising_problems(seed):
    """Five to eight of them; most rows need more and more, others always the same."""
    problem, rng = random_problem(seed), np.random.default_rng(seed)
    rises = [rng.random() < 0.9 for _ in problem.leaf_rows]
    problems = []
    for share in np.sort(rng.random(int(rng.integers(5, 9)))):
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


@pytest.mark.slow
def test_each_is_the_optimum(seeds):
    proved = different = impossible = 0
    for seed in seeds:
        problems = rising_problems(seed)
        costs = [optimum(problem)[0] for problem in problems]
        different += len({cost for cost in costs if math.isfinite(cost)}) > 1
        for problem, cost, found in zip(problems, costs, solved(problems), strict=True):
            if found is None or found.left.problem is not None:
                continue
            report = found.report
            if math.isinf(cost):
                assert report.outcome.status == "infeasible" and not report.outcome.choices, seed
                assert report.outcome.lower == math.inf, seed
                impossible += 1
                continue
            (choice,) = report.outcome.choices
            assert problem.admits(choice), seed
            assert problem.distance(choice) == report.outcome.upper == report.outcome.lower, seed
            assert math.isclose(report.outcome.upper, cost, rel_tol=1e-9, abs_tol=1e-12), seed
            proved += 1
    assert proved > PART and different > PART / 5 and impossible > 0


@pytest.mark.slow
def test_the_search_finds_them_without_any_known(seeds, monkeypatch):
    monkeypatch.setattr(rising, "FIRST_SLICE", 2)
    for seed in seeds:
        monkeypatch.setattr(rising, "HARD", 300 * (seed % 2))
        problems = rising_problems(seed)
        need = np.array([[row.minimum for row in p.leaf_rows] for p in problems], dtype=np.int64)
        above = np.full(len(problems), 1.0 + problems[0].cost.sum())
        tables = tabulate(problems[0])
        risen = rising.search_rising(problems[0], tables, need, above, lambda: False)
        costs = [optimum(problem)[0] for problem in problems]
        assert risen.settled.all() and np.allclose(risen.cost, costs, rtol=1e-9, atol=1e-12), seed


def test_what_was_found_is_told_where_there_is_no_time_to_search(seeds, monkeypatch):
    walked, told = [], 0

    def counted(*given):
        walked.append(FIND(*given))
        return walked[-1]

    monkeypatch.setattr(ahead, "find_incumbent", counted)
    for seed in seeds:
        walked.clear()
        problems = rising_problems(seed)
        found = solved(problems, over=lambda: bool(walked))
        for problem, own in zip(problems, found, strict=True):
            if own is not None:
                (choice,) = own.report.outcome.choices
                assert problem.admits(choice) and own.report.outcome.status == "feasible", seed
                assert own.left.problem is problem and own.report.outcome.lower == 0, seed
                told += 1
    assert told > PART / 5


@pytest.mark.slow
@pytest.mark.parametrize("looks", [0, 20])
def test_what_is_left_is_solved_later(seeds, looks, monkeypatch):
    monkeypatch.setattr(rising, "MOST", looks)
    monkeypatch.setattr(rising, "FIRST_SLICE", 2)
    left = missed = bounded = 0
    for seed in seeds:
        problems = rising_problems(seed)
        for problem, found in zip(problems, solved(problems), strict=True):
            if found is None or found.left.problem is None:
                continue
            cost, known = optimum(problem)[0], found.report.outcome
            own = solve_left(problem, found.report, found.left, REQUEST, by_search).outcome
            if not known.choices:  # none was found
                missed += 1
                bounded += known.lower > 0
                assert known.upper == found.left.upper == math.inf, seed
                assert 0 <= known.lower <= cost, seed
                if math.isinf(cost):
                    assert own.status == "infeasible" and own.stop_reason == "proved", seed
                    continue
            else:
                assert problem.admits(known.choices[0]), seed
                assert problem.distance(known.choices[0]) == known.upper == found.left.upper, seed
            assert known.lower <= cost * (1 + 1e-9) and cost <= known.upper * (1 + 1e-9), seed
            assert own.status == "optimal" and problem.admits(own.choices[0]), seed
            assert math.isclose(problem.distance(own.choices[0]), cost, rel_tol=1e-9), seed
            assert math.isclose(own.lower, cost, rel_tol=1e-9) and own.upper >= own.lower, seed
            left += 1
    assert left > 0 and missed > 0 and (bounded > 0) == (looks > 0), (left, missed, bounded)
    assert all(found is None for found in solved(rising_problems(0), over=lambda: True))


def test_other_weights_are_other_problems():
    problem = next(p for p in map(random_problem, range(9)) if p.leaf_rows)
    row = problem.leaf_rows[0]
    other = replace(problem, leaf_rows=(replace(row, weight=row.weight + 1),))
    less = replace(problem, leaf_rows=(replace(row, minimum=row.minimum - 1),))
    assert not differ_in_needs([problem, other])
    assert not differ_in_needs([replace(problem, leaf_rows=(row,)), less])
    assert not differ_in_needs([problem, replace(problem, leaf_rows=())])
