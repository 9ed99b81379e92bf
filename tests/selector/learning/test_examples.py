"""What runs and schedules cost."""

import math
from dataclasses import replace

import numpy as np
import pytest

from encoders.core.errors import InputError
from selector import logs
from selector.descriptors import NAMES
from selector.learning.contention import Contention
from selector.learning.examples import examples
from selector.schedule import alone
from tests.support.records import record

SEARCH_THEN_MILP = ((("search",), 0.5), (("milp",), math.inf))


def test_backends_that_stop_at_a_gap_are_not_learned_about(learned_from):
    made = learned_from(record("q", "cp", 3.0), record("q", "smt", 1.0))
    assert made.backends == ("cp",)


def test_an_engine_and_a_formulation_make_another_candidate(learned_from):
    made = learned_from(
        record("q", "milp", 3.0),
        record("q", "milp", 1.0, run="q-ocean", formulation="ocean"),
        record("q", "milp", 2.0, run="q-highs", engine="highs", formulation="ocean"),
    )
    assert made.backends == ("milp", "milp/highs:ocean", "milp:ocean")
    assert made.seconds.tolist() == [[3.0, 2.0, 1.0]]
    session = made.spent(((("milp", "milp:ocean"), math.inf),))
    assert session.wall.tolist() == [1.0]


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
    with pytest.raises(
        InputError,
        match="no query that a backend proved: presolve alone or nothing proved their 1 queries",
    ):
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
    only = np.arange(len(made)) == 0
    # Nothing is known of such runs there: twice as long as it was followed.
    assert made.of(only).penalised().tolist() == [[0.6, 0.2]]
    assert made.judging(only).penalised().tolist() == [[102.0, 0.2]]


def test_a_loser_never_beats_what_won(learned_from):
    """One lucky win of a backend says nothing of the races that it lost."""
    races = []
    for at in range(20):
        lost = {"censored": True, "stop_reason": "interrupted", "mode": "race", "total_s": 0.95}
        races += [
            record(f"q{at}", "search", 1.0, mode="race"),
            *(record(f"q{at}", name, None, **lost) for name in ("cp", "milp")),
        ]
    races += [record("lucky", "cp", 0.01, mode="race"), record("other", "milp", 0.01, mode="race")]
    made = learned_from(*races)
    cost = made.penalised()
    assert made.backends[cost.mean(axis=0).argmin()] == "search"
    assert (cost.min(axis=1) == made.seconds.min(axis=1)).all()


def test_a_run_that_was_never_made_counts_what_others_do(learned_from):
    made = learned_from(
        record("a", "search", 1.0), record("b", "search", 3.0), record("b", "cp", 4.0),
        record("c", "cp", 8.0),
    )  # fmt: skip
    assert made.backends == ("cp", "search")
    assert made.imputed.tolist() == [[True, False], [False, False], [False, True]]
    assert made.penalised().tolist() == [[6.0, 1.0], [4.0, 3.0], [8.0, 16.0]]


def test_a_backend_without_any_run_is_refused(learned_from, tmp_path):
    learned_from(record("a", "search", 1.0))
    with pytest.raises(InputError, match="hold no run of milp"):
        examples(logs.read(tmp_path), ["search", "milp"])


@pytest.mark.parametrize("change", [{"total_s": math.inf}, {"limit_s": 0.0}])
def test_a_record_without_its_seconds_is_refused(learned_from, change):
    with pytest.raises(InputError, match="lacks its seconds or its limit"):
        learned_from(record("a", "search", 1.0), record("b", "cp", 1.0, **change))


def test_rounds_of_a_run_are_one_run(learned_from):
    def rounds(at, own_s, **more):
        shared = {"pose_s": 0.5, "reduce_s": 1.0, "verify_s": 0.5, "build_s": 0.0}
        return record(
            "a", "search", 2.0 + own_s, run=f"digest-{at}", solve_s=own_s, **(shared | more)
        )

    made = learned_from(
        *(rounds(at, own_s) for at, own_s in ((0, 3.0), (1, 1.0), (10, 0.5), (2, 0.25))),
        record("a", "cp", 9.0, run="other-0"),
    )
    assert made.seconds.tolist() == [[9.0, 6.75]]


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


def test_in_a_session_backends_that_keep_models_race(racers):
    race = ((("search",), 0.1), (("milp", "search", "cp"), math.inf))
    assert racers.spent(race).wall[racers.solver].tolist() == [1.0]
    single = ((("search",), 0.1), (("milp", "search"), math.inf))
    assert racers.spent(single).wall[racers.solver].tolist() == [2.0]


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
