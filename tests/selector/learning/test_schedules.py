"""What leaves may hold."""

import math

import numpy as np
import pytest

from selector.learning.costs import candidates
from selector.learning.exact import Table, learn
from selector.schedule import alone, check_schedule

NAMES = ("cp", "milp", "search")
SECONDS = np.array([[1.0, 3.0, 0.01], [2.3451, math.inf, 0.02], [7.0, 5.0, math.inf]])


def slices(schedules):
    """(first, seconds, last) of those with two turns."""
    return [(s[0][0], s[0][1], s[1][0]) for s in schedules if len(s) == 2]


@pytest.mark.parametrize("switches", [0, 3])
@pytest.mark.parametrize("cores", [1, 2, 3])
def test_all_can_be_run_and_are_named_once(cores, switches):
    made = candidates(NAMES, cores, SECONDS, switches)
    assert len(set(made)) == len(made)
    assert made[:3] == tuple(alone(name) for name in NAMES)
    for schedule in made:
        check_schedule("a leaf", schedule)
        assert max(len(names) for names, _ in schedule) <= cores


def test_switch_times_are_those_of_proofs_rounded_up():
    made = slices(candidates(NAMES, 2, SECONDS, 9))
    for first, other in (("cp", "milp"), ("cp", "search")):
        for last in ((other,), ("cp", other)):
            times = [time_s for names, time_s, end in made if (names, end) == ((first,), last)]
            assert set(times) >= {2.35, 7.0}
    assert (("milp",), 5.0, ("milp", "cp")) in made


def test_nobody_joins_where_there_is_one_core():
    assert all(len(last) == 1 for _, _, last in slices(candidates(NAMES, 1, SECONDS, 4)))


def test_who_never_proves_is_not_waited_for():
    never = np.full((3, 3), math.inf)
    assert candidates(NAMES, 2, never, 4) == candidates(NAMES, 2, never)


def test_the_learner_proves_a_switch_time_the_best_one(six_sets):
    """Of all times to switch from one backend to another none does better on these rows."""
    names = ("milp", "search")
    kept = [six_sets.backends.index(name) for name in names]
    own = candidates(names, 1, six_sets.seconds[:, kept], 400)
    cost = np.column_stack([six_sets.spent(schedule).wall for schedule in own])
    learned = learn(Table(("none",), np.zeros((len(cost), 1)), own, cost))
    assert learned.proved
    for time_s in np.geomspace(0.001, 20, 60).tolist():
        other = ((("search",), time_s), *alone("milp"))
        assert six_sets.spent(other).wall.sum() >= learned.cost * (1 - 1e-2)
