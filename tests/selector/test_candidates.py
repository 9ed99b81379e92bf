"""Which backends can take a problem."""

from dataclasses import replace

import numpy as np
import pytest

from encoders.backends import registry
from encoders.backends.registry import all_backends
from encoders.core.errors import InputError, UnavailableBackendError
from encoders.testing.random_problems import random_problem
from selector.candidates import check_name, line_up, named, takes_sessions


def test_a_name_may_carry_an_engine_and_a_formulation():
    turn = named(random_problem(0), "milp/highs:ocean")
    assert (turn.backend.name, turn.engine, turn.formulation) == ("milp", "highs", "ocean")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("luck", "unknown backend 'luck'"),
        ("cp/luck", "no engine 'luck'. Use one of"),
        ("cp:luck", "no formulation 'luck'. Use one of"),
        (7, "by its name, such as 'cp', got 7"),
    ],
)
def test_names_of_nothing_are_refused(name, message):
    with pytest.raises(InputError, match=message):
        check_name(name)


def test_auto_is_a_name():
    check_name("auto")
    assert all(map(takes_sessions, ("auto", "cp", "search"))) and not takes_sessions("smt")


def test_a_problem_that_nobody_can_take_is_told():
    with pytest.raises(UnavailableBackendError, match="does not support the median objective"):
        line_up(replace(random_problem(0), aggregate="median"))


def test_a_backend_that_is_not_installed_is_told(monkeypatch):
    gone = replace(all_backends()[0], name="gone", requires="no_such_module", distribution="x")
    monkeypatch.setattr(registry, "BUILT_IN", (*registry.BUILT_IN, gone))
    with pytest.raises(UnavailableBackendError, match="gone needs the package x"):
        named(random_problem(0), "gone")


def test_those_that_stop_at_a_gap_do_not_race():
    names = [turn.backend.name for turn in line_up(random_problem(0))]
    assert names[0] == "search" and "smt" not in names


def test_maxsat_races_early_where_leaves_vote():
    problem = random_problem(0)
    votes = [replace(row, weight=np.sign(row.weight)) for row in problem.leaf_rows]
    names = [turn.backend.name for turn in line_up(replace(problem, leaf_rows=tuple(votes)))]
    assert names == ["search", "maxsat", "cp", "milp"]
    assert [turn.backend.name for turn in line_up(problem)][:3] == ["search", "milp", "cp"]


def test_a_backend_that_is_registered_later_races(monkeypatch):
    fake = replace(all_backends()[0], name="fake", requires="numpy")
    monkeypatch.setattr(registry, "BUILT_IN", (*registry.BUILT_IN, fake))
    assert "fake" in [turn.backend.name for turn in line_up(random_problem(0))]


def test_racers_that_are_named_race_in_that_order():
    turns = line_up(random_problem(0), ("cp", "search"))
    assert [turn.backend.name for turn in turns] == ["cp", "search"]
