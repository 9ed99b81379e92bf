"""What a map says is what trying every choice says, whatever costs are asked with."""

from dataclasses import replace

import numpy as np
import pytest

from encoders.core.arrays import owners
from encoders.search.maps.region_map import NODE_BYTES, Budget, Guess, guess, make_map
from encoders.testing.enumeration import optimum
from encoders.testing.random_problems import random_problem
from tests.support.parts import few_and_large

CASES = 40
WHOLE = Budget()


def plain(seed):
    """A random problem of leaf rows alone; a map knows no others."""
    return replace(random_problem(seed), level_rows=(), forbidden=())


def asked(problem, rng):
    """Other costs, of which some rule a level out; those of a group's zeros are nothing."""
    cost = np.round(rng.random(problem.cost.size), 2)
    cost[rng.random(cost.size) < 0.15] = np.inf
    for group in problem.one_hot:
        axis = owners(problem.level_start)[group]
        cost[problem.level_start[axis]] = 0.0
    return replace(problem, cost=cost, aggregate=str(rng.choice(["sum", "max"])))


@pytest.mark.parametrize("part", few_and_large(2, 40))
def test_a_map_finds_the_optimum_of_any_costs(part):
    for seed in range(part * CASES, (part + 1) * CASES):
        rng, problem = np.random.default_rng(seed), plain(seed)
        made = make_map(problem, WHOLE)
        assert made.gaps == 0
        for _ in range(3):
            own = asked(problem, rng)
            best, _ = optimum(own)
            nearest = made.nearest(own.cost, own.aggregate)
            assert nearest.proved and nearest.cost == pytest.approx(best, rel=1e-12), seed
            if nearest.choice is not None:
                assert own.admits(nearest.choice), seed
                assert own.distance(nearest.choice) == pytest.approx(best, rel=1e-12), seed
            beaten = made.nearest(own.cost, own.aggregate, upper=best * (1 - 1e-9))
            assert beaten.choice is None and beaten.cost == np.inf


@pytest.mark.parametrize("part", few_and_large(2, 40))
def test_a_map_with_gaps_proves_only_what_holds(part):
    proved, gaps = 0, 0
    for seed in range(part * CASES, (part + 1) * CASES):
        rng, problem = np.random.default_rng(seed), plain(seed)
        nodes = int(rng.integers(1, 12))
        made = make_map(problem, Budget(megabytes=nodes * NODE_BYTES / 1e6))
        gaps += made.gaps > 0
        for _ in range(3):
            own = asked(problem, rng)
            best, _ = optimum(own)
            nearest = made.nearest(own.cost, own.aggregate)
            assert min(nearest.cost, nearest.open_from) <= best + 1e-12, seed
            if nearest.choice is not None:
                assert own.admits(nearest.choice), seed
            if nearest.proved:
                proved += made.gaps > 0
                assert nearest.cost == pytest.approx(best, rel=1e-12), seed
    assert gaps >= CASES // 4 and proved >= CASES // 8


@pytest.mark.parametrize("part", few_and_large(1, 40))
def test_one_map_holds_several_goals(part):
    for seed in range(part * CASES, (part + 1) * CASES):
        rng, problem = np.random.default_rng(seed), plain(seed)
        less = [replace(row, minimum=int(row.minimum * 0.8)) for row in problem.leaf_rows[:1]]
        both = replace(problem, leaf_rows=(*problem.leaf_rows, *less))
        goal = np.array([0] * len(problem.leaf_rows) + [1])
        made = make_map(both, WHOLE, goal=goal)
        own = asked(problem, rng)
        other = replace(own, leaf_rows=tuple(less))
        best = [optimum(each)[0] for each in (own, other)]
        for goals in ((0,), (1,), (0, 1)):
            nearest = made.nearest(own.cost, own.aggregate, goals)
            cheapest = min(best[at] for at in goals)
            assert nearest.cost == pytest.approx(cheapest, rel=1e-12), (seed, goals)
            for at in nearest.goals:
                assert at in goals and (own, other)[at].admits(nearest.choice), (seed, goals)


def test_no_time_makes_a_map_that_is_one_gap():
    made = make_map(plain(3), WHOLE, over=lambda: True)
    assert (made.gaps, made.regions) == (1, 0)
    assert not made.nearest(plain(3).cost, "sum").proved


def test_a_guess_is_near_what_is_made():
    for seed in (3, 7, 11):
        problem = replace(random_problem(seed, 30, 40), level_rows=(), forbidden=())
        made = make_map(problem, WHOLE)
        assert guess(problem).nodes == pytest.approx(len(made.tree), rel=1.0) or len(made.tree) < 9


@pytest.mark.parametrize(
    ("expected", "budget", "worth"),
    [
        (Guess(1e6, 1e8, 10.0), Budget(60.0, 256.0), True),
        (Guess(1e6, 1e8, 1e3), Budget(60.0, 256.0), False),
        (Guess(1e9, 1e8, 10.0), Budget(60.0, 256.0), False),
        (Guess(3e6, 1e8, 100.0), Budget(60.0, 36.0), True),
    ],
)
def test_what_is_far_beyond_the_budget_is_not_worth_it(expected, budget, worth):
    assert expected.within(budget) is worth


def test_a_guess_ends_once_it_is_beyond_all_that_matters():
    problem = plain(3)
    assert guess(problem, np.inf, 300, enough=np.inf).looks > 1
    beyond = guess(problem, np.inf, 10**9, enough=1e-9)  # that many would take days
    assert beyond.looks > 1e-9
