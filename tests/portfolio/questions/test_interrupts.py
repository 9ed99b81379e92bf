"""Ctrl-C and time limits in the middle of questions of many steps."""

import os
import signal
import time

import numpy as np
import pytest

from portfolio import Around, Fixed, Range
from portfolio.engine import ahead
from portfolio.engine.ask import Asker
from portfolio.questions.side import Side

NARROW = [Range("income", 0, 30), Range("age", 18, 70), Fixed("home"), Fixed("employed")]
ASKED = {
    "why_not": lambda e, x, **more: e.why_not(x, "granted", constraints=NARROW, **more),
    "robust": lambda e, x, **more: e.explain_robust(x, Around({"income": 9, "age": 9}), **more),
    "several": lambda e, x, **more: e.several(x, k=9, target="granted", **more),
    "regions": lambda e, x, **more: e.several(x, k=3, target="granted", different="region", **more),
    "diverse": lambda e, x, **more: e.diverse(x, k=2, within=9.0, target="granted", **more),
    "front": lambda e, x, **more: e.front(x, by="probability", target="granted", **more),
    "reasons": lambda e, x, **more: e.reasons(x, **more),
    "smallest": lambda e, x, **more: e.reasons(x, smallest=True, **more),
    "necessary": lambda e, x, **more: e.necessary(x, "granted", **more),
    "codes": lambda e, x, **more: e.reason_codes(x, **more),
    "region": lambda e, x, **more: e.region(x, **more),
    "around_answer": lambda e, x, **more: e.explain(x).region(**more),
    "robustness": lambda e, x, **more: e.robustness(x, **more),
}
STEPS = (
    (Asker, "_answer", lambda asker, *_: asker.stop),
    (Side, "_find", lambda *a: a[4].stop),
    (ahead, "_next", lambda solver, *_: solver.request.stop),
)


def before_step(monkeypatch, number, act):
    """Do something, given what stops the question, before one of its steps; steps are counted."""
    steps = []
    monkeypatch.setattr(Side, "walk", lambda side, free: None)  # or reasons take one step
    for kind, name, stop_of in STEPS:
        own = getattr(kind, name)

        def step(self, *given, own=own, stop_of=stop_of):
            stop = stop_of(self, *given)
            if stop is not None:  # it is one of many
                steps.append(time.perf_counter())
                if len(steps) == number + 1:
                    act(stop)
            return own(self, *given)

        monkeypatch.setattr(kind, name, step)
    return steps


def press(stop):
    """Ctrl-C, and on with the work once it has been heard."""
    os.kill(os.getpid(), signal.SIGINT)
    assert stop.wait(20)


def test_ctrl_c_while_levels_are_solved_together(explainer, refused, monkeypatch):
    own, asked = ahead.solve_together, []

    def pressed(problems, starts, over):
        os.kill(os.getpid(), signal.SIGINT)
        deadline = time.perf_counter() + 20
        while not over():
            assert time.perf_counter() < deadline
        asked.append(own(problems, starts, over))
        return asked[-1]

    monkeypatch.setattr(ahead, "solve_together", pressed)
    found = ASKED["front"](explainer, refused)
    assert asked and set(asked[0]) == {None}
    assert found.stop_reason == "interrupted" and found.status in ("unknown", "feasible")


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("name", ASKED)
def test_ctrl_c_between_two_steps_gives_what_is_known(
    name, number, explainer, refused, monkeypatch
):
    if number >= {"robustness": 1, "diverse": 1, "necessary": 2}.get(name, 3):
        pytest.skip("it has no so many steps")
    monkeypatch.setattr(ahead, "differ_in_needs", lambda problems: False)  # or a front is one step
    whole = ASKED[name](explainer, refused)
    with monkeypatch.context() as patch:
        steps = before_step(patch, number, press)
        found = ASKED[name](explainer, refused)
    assert len(steps) > number
    assert found.stop_reason == "interrupted"
    assert found.status in ("unknown", "feasible", "conflict")
    if name == "several":
        assert [a.distance for a in found] == [a.distance for a in whole][:number]
    if name == "front" and number == 2:  # the first two are of one level
        known = [p.result.distance for p in found.points if p.result.verified]
        assert known == [p.result.distance for p in whole.points][: len(known)] and known
    if name == "why_not" and number:
        assert found.status == "conflict" and set(found.conflict) >= set(whole.conflict)
    if name == "reasons":
        assert set(found.features) >= set(whole.features)
    if name == "region":
        assert all(found[name].holds(refused[name]) for name in ("age", "income"))
    again = ASKED[name](explainer, refused)  # nothing is left of it
    assert (again.status, again.stop_reason) == (whole.status, whole.stop_reason)


def test_an_answer_found_before_ctrl_c_can_be_looked_at_afterwards(explainer, refused, monkeypatch):
    with monkeypatch.context() as patch:
        before_step(patch, 1, press)
        found = explainer.several(refused, k=9, target="granted")
    assert found.stop_reason == "interrupted" and len(found) == 1
    assert found[0].region().status == "optimal"


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_no_step_is_begun_once_time_is_over(name, explainer, refused, monkeypatch):
    limit_s = 0.2

    def sleep(stop):
        time.sleep(limit_s)

    with monkeypatch.context() as patch:
        steps = before_step(patch, 0, sleep)
        found = ASKED[name](explainer, refused, time_limit_s=limit_s)
    assert found.stop_reason == "time_limit" and found.status != "optimal"
    asked = [at for at in steps if at > steps[0] + limit_s]
    assert name in ("reasons", "smallest") or len(asked) <= 1


def test_bounds_of_earlier_rounds_stay(explainer, refused, monkeypatch):
    """Every round cuts off only what is no robust answer."""
    around = Around({"income": 9, "age": 9})
    bounds = []
    whole = explainer.explain_robust(
        refused, around, "granted", on_progress=lambda *told: bounds.append(told[2])
    )
    assert whole.status == "optimal" and len(bounds) > 1
    assert bounds == sorted(bounds) and bounds[0] > 0
    with monkeypatch.context() as patch:
        before_step(patch, 2, press)
        found = explainer.explain_robust(refused, around, "granted")
    assert found.stop_reason == "interrupted"
    assert np.isclose(found.result.lower_bound, bounds[0]) or found.result.lower_bound > bounds[0]
