"""Long searches: local search for a better incumbent, and trials below the incumbent."""

import numpy as np
import pytest

from encoders.backends.interface import Request
from encoders.backends.registry import find_backend
from encoders.presolve.bounds.lagrange import bound_by_prices
from encoders.problem.flat_problem import tabulate
from encoders.search import backend, team
from encoders.search.improve import Improver
from encoders.search.trials import Trial, next_limit
from encoders.testing.answers import check_outcome
from encoders.testing.enumeration import optimum
from encoders.testing.hard_problem import hard_problem
from encoders.testing.random_problems import random_problem

SEARCH = find_backend("search")
HARD = 16, 12  # trees and levels at most, so that some searches take hundreds of nodes


@pytest.fixture
def long(monkeypatch):
    """Each search is long from its first node on; the limits of its trials."""
    limits = []

    def recorded(trials, floor, upper):
        limits.append(next_limit(trials, floor, upper))
        return limits[-1]

    monkeypatch.setattr(backend, "HARD", 0)
    monkeypatch.setattr(backend, "LONG", 0)
    monkeypatch.setattr(backend, "IMPROVEMENTS", ((10, 0), (50, 0)))
    monkeypatch.setattr(backend, "next_limit", recorded)
    monkeypatch.setattr(team, "FIRST_SLICE", 1)
    monkeypatch.setattr(team, "SLICE_S", 0.0)
    return limits


def choices_of(problem, seed):
    t, found = tabulate(problem), []
    prices = bound_by_prices(t, float(problem.cost.sum()), 30)

    def take(choice, cost):
        found.append((choice.tolist(), cost))

    Improver(problem, t, prices, take, seed).iterate(60)
    return [pair for pair in found if np.isfinite(pair[1])]


def solved(problem, cutoff, threads):
    """The outcome of a search, and the lower bounds that it reports."""
    lowers = []
    request = Request(
        60.0, threads, cutoff=cutoff, on_bounds=lambda upper, lower: lowers.append(lower)
    )
    return SEARCH.load()(problem, request), lowers


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("patience", [0, np.inf])
@pytest.mark.parametrize("slack", [1.01, 2.0])
def test_long_searches_find_the_optimum(long, monkeypatch, threads, patience, slack):
    raised = 0
    monkeypatch.setattr(backend, "PATIENCE", patience)
    for seed in range(100):
        problem = random_problem(seed, *HARD)
        cost, _ = optimum(problem)
        cutoff = slack * cost + 0.01 if np.isfinite(cost) else 10.0
        long.clear()
        outcome, lowers = solved(problem, cutoff, threads)
        check_outcome(problem, outcome, cost, SEARCH.capability)
        assert all(lower <= min(cost, cutoff) + 1e-9 for lower in lowers)
        raised += any(limit in lowers for limit in long)
    assert (raised > 5) == (patience > 0)


def test_choices_of_the_local_search_satisfy_all_rows():
    checked = 0
    for seed in range(100):
        problem = random_problem(seed, *HARD)
        if problem.aggregate == "max":
            continue
        for choice, cost in choices_of(problem, seed):
            assert problem.admits(np.array(choice))
            assert cost == pytest.approx(problem.distance(np.array(choice)))
            checked += 1
    assert checked > 500


def test_the_local_search_improves_on_its_first_walks_and_repeats_itself():
    problem, improved = hard_problem(), 0
    for seed in range(8):
        costs = [cost for _, cost in choices_of(problem, seed)]
        improved += min(costs) < min(costs[:6])
    assert improved > 1
    assert choices_of(problem, 0) == choices_of(problem, 0)


def test_limits_of_trials_rise_until_they_are_near_the_incumbent():
    trials, floor, upper = [], 1.0, 2.0
    while (limit := next_limit(trials, floor, upper)) is not None:
        assert limit > (trials[-1].limit if trials else floor)
        assert limit < 1.9 + 1e-9
        trials.append(Trial(limit, 100 * 4 ** len(trials)))
    assert [trial.limit for trial in trials[:3]] == pytest.approx([1.5, 1.75, 1.875])
    assert next_limit([Trial(1.5, 100), Trial(1.75, 100)], floor, upper) is None
