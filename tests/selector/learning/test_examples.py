"""What runs and schedules cost."""

import math
from dataclasses import replace

import numpy as np
import pytest

from encoders.errors import InputError
from selector.case import NAMES
from selector.learning.contention import Contention
from selector.schedule import alone
from tests.support.records import record

SEARCH_THEN_MILP = ((("search",), 0.5), (("milp",), math.inf))


def test_backends_that_stop_at_a_gap_are_not_learned_about(learned_from):
    made = learned_from(record("q", "cp", 3.0), record("q", "smt", 1.0))
    assert made.backends == ("cp",)


def test_what_nobody_or_reduction_alone_proved_teaches_nothing(learned_from):
    made = learned_from(
        record("proved", "cp", 3.0),
        record("reduced", "reduce", 0.01, left=None),
        record("open", "cp", None),
    )
    assert made.seconds.tolist() == [[3.0]]


def test_a_kept_model_costs_what_solving_alone_takes(learned_from):
    made = learned_from(record("q", "cp", 3.0), record("q", "cp", 4.0, mode="session", total_s=9.0))
    solver_only = made.values[:, NAMES.index("solver_only")]
    assert dict(zip(solver_only.tolist(), made.seconds[:, 0].tolist(), strict=True)) == {
        0.0: 3.0,
        1.0: 4.0,
    }


def test_a_brief_turn_says_little_of_what_the_whole_limit_is_good_for(learned_from):
    turn = record("a", "milp", None, total_s=0.5, limit_s=0.5)
    made = learned_from(
        turn, record("a", "cp", 2.0), record("b", "milp", 4.0), record("b", "cp", 1.0)
    )
    assert made.backends == ("cp", "milp")
    assert made.least[:, 1].tolist() == [0.5, 4.0] and made.imputed[:, 1].tolist() == [True, False]
    assert made.penalised()[:, 1].tolist() == [4.0, 4.0]


def test_most_of_the_limit_counts_as_all_of_it(learned_from):
    made = learned_from(
        record("a", "milp", None, total_s=18.0, limit_s=18.0), record("a", "cp", 2.0),
        record("b", "milp", 4.0), record("b", "cp", 1.0),
    )  # fmt: skip
    assert not made.imputed.any() and made.penalised()[0, 1] == 10 * 20.0


def test_infinite_descriptors_are_minus_one(learned_from):
    made = learned_from(record("q", "cp", 3.0))
    assert made.values[0, NAMES.index("left_incumbent")] == -1


def test_logs_without_a_proof_are_refused(learned_from):
    with pytest.raises(InputError, match="no query that a backend had to prove"):
        learned_from(record("open", "cp", None))


@pytest.fixture
def three_queries(learned_from):
    """Proved by both, by milp alone, by search alone."""
    return learned_from(
        record("a", "search", 0.4), record("a", "milp", 2.0),
        record("b", "search", None), record("b", "milp", 2.0),
        record("c", "search", 1.0), record("c", "milp", None),
    )  # fmt: skip


def test_a_run_without_proof_counts_ten_limits(three_queries):
    assert three_queries.penalised().tolist() == [[2.0, 0.4], [2.0, 200.0], [200.0, 1.0]]


def test_a_schedule_costs_what_its_turns_do(three_queries):
    assert three_queries.spent(SEARCH_THEN_MILP).wall.tolist() == [0.4, 2.5, 200.0]


def test_a_schedule_without_proof_counts_as_many_limits_as_asked_for(three_queries):
    assert three_queries.spent(SEARCH_THEN_MILP, factor=2).wall[2] == 40.0


def test_schedules_of_backends_that_never_ran_have_no_cost(three_queries):
    with pytest.raises(InputError, match="no run of cp"):
        three_queries.spent(alone("cp"))


def test_a_loser_of_a_race_took_at_least_as_long_as_such_runs_do(learned_from):
    made = learned_from(
        record("a", "search", 0.2, mode="race"),
        record("a", "cp", None, total_s=0.3, censored=True, stop_reason="interrupted", mode="race"),
        record("b", "cp", 0.1), record("b", "search", 0.1),
        record("c", "cp", 4.0), record("c", "search", 0.1),
        record("d", "cp", None), record("d", "search", 0.1),
    )  # fmt: skip
    # On average those that took longer than 0.3 s took (4 + 200) / 2.
    assert made.penalised()[0].tolist() == [102.0, 0.2]
    first = made.of(np.arange(len(made)) == 0)
    assert first.penalised().tolist() == [[0.3, 0.2]]


@pytest.fixture
def racers(learned_from):
    """Two queries raced for, and one with kept models."""
    return learned_from(
        record("a", "search", 0.05), record("a", "milp", 2.0), record("a", "cp", 3.0),
        record("b", "search", 5.0), record("b", "milp", None), record("b", "cp", 1.0),
        record("k", "milp", 2.0, mode="session"), record("k", "cp", 1.0, mode="session"),
    )  # fmt: skip


def test_others_join_a_race_where_the_head_start_is_not_enough(racers):
    race = ((("search",), 0.1), (("search", "milp", "cp"), math.inf))
    racers = replace(racers, contention=Contention(3))
    assert sorted(racers.spent(race).wall[~racers.solver]) == pytest.approx([0.05, 1.1])


def test_who_runs_goes_on_in_the_next_turn(racers):
    going_on = ((("milp",), 1.5), (("milp", "search"), math.inf))
    assert sorted(racers.spent(going_on).wall[~racers.solver]) == pytest.approx([1.55, 6.5])


def test_kept_models_do_not_race(racers):
    race = ((("search",), 0.1), (("milp", "search", "cp"), math.inf))
    assert racers.spent(race).wall[racers.solver].tolist() == [2.0]


@pytest.mark.parametrize(
    ("cores", "largest"),
    [
        (1, {("cp",), ("milp",), ("search",)}),
        (2, {("search", "cp"), ("search", "milp"), ("cp", "milp")}),
        (3, {("search", "cp", "milp")}),
    ],
)
def test_as_many_race_as_there_are_cores(racers, cores, largest):
    last = {turns[-1][0] for turns in racers.schedules(cores)}
    assert {names for names in last if len(names) == cores} == largest
    assert max(map(len, last)) == cores
