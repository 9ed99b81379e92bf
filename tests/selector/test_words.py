"""What users read."""

import math

import pytest

from selector.descriptors import NAMES
from selector.schedule import alone
from selector.words import LABELS, condition, schedule, sides


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        (alone("cp"), "CP"),
        (((("search",), 2.0), (("maxsat",), math.inf)), "search alone for 2 s, then MaxSAT"),
        (
            ((("search",), 0.1), (("search", "milp"), math.inf)),
            "search alone for 0.1 s, then search and MILP race",
        ),
        (((("search", "cp", "milp"), math.inf),), "search, CP and MILP race"),
        (((("cp", "smt"), 5.0), (("fake",), math.inf)), "CP and SMT race for 5 s, then fake"),
    ],
)
def test_schedules_are_told_in_words(turns, words):
    assert schedule(turns) == words


@pytest.mark.parametrize(
    ("feature", "threshold", "value", "words"),
    [
        ("norm", 0.0, 1.0, "norm is 1"),
        ("norm", 2.0, 99.0, "norm is inf"),
        ("norm", 0.0, -1.0, "norm is custom"),
        ("votes", 0.5, 1.0, "hard voting"),
        ("votes", 0.5, 0.0, "no hard voting"),
        ("solver_only", 0.0, 0.0, "total time counts"),
        ("left_options", 680.0, 1210.0, "options after presolve: 1210 (more than 680)"),
        ("trees", 100.0, 100.0, "trees: 100 (at most 100)"),
        ("left_incumbent", 3.0, -1.0, "cost of the incumbent: none (at most 3)"),
    ],
)
def test_conditions_are_told_in_words(feature, threshold, value, words):
    assert condition(feature, threshold, value) == words


def test_sides_of_a_split_are_told_by_what_tells_them_apart():
    assert sides("votes", 0.0) == ("no", "yes")
    assert sides("left_leaves", 12345.0) == ("≤ 12345", "> 12345")


def test_every_descriptor_has_a_label():
    assert set(LABELS) == set(NAMES)
