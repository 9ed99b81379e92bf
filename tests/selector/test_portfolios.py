"""Portfolios, and what the selector plans within them."""

import math
from dataclasses import replace

import pytest

from encoders.backends import registry
from encoders.backends.builtin import CP, SEARCH
from encoders.core.errors import InputError, UnavailableBackendError
from encoders.testing.random_problems import random_problem
from selector import Case, Selector
from selector.diagram import Diagram, Leaf
from selector.portfolios import MAP, SHIPPED_PORTFOLIOS, Portfolio, portfolio_of
from tests.support.records import ENSEMBLE

RACE = Leaf(((("search",), 2.0), (("search", "milp"), math.inf)))


def planned(leaf, candidates, threads=2, keep=False):
    selector = Selector(Diagram((leaf,)), by_default=False).within(portfolio_of(candidates))
    return selector.plan(Case(ENSEMBLE, "1", False), random_problem(0), math.inf, threads, keep)


def names(plan):
    return [[turn.backend.name for turn in turns] for turns in plan.rounds]


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        (("search", "milp"), [["search", "milp"]]),
        (("cp", "milp"), [["milp", "cp"]]),
        (("cp", "search"), [["search", "cp"]]),
        (("search",), [["search"]]),
        (("cp", "maxsat"), [["cp", "maxsat"]]),
        (("smt",), [["smt"]]),
        (("smt", "cp"), [["cp", "smt"]]),
        (("milp", MAP), [["milp"]]),
    ],
)
def test_others_replace_backends_that_a_portfolio_does_not_contain(candidates, expected):
    assert names(planned(RACE, candidates)) == expected


def test_the_reason_names_the_backends_that_run():
    assert planned(RACE, ("cp", "milp")).why == "MILP and CP race"


def test_a_turn_without_a_candidate_is_dropped():
    leaf = Leaf(((("maxsat",), 1.0), (("cp",), math.inf)))
    assert names(planned(leaf, ("milp", "cp"))) == [["cp"]]


def test_with_one_thread_one_backend_runs():
    assert names(planned(RACE, ("cp", "milp"), threads=1)) == [["milp"]]


def test_a_candidate_keeps_its_engine_and_formulation():
    ((turn,),) = planned(Leaf(((("milp",), math.inf),)), ("milp/highs:ocean", "cp")).rounds
    assert (turn.backend.name, turn.engine, turn.formulation) == ("milp", "highs", "ocean")


def test_a_session_takes_candidates_that_keep_models():
    assert names(planned(RACE, ("smt", "cp"), keep=True)) == [["cp"]]


def test_the_plan_of_all_backends_does_not_change():
    selector = Selector(Diagram((RACE,)))
    assert selector.within(None) is selector


def test_a_diagram_may_name_a_formulation():
    plan = Selector(Diagram((Leaf(((("milp:ocean",), math.inf),)),))).plan(
        Case(ENSEMBLE, "1", False), random_problem(0), math.inf, 1
    )
    assert plan.rounds[0][0].formulation == "ocean" and plan.why == "milp:ocean"


@pytest.mark.parametrize("name", SHIPPED_PORTFOLIOS)
def test_a_shipped_portfolio_has_a_diagram_of_its_candidates(name):
    portfolio = portfolio_of(name)
    diagram = portfolio.diagram()
    named = {
        each
        for node in diagram.nodes
        if isinstance(node, Leaf)
        for turn, _ in node.schedule
        for each in turn
    }
    assert named and all(map(portfolio.candidate_for, named))
    assert Selector(diagram).within(portfolio).diagram == diagram


def test_a_diagram_of_the_user_stays():
    mine = Diagram((RACE,))
    assert Selector(mine, by_default=False).within(portfolio_of("paper")).diagram is mine
    assert Selector(mine).within(portfolio_of("paper")).diagram != mine


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("papr", "Unknown portfolio 'papr'. Did you mean \"paper\"?"),
        ("cp,gone", "unknown backend 'gone' in a portfolio. Use one of search, cp"),
        (["race"], "unknown backend 'race' in a portfolio"),
        ("map", "at least one backend"),
        (b"cp", "must be a name such as 'paper'"),
        (["milp/none"], "Backend milp has no engine 'none'"),
        ([], "at least one backend"),
        ([MAP], "at least one backend"),
        (["cp", "cp"], "each candidate once, got cp,cp"),
        (["cp", "auto"], "unknown backend 'auto' in a portfolio"),
        (["cp", 3], "A backend must be given by its name"),
        (3, "must be a name such as 'paper', or a list of backends, got 3"),
    ],
)
def test_an_invalid_portfolio_is_refused(value, message):
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        portfolio_of(value)


def test_text_and_lists_give_the_same_portfolio():
    assert portfolio_of("cp, milp/highs") == portfolio_of(["cp", "milp/highs"])
    assert portfolio_of("cp") == Portfolio(("cp",))
    assert portfolio_of(portfolio_of("paper")) == portfolio_of("paper")
    assert portfolio_of(None) is None


def test_a_problem_that_no_candidate_can_solve_is_refused(monkeypatch):
    missing = replace(CP, requires="not_installed", distribution="not-installed")
    monkeypatch.setattr(registry, "BUILT_IN", (SEARCH, missing))
    with pytest.raises(
        UnavailableBackendError, match="No backend of the portfolio cp can solve this"
    ):
        planned(RACE, ("cp",))
