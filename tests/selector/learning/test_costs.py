"""What schedules take of the clock and of cores, with and without measured races."""

import math

import numpy as np
import pytest

from selector.learning.contention import Contention, Pace
from selector.learning.costs import Runs, spent_by

NEVER = math.inf
SEARCH, MILP = np.array([0.4, 3.0, NEVER]), np.array([2.0, 1.0, NEVER])
LIMIT = np.full(3, 20.0)
SLOW = Contention(2, {2: Pace(1.5, (1.2, 1.8), 0.1, 9)})


def runs(kept=False):
    own = {"search": SEARCH, "milp": MILP, "cp": SEARCH}
    late = 10 * LIMIT
    return Runs(
        own.__getitem__, lambda name: np.where(np.isinf(own[name]), late, own[name]), LIMIT, late,
        np.full(3, kept),
    )  # fmt: skip


def test_one_backend_keeps_one_core_busy():
    spent = spent_by(((("search",), NEVER),), runs(), Contention())
    assert spent.wall.tolist() == spent.cores.tolist() == [0.4, 3.0, 200.0]


def test_racers_keep_a_core_busy_each():
    spent = spent_by(((("search", "milp"), NEVER),), runs(), Contention())
    assert spent.wall.tolist() == [0.4, 1.0, 200.0]
    assert spent.cores.tolist() == [0.8, 2.0, 400.0]


def test_more_racers_than_cores_share_them():
    spent = spent_by(((("search", "milp"), NEVER),), runs(), Contention(1))
    assert spent.wall.tolist() == spent.cores.tolist() == [0.8, 2.0, 200.0]


def test_turns_one_after_the_other_keep_one_core_busy():
    spent = spent_by(((("search",), 1.0), (("milp",), NEVER)), runs(), Contention())
    assert spent.wall.tolist() == spent.cores.tolist() == [0.4, 2.0, 200.0]


def test_who_joins_later_is_counted_from_then_on():
    spent = spent_by(((("search",), 0.5), (("search", "milp"), NEVER)), runs(), Contention())
    assert spent.wall.tolist() == [0.4, 1.5, 200.0]
    assert spent.cores == pytest.approx([0.4, 0.5 + 2 * 1.0, 0.5 + 2 * 199.5])


def test_measured_races_are_slower_and_begin_later():
    spent = spent_by(((("search", "milp"), NEVER),), runs(), SLOW)
    assert spent.wall == pytest.approx([0.1 + 1.5 * 0.4, 0.1 + 1.5 * 1.0, 200.0])


def test_work_done_alone_before_a_race_is_not_done_again():
    spent = spent_by(((("search",), 0.5), (("search", "milp"), NEVER)), runs(), SLOW)
    assert spent.wall == pytest.approx([0.4, 0.5 + 0.1 + 1.5 * min(2.5, 1.0), 200.0])


def test_work_done_in_a_race_counts_afterwards():
    spent = spent_by(((("milp", "search"), 1.0), (("search",), NEVER)), runs(), SLOW)
    # 0.9 s at two thirds of the pace leave 2.4 s of 3.
    assert spent.wall == pytest.approx([0.7, 1.0 + 2.4, 200.0])


def test_a_race_that_is_slowed_beyond_the_limit_proves_nothing():
    slow = Contention(2, {2: Pace(30.0, (30.0, 30.0), 0.0, 9)})
    spent = spent_by(((("search", "milp"), NEVER),), runs(), slow)
    assert spent.wall.tolist() == [12.0, 200.0, 200.0]


def test_the_head_starter_has_all_threads_while_it_is_alone():
    """Of 3 s it does 1 s in the first half of one, as two threads do, and the rest in a race."""
    team = Contention(2, {1: Pace(0.5, (0.5, 0.5), 0.0, 9), 2: Pace(1.0, (1.0, 1.0), 0.0, 9)})
    spent = spent_by(((("search",), 0.5), (("search", "milp"), NEVER)), runs(), team)
    assert spent.wall.tolist() == [0.2, 1.5, 200.0]
    assert spent.cores.tolist() == [0.4, 3.0, 400.0]
    assert spent_by(((("milp",), NEVER),), runs(), team).wall.tolist() == [2.0, 1.0, 200.0]
    # What one thread did not prove within the limit is not known to be proved by two.
    assert spent_by(((("search",), NEVER),), runs(), team).wall.tolist() == [0.2, 1.5, 200.0]


def test_kept_models_are_solved_by_one_backend():
    spent = spent_by(((("search",), 0.5), (("milp", "search"), NEVER)), runs(True), SLOW)
    assert spent.wall.tolist() == spent.cores.tolist() == [2.0, 1.0, 200.0]


def test_a_session_runs_only_a_backend_that_needs_no_model():
    spent = spent_by(((("search", "milp"), NEVER),), runs(kept=True), SLOW)
    assert spent.wall.tolist() == spent.cores.tolist() == [0.4, 3.0, 200.0]


def test_a_session_races_backends_that_keep_models():
    schedule = ((("search",), 2.0), (("cp", "milp"), NEVER))
    spent = spent_by(schedule, runs(kept=True), SLOW)
    assert spent.wall.tolist() == pytest.approx([0.7, 1.6, 200.0])
    assert spent.cores.tolist() == pytest.approx([1.4, 3.2, 400.0])
