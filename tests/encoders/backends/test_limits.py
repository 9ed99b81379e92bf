"""Ways that a backend takes only where a problem is large."""

import pytest

from encoders.backends.cp.backend import UnfinishedError, build
from encoders.backends.interface import Request
from encoders.backends.maxsat import pseudo_boolean
from encoders.backends.registry import find_backend
from encoders.search import open_nodes
from encoders.testing.answers import check_outcome
from encoders.testing.enumeration import optimum
from encoders.testing.random_problems import random_problem


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(open_nodes, "FIRST_POOL", 1)
    monkeypatch.setattr(open_nodes, "LARGEST_POOL", 1)


@pytest.fixture
def few_sums(monkeypatch):
    monkeypatch.setattr(pseudo_boolean, "MOST_SUMS", 0)


def check(name, seeds):
    backend = find_backend(name)
    for seed in range(seeds):
        problem = random_problem(seed)
        outcome = backend.load()(problem, Request(60.0, 1))
        check_outcome(problem, outcome, optimum(problem)[0], backend.capability)


def test_search_goes_depth_first_when_memory_is_short(little_memory):
    check("search", 300)


@pytest.mark.slow
def test_maxsat_adds_up_in_binary_where_there_are_many_sums(few_sums):
    check("maxsat", 200)


@pytest.mark.parametrize("name", ["order", "plain"])
def test_cp_leaves_a_model_unfinished_when_there_is_no_time_left(name):
    asked = iter([False, False, True])
    with pytest.raises(UnfinishedError):
        build(random_problem(0), name, lambda: next(asked))
    outcome = find_backend("cp").load()(random_problem(0), Request(0.0, 1))
    assert (outcome.status, outcome.stop_reason) == ("unknown", "time_limit")
