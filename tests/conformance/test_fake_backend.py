"""A scripted backend: what the portfolio makes of answers that are wrong, late or missing."""

import sys
import types
from dataclasses import replace

import numpy as np
import pytest

from encoders.backends import registry
from encoders.backends.interface import Outcome
from encoders.backends.registry import all_backends
from encoders.core.errors import BrokenProblemError
from encoders.problem.problem import Problem


def outcome(status, reason, choices, problem, lower=0.0):
    upper = problem.distance(choices[0]) if choices else np.inf
    return Outcome(status, reason, tuple(choices), upper, lower, 0.0, 0.0, "scripted")


@pytest.fixture
def scripted(monkeypatch):
    """Registers a backend "fake" that answers by calling the functions given, in turn."""

    def register(*answers):
        left = list(answers)
        module = types.ModuleType("tests.fake")
        module.solve = lambda problem, request: left.pop(0)(problem, request)
        monkeypatch.setitem(sys.modules, "tests.fake", module)
        fake = replace(all_backends()[0], name="fake", module="tests.fake", requires="numpy")
        monkeypatch.setattr(registry, "BUILT_IN", (*registry.BUILT_IN, fake))
        return left

    return register


def stay(problem, request):
    """Claims that the query itself is an optimal counterfactual."""
    axes = np.split(problem.cost, problem.level_start[1:-1])
    levels = np.array([int(np.argmin(cost)) for cost in axes])
    return outcome("optimal", "proved", [levels], problem, problem.distance(levels))


def search(problem, request):
    return all_backends()[0].load()(problem, request)


def ask(explainer, row, **options):
    return explainer.explain(row, target="granted", strategy="plain-fake", **options)


def test_a_wrong_answer_is_cut_off_and_the_search_goes_on(scripted, explainer, refused):
    left = scripted(stay, search)
    result = ask(explainer, refused)
    assert left == []
    assert explainer.predict(result.counterfactual) == "granted"
    again = explainer.explain(refused, target="granted", strategy="search")
    assert result.distance == again.distance > 0


def test_a_wrong_answer_alone_is_no_answer(scripted, explainer, refused):
    def late(problem, request):
        return outcome("unknown", "time_limit", [], problem)

    scripted(stay, late)
    result = ask(explainer, refused)
    assert (result.status, result.stop_reason) == ("unknown", "time_limit")
    assert result.counterfactual is None and not result.verified


def test_an_unproved_answer_stays_unproved(scripted, explainer, refused):
    def late(problem, request):
        best = search(problem, request).choices
        return outcome("feasible", "time_limit", best, problem, 0.001)

    scripted(late)
    result = ask(explainer, refused)
    assert (result.status, result.stop_reason) == ("feasible", "time_limit")
    assert result.verified and result.lower_bound == 0.001


def test_no_answer_is_unknown(scripted, explainer, refused):
    scripted(lambda problem, request: outcome("unknown", "memory_limit", [], problem))
    result = ask(explainer, refused)
    assert (result.status, result.stop_reason) == ("unknown", "memory_limit")
    assert result.counterfactual is None


def test_an_exception_reaches_the_caller(scripted, explainer, refused):
    def broken(problem, request):
        raise RuntimeError("the engine broke")

    scripted(broken)
    with pytest.raises(RuntimeError, match="the engine broke"):
        ask(explainer, refused)


def nothing(problem, request):
    return outcome("infeasible", "proved", [], problem, np.inf)


def test_infeasible_that_a_training_row_refutes_does_not_leave_the_house(
    scripted, explainer, refused
):
    left = scripted(nothing)
    result = ask(explainer, refused)
    assert left == []
    again = explainer.explain(refused, target="granted", strategy="search")
    assert result.status == "optimal" and result.distance == pytest.approx(again.distance)
    liar = result.attempts[0]
    assert (liar.backend, liar.status, liar.stop_reason) == ("fake", "unknown", "error")
    assert "a training row is one" in liar.raw
    assert result.backend != "fake"


def test_where_nobody_else_can_decide_the_training_row_is_the_answer(
    scripted, explainer, refused, monkeypatch
):
    scripted(nothing)
    monkeypatch.setattr("portfolio.engine.stages.others", lambda *_: None)
    result = ask(explainer, refused)
    assert (result.status, result.stop_reason) == ("feasible", "error")
    assert result.verified and "a training row is one" in result.message
    assert explainer.predict(result.counterfactual) == "granted"


def test_a_problem_whose_leaves_do_not_part_the_space_proves_nothing(
    scripted, explainer, refused, monkeypatch
):
    def broken(problem):
        raise BrokenProblemError("the leaves of tree 0 do not partition the space.")

    scripted(nothing)
    monkeypatch.setattr(Problem, "check", broken)
    result = ask(explainer, refused)
    assert (result.status, result.stop_reason) == ("unknown", "error")
    assert "tree 0" in result.message


def test_after_too_many_refused_cells_the_proof_is_about_rows_that_lead(
    scripted, explainer, refused, monkeypatch
):
    monkeypatch.setattr("portfolio.engine.leads.MOST_REFUSED", 0)
    left = scripted(stay, search)
    result = ask(explainer, refused)
    assert left == [] and (result.status, result.margin) == ("optimal", 1e-7)
    assert "near a tie" in result.message and "with a lead of 1e-07" in result.headline
    led = explainer.explain(refused, target="granted", margin=1e-7)
    assert result.distance == pytest.approx(led.distance)
    scripted(stay, nothing, search)
    monkeypatch.setattr("portfolio.engine.stages.others", lambda *_: None)
    held = ask(explainer, refused)
    assert held.verified and held.margin == 1e-7 and held.status == "feasible"
