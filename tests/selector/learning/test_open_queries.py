"""Logged queries that lack runs: which backends, with which limits, and in which order."""

import math

import pytest

from selector import logs
from selector.learning.open_queries import (
    FACTOR,
    LEAST_S,
    SHARE,
    limit_for,
    longest_s,
    most_informative_first,
    open_queries,
)
from tests.support.records import LIMIT_S, record

BACKENDS = ("search", "cp", "milp")


@pytest.fixture
def opened(tmp_path):
    def from_records(*records, replayed=()):
        logs.append(tmp_path, records)
        return open_queries(logs.read(tmp_path), replayed)

    return from_records


def stopped(query, backend, seconds):
    """Return a run that was interrupted when another backend won a race."""
    return record(
        query, backend, None, total_s=seconds, censored=True, stop_reason="interrupted", mode="race"
    )


def test_slow_queries_come_first_and_presolved_ones_and_sessions_are_left_out(opened):
    queries = opened(
        record("fast", "search", 0.1),
        record("slow", "search", 1.0, queue_s=3.0),
        record("slower", "search", 2.5),
        record("presolved", "reduce", 0.1, left=None),
        record("kept", "search", 9.0, mode="session"),
    )
    assert [each.query for each in queries] == ["slow", "slower", "fast"]
    assert [each.seconds for each in queries] == [4.0, 2.5, 0.1]


def test_a_backend_lacks_a_run_unless_it_was_followed_as_long_as_the_fastest_proof(opened):
    [query] = opened(
        record("q", "search", 1.0, mode="race"), stopped("q", "cp", 0.9), stopped("q", "milp", 1.1)
    )
    assert query.lacking(BACKENDS, 5.0) == ("search", "cp")  # search again, as it raced


def test_a_proof_is_not_repeated_alone_or_twice(opened):
    [query] = opened(*(record("q", name, 1.0) for name in BACKENDS))
    assert query.lacking(BACKENDS, 5.0) == ()
    own = record("r", "search", 1.0)
    both = opened(own, replayed=[own.run])
    assert both[-1].lacking(BACKENDS, 5.0) == ("cp", "milp")


def test_a_proof_by_a_variant_of_a_backend_is_repeated_by_the_same_variant(opened):
    [query] = opened(record("q", "milp", 1.0, formulation="ocean"))
    assert query.lacking(BACKENDS, 5.0) == ("milp:ocean", "search", "cp", "milp")


@pytest.mark.parametrize("proof_s", [0.01, 1.0, 7.0])
def test_limits_reach_beyond_the_fastest_proof(opened, proof_s):
    [query] = opened(record("q", "cp", proof_s), record("q", "search", 2 * proof_s))
    assert query.proof_s == proof_s
    assert query.limit_s(0.1) == limit_for(proof_s) == max(LEAST_S, FACTOR * proof_s) > proof_s


def test_limits_of_unproved_queries_are_bounded_by_their_seconds_and_the_budget(opened):
    [query] = opened(record("q", "search", None))
    assert not query.proved and math.isnan(query.upper)
    assert query.limit_s(3.0) == 3.0 and query.limit_s(100.0) == LIMIT_S
    assert query.lacking(BACKENDS, 3.0) == ("cp", "milp")


def test_a_longer_limit_makes_another_run_worth_while_and_a_crash_does_not(opened):
    full = {"status": "unknown", "stop_reason": "memory_limit"}
    [query] = opened(
        record("q", "search", None),
        record("q", "cp", None, total_s=2.0, limit_s=2.0),
        record("q", "milp", 0.5, **full),
    )
    assert query.lacking(BACKENDS, 2.0) == ()
    assert query.lacking(BACKENDS, 5.0) == ("cp",)


def test_proved_and_unproved_queries_alternate_and_the_most_expensive_come_last(opened):
    budget_s = 100.0
    queries = opened(
        record("a", "search", 2.0),
        record("b", "search", 1.5),
        record("c", "search", 9.0),
        record("d", "search", None),
        record("e", "search", None, total_s=LIMIT_S / 2),
    )
    most_s = longest_s(queries, BACKENDS, budget_s)
    order = most_informative_first(queries, BACKENDS, budget_s, most_s)
    assert [query.query for query, _ in order] == ["a", "d", "b", "e", "c"]
    costs = {query.query: len(names) * query.limit_s(most_s) for query, names in order}
    assert max(costs["a"], costs["b"]) <= SHARE * budget_s < costs["c"]


@pytest.mark.parametrize("budget_s", [1.0, 10.0, 1000.0])
def test_unproved_queries_get_the_time_that_proved_ones_leave(opened, budget_s):
    queries = opened(record("a", "search", 0.1), record("b", "search", None))
    most_s = longest_s(queries, BACKENDS, budget_s)
    order = most_informative_first(queries, BACKENDS, budget_s, most_s)
    total_s = sum(len(names) * query.limit_s(most_s) for query, names in order)
    assert most_s >= SHARE * budget_s / len(BACKENDS)
    assert total_s <= max(budget_s, 3 * LEAST_S + SHARE * budget_s)
    assert queries[0].limit_s(most_s) == (LIMIT_S if budget_s > 100 else most_s)
