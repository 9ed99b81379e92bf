"""Several threads of one search: nodes are neither lost nor doubled, and answers are the same."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from encoders.backends.interface import Request
from encoders.backends.registry import find_backend
from encoders.search import open_nodes, team
from encoders.search.open_nodes import (
    FREE,
    HEAP,
    deal,
    empty_pool,
    floor_of,
    grown,
    make_pool,
    slots_in_reserve,
)
from encoders.search.team import Team
from encoders.testing.answers import check_outcome
from encoders.testing.enumeration import optimum
from encoders.testing.random_problems import random_problem

HARD = 16, 12  # trees and levels at most, so that some searches take hundreds of nodes


@pytest.fixture
def soon(monkeypatch):
    """Threads begin with the first nodes, and meet after every one."""
    monkeypatch.setattr(team, "FIRST_SLICE", 1)
    monkeypatch.setattr(team, "SLICE_S", 0.0)
    monkeypatch.setattr(team, "ENOUGH", 0)


def opened(problem, n_nodes):
    """A pool with nodes of every level of the first axis, cheap and dear ones mixed."""
    pool = grown(make_pool(problem), n_nodes, slots_in_reserve(problem))
    for i in range(n_nodes):
        slot = pool.free[pool.counts[FREE] - 1]
        pool.counts[FREE] -= 1
        pool.lo[slot], pool.hi[slot], pool.key[slot] = i, i, (i * 7) % 11
        pool.heap[pool.counts[HEAP]] = slot
        pool.counts[HEAP] += 1
    return pool


def held(pool):
    slots = pool.heap[: pool.counts[HEAP]]
    return [(int(pool.lo[slot, 0]), int(pool.hi[slot, 0]), pool.key[slot]) for slot in slots]


@pytest.mark.parametrize("most", [0, 3, 100])
def test_nodes_that_are_dealt_are_in_one_pool(most):
    problem = random_problem(1)
    pool, other = opened(problem, 40), empty_pool(problem)
    before = sorted(held(pool))
    slots = pool.free.size + other.free.size
    deal(pool, other, most)
    assert sorted(held(pool) + held(other)) == before
    assert other.counts[HEAP] == min(most, len(before) // 2)
    assert sum(int(p.counts[HEAP] + p.counts[FREE]) for p in (pool, other)) == slots
    for own in (pool, other):
        assert len({*own.heap[: own.counts[HEAP]], *own.free[: own.counts[FREE]]}) == own.free.size
        if own.counts[HEAP]:
            assert floor_of(own) == min(key for *_, key in held(own))


@pytest.mark.slow
def test_several_threads_find_what_one_does(soon, monkeypatch):
    sizes, share = [], Team._share

    def counted(self, threads):
        share(self, threads)
        sizes.append(sum(bool(pool.counts[HEAP]) for pool in self.pools))

    monkeypatch.setattr(Team, "_share", counted)
    backend = find_backend("search")
    for seed in range(300):
        problem = random_problem(seed)
        outcome = backend.load()(problem, Request(60.0, 3))
        check_outcome(problem, outcome, optimum(problem)[0], backend.capability)
    harder = [random_problem(seed, *HARD) for seed in range(90)]
    for problem in harder:
        one, three = (backend.load()(problem, Request(60.0, threads)) for threads in (1, 3))
        assert (one.status, one.upper, one.lower) == (three.status, three.upper, three.lower)
    assert sizes.count(3) > 100


@pytest.mark.slow
def test_threads_may_come_and_go(soon):
    """Nodes of those that have to wait are expanded in turn."""
    backend = find_backend("search")
    for seed in range(200):
        problem, spare = random_problem(seed, *HARD), itertools.cycle([2, 0, 1])
        request = Request(60.0, 1, spare=lambda spare=spare: next(spare))
        outcome = backend.load()(problem, request)
        check_outcome(problem, outcome, optimum(problem)[0], backend.capability)


@pytest.mark.slow
def test_several_threads_go_depth_first_when_memory_is_short(soon, monkeypatch):
    monkeypatch.setattr(open_nodes, "FIRST_POOL", 1)
    monkeypatch.setattr(open_nodes, "LARGEST_POOL", 1)
    backend = find_backend("search")
    for seed in range(200):
        problem = random_problem(seed)
        outcome = backend.load()(problem, Request(60.0, 2))
        check_outcome(problem, outcome, optimum(problem)[0], backend.capability)


def test_what_is_told_meanwhile_is_true(soon):
    solve = find_backend("search").load()
    for seed in range(60):
        problem = random_problem(seed, *HARD)
        bounds, choices = [], []
        outcome = solve(
            problem,
            Request(
                60.0,
                3,
                on_bounds=lambda upper, lower, told=bounds: told.append((upper, lower)),
                on_choice=choices.append,
            ),
        )
        best = outcome.upper
        assert all(upper >= best and lower <= best for upper, lower in bounds), seed
        costs = [problem.distance(choice) for choice in choices]
        assert costs == sorted(costs, reverse=True), seed
        assert all(problem.admits(choice) for choice in choices), seed


def test_a_failure_in_a_thread_is_told_and_ends_all(soon):
    problem, main = random_problem(1, *HARD), threading.get_ident()

    def fail(pool, n_nodes):
        if threading.get_ident() != main:
            raise MemoryError("no room")

    with ThreadPoolExecutor(1) as executor:
        workers = Team(problem, executor, 2)
        with pytest.raises(MemoryError, match="no room"):
            for _ in range(3):
                workers.expand(fail, 0)


def test_a_thread_without_nodes_begins_small():
    problem = random_problem(1)
    with ThreadPoolExecutor(1) as executor:
        workers = Team(problem, executor, 1)
        asked = []
        for _ in range(3):
            workers.expand(lambda pool, n_nodes: asked.append(n_nodes), 0)
    assert asked == [team.FIRST_SLICE] * 3
    assert np.isfinite(workers.floor) and workers.is_open
