"""What a diagram plans."""

import math
from dataclasses import replace

import pytest

from encoders.core.errors import UnavailableBackendError
from encoders.testing.random_problems import random_problem
from selector import Case, Selector
from selector.diagram import Diagram, Leaf, diagram_of
from selector.schedule import alone
from tests.support.records import ENSEMBLE

HEAD_START = Leaf(((("search",), 0.1), (("search", "cp"), math.inf)))


def planned(leaf, threads=2, keep=False):
    selector = Selector(Diagram((leaf,)))
    case = Case(ENSEMBLE, "1", False, "total")
    return selector.plan(case, random_problem(0), math.inf, threads, keep)


def names(plan):
    return [[turn.backend.name for turn in turns] for turns in plan.rounds]


def test_a_plan_follows_the_schedule():
    plan = planned(Leaf(((("search",), 0.5), (("milp",), math.inf))))
    assert names(plan) == [["search"], ["milp"]]
    assert plan.rounds[0][0].seconds == 0.5
    assert plan.why == "search alone for 0.5 s, then MILP"


def test_who_has_begun_goes_on_and_the_others_join():
    plan = planned(HEAD_START)
    assert names(plan) == [["search", "cp"]]
    assert [turn.after for turn in plan.rounds[0]] == [0.0, 0.1]
    assert plan.why == "search alone for 0.1 s, then search and CP race"


def test_who_does_not_take_part_in_the_next_round_is_over():
    plan = planned(Leaf(((("search",), 0.1), (("milp", "cp"), math.inf))))
    assert names(plan) == [["search"], ["milp", "cp"]]


def test_with_one_core_only_the_first_of_the_racers_runs():
    plan = planned(HEAD_START, threads=1)
    assert plan.why.endswith("; with one thread only the first of them runs")
    assert names(plan) == [["search"]] and plan.rounds[0][0].seconds == math.inf


def test_where_none_can_be_had_another_one_runs():
    plan = planned(Leaf(((("nothing",), 1.0), (("unheard", "of"), math.inf))))
    assert names(plan) == [["search"]]
    assert plan.why.endswith("none of them can be used here, so search")


def test_the_last_one_that_can_be_had_has_no_end():
    plan = planned(Leaf(((("cp",), 1.0), (("unheard",), math.inf))))
    assert names(plan) == [["cp"]] and plan.rounds[0][0].seconds == math.inf


def test_a_session_takes_one_that_keeps_models_or_needs_none():
    assert names(planned(Leaf(alone("smt")), keep=True)) == [["search"]]
    assert names(planned(Leaf(alone("search")), keep=True)) == [["search"]]


def test_a_problem_that_nobody_can_take_is_told():
    problem = replace(random_problem(0), aggregate="median")
    with pytest.raises(UnavailableBackendError, match="does not support the median objective"):
        Selector(Diagram((HEAD_START,))).plan(Case(ENSEMBLE, "1", False), problem, math.inf, 2)


def test_the_shipped_diagram_names_what_there_is():
    leaves = [node for node in diagram_of(None).nodes if isinstance(node, Leaf)]
    known = {name for leaf in leaves for names, _ in leaf.schedule for name in names}
    assert known <= {"search", "cp", "milp", "maxsat"}
