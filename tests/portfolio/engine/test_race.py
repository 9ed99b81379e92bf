"""Races: shared bounds, the first proof wins, and who lies, hangs or dies does no harm."""

import math
import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from encoders.backends.attempt import ConfiguredBackend
from encoders.backends.interface import Capability, Feature, Outcome, Request
from encoders.backends.registry import all_backends
from encoders.core.errors import InputError
from encoders.testing.enumeration import optimum
from encoders.testing.hard_problem import hard_problem
from encoders.testing.random_problems import random_problem
from portfolio.engine.race import race
from portfolio.workers.solver_workers import Workers
from tests.support.checks import backend
from tests.support.processes import children

RACERS = [b.name for b in all_backends() if not b.capability.epsilon]


@pytest.fixture(scope="module")
def workers():
    made = Workers()
    yield made
    made.close()


def scripted(name, solve, follows=False):
    """Return an entrant that runs a function."""
    features = all_backends()[0].capability.features - {Feature.USES_RIVALS}
    able = Capability(features | ({Feature.USES_RIVALS} if follows else set()))
    return ConfiguredBackend(
        replace(all_backends()[0], name=name, capability=able), run=lambda _, p, r: solve(p, r)
    )


def says(status, reason, choices=(), upper=math.inf, lower=0.0):
    return Outcome(status, reason, tuple(choices), upper, lower, 0.0, 0.0, "scripted")


def sleep(problem, request):
    """Works until it is stopped, and finds nothing."""
    request.stop.wait(60.0)
    return says("unknown", "interrupted")


def hang(problem, request):
    """Does not hear a stop."""
    time.sleep(5.0)
    return says("unknown", "interrupted")


def honest(name="search"):
    return ConfiguredBackend(backend(name))


def solvable(count=1):
    """Problems with an optimum above zero."""
    found = ((random_problem(seed), optimum(random_problem(seed))[0]) for seed in range(200))
    return [(p, cost) for p, cost in found if 0 < cost < math.inf][:count]


def of(report, name):
    return next(a for a in report.provenance.attempts if a.backend == name)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_races_agree_with_brute_force(workers, threads):
    entrants = [ConfiguredBackend(backend(name), run=workers.run) for name in RACERS]
    for seed in range(60):
        problem = random_problem(seed)
        cost, _ = optimum(problem)
        turned = entrants[seed % 4 :] + entrants[: seed % 4]
        report = race(turned, problem, Request(60.0, threads))
        outcome = report.outcome
        assert outcome.stop_reason == "proved"
        assert outcome.status == ("infeasible" if math.isinf(cost) else "optimal")
        assert outcome.upper == pytest.approx(cost, rel=1e-6, abs=1e-9)
        assert not any(a.raw.startswith(("claimed", "found")) for a in report.provenance.attempts)


@pytest.mark.slow
def test_every_backend_follows_its_rivals(workers):
    """Each backend that knows the optimum reports that nothing is cheaper."""
    for problem, cost in solvable(20):
        levels = optimum(problem)[1]
        for able in all_backends():
            request = Request(60.0, 1, rival=lambda levels=levels: levels)
            outcome = workers.run(able, problem, request)
            if outcome.stop_reason == "gap":
                continue
            assert outcome.stop_reason == "proved"
            if outcome.choices:
                assert outcome.upper <= cost * (1 + 1e-6)


def test_bounds_of_two_backends_meet():
    (problem, cost), levels = solvable()[0], optimum(solvable()[0][0])[1]

    def finds(problem, request):
        request.on_choice(levels)
        request.stop.wait(60.0)
        return says("feasible", "interrupted", [levels], cost)

    def bounds(problem, request):
        request.on_bounds(math.inf, cost)
        request.stop.wait(60.0)
        return says("unknown", "interrupted", lower=cost)

    report = race([scripted("finds", finds), scripted("bounds", bounds)], problem, Request(60, 2))
    outcome = report.outcome
    assert (outcome.status, report.provenance.certified_by) == ("optimal", "bounds_meet")
    assert outcome.upper == outcome.lower == cost
    assert report.provenance.backend == "bounds"


def test_a_choice_reaches_those_who_run():
    problem, cost = solvable()[0]
    levels, heard = optimum(problem)[1], []

    def finds(problem, request):
        request.on_choice(levels)
        return sleep(problem, request)

    def listens(problem, request):
        while not heard and not request.stop.wait(0.01):
            if request.rival() is not None:
                heard.append(request.cutoff_now(problem))
        return says("infeasible", "proved", lower=math.inf)

    entrants = [scripted("finds", finds), scripted("listens", listens, follows=True)]
    report = race(entrants, problem, Request(60.0, 2))
    outcome = report.outcome
    assert heard == [cost]
    assert (outcome.status, outcome.upper, report.provenance.backend) == (
        "optimal",
        cost,
        "listens",
    )


def lies(cost, levels):
    dear = cost * 1.5

    def broken_choice(problem, request):
        request.on_choice(np.full_like(levels, 10**6))
        return sleep(problem, request)

    def wrong_cost(problem, request):
        return says("optimal", "proved", [levels], cost / 2, cost / 2)

    def bound_too_high(problem, request):
        request.on_bounds(math.inf, dear)
        return sleep(problem, request)

    def infeasible(problem, request):
        time.sleep(0.3)
        return says("infeasible", "proved", lower=math.inf)

    def nothing(problem, request):
        return says("optimal", "proved", upper=cost / 2, lower=cost / 2)

    return broken_choice, wrong_cost, bound_too_high, infeasible, nothing


@pytest.mark.slow
@pytest.mark.parametrize("which", range(5))
def test_a_lie_is_found_out_and_told(which):
    problem, cost = solvable()[0]
    levels = optimum(problem)[1]
    liar = lies(cost, levels)[which]

    def slow(problem, request):
        request.on_choice(levels)
        time.sleep(0.6)
        return backend("search").load()(problem, request)

    entrants = [scripted("slow", slow), scripted("liar", liar)]
    report = race(entrants, problem, Request(60.0, 2))
    outcome = report.outcome
    assert (outcome.status, report.provenance.backend) == ("optimal", "slow")
    assert outcome.upper == pytest.approx(cost)
    told = of(report, "liar")
    assert (told.status, told.stop_reason, told.lower) == ("unknown", "error", 0.0)
    assert told.raw.startswith(("claimed", "found"))


def test_one_that_breaks_makes_room_for_the_next():
    problem, cost = solvable()[0]

    def broken(problem, request):
        raise RuntimeError("the engine broke")

    entrants = [scripted("broken", broken), scripted("sleeps", sleep), honest()]
    report = race(entrants, problem, Request(60.0, 2))
    outcome = report.outcome
    assert (outcome.status, report.provenance.backend, outcome.upper) == ("optimal", "search", cost)
    assert of(report, "broken").stop_reason == "error"
    assert "the engine broke" in of(report, "broken").raw
    report = race([scripted("broken", broken)] * 2, problem, Request(60.0, 2))
    everyone = report.outcome
    assert (everyone.status, everyone.stop_reason) == ("unknown", "error")


def test_who_comes_later_is_woken_only_if_need_be():
    problem, cost = solvable()[0]
    report = race([honest(), scripted("late", sleep)], problem, Request(60.0, 2), after=[0.0, 50.0])
    easy = report.outcome
    assert (easy.status, easy.upper) == ("optimal", cost)
    assert of(report, "late").raw == "not started"

    def gives_up(problem, request):
        return says("unknown", "memory_limit")

    entrants = [scripted("gives up", gives_up), honest()]
    report = race(entrants, problem, Request(60.0, 2), after=[0.0, 50.0])
    left = report.outcome
    assert (left.status, report.provenance.backend) == ("optimal", "search")
    assert of(report, "search").began_s < 40.0
    entrants = [scripted("sleeps", sleep), honest()]
    report = race(entrants, problem, Request(60.0, 2), after=[0.0, 0.05])
    joined = report.outcome
    assert (joined.status, report.provenance.backend) == ("optimal", "search")
    assert of(report, "search").began_s >= 0.05
    assert of(report, "search").began_s > of(report, "sleeps").began_s


def test_who_is_alone_may_use_all_threads_until_another_begins():
    (problem, _), spare, joined = *solvable(), [], threading.Event()

    def first(problem, request):
        spare.append((request.threads, request.spare()))
        joined.wait(60.0)
        spare.append((request.threads, request.spare()))
        return says("infeasible", "proved")

    def second(problem, request):
        spare.append((request.threads, request.spare()))
        joined.set()
        return sleep(problem, request)

    race(
        [scripted("first", first), scripted("second", second)], problem, Request(60.0, 8), [0, 1.0]
    )
    assert spare == [(4, 4), (4, 0), (4, 0)]


def test_losers_are_not_waited_for():
    problem, cost = solvable()[0]
    began = time.perf_counter()
    report = race([scripted("hangs", hang), honest()], problem, Request(60.0, 2))
    outcome = report.outcome
    assert time.perf_counter() - began < 4.0
    assert outcome.upper == cost and of(report, "hangs").stop_reason == "interrupted"


@pytest.mark.slow
def test_time_and_interrupts_end_a_race():
    problem, cost = solvable()[0]
    levels = optimum(problem)[1]

    def finds(problem, request):
        request.on_choice(levels)
        return hang(problem, request)

    entrants = [scripted("finds", finds), scripted("hangs", hang)]
    report = race(entrants, problem, Request(0.5, 2))
    late = report.outcome
    assert (late.status, late.stop_reason, late.upper) == ("feasible", "time_limit", cost)
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    report = race(entrants, problem, Request(60.0, 2, stop=stop))
    asked = report.outcome
    assert (asked.status, asked.stop_reason, asked.upper) == ("feasible", "interrupted", cost)


def test_no_entrant_starts_when_time_is_up():
    def ends_late(problem, request):
        request.stop.wait(request.time_limit_s + 1e-3)
        return says("unknown", "time_limit")

    entrants = [scripted("ends late", ends_late), scripted("waits", sleep)]
    for limit_s in (0.05, 0.055, 0.06, 0.065):  # the race looks at its time every 20 ms
        report = race(entrants, solvable()[0][0], Request(limit_s, 2), after=[0.0, 50.0])
        assert report.outcome.stop_reason == "time_limit"
        assert of(report, "waits").raw == "not started"


def kill_children_after(seconds):
    def kill():
        time.sleep(seconds)
        for pid in children():
            os.kill(pid, signal.SIGKILL)

    threading.Thread(target=kill).start()


@pytest.mark.slow
def test_killed_workers_are_errors_and_the_race_goes_on(workers):
    own = Workers()
    kill_children_after(2.0)
    entrants = [
        ConfiguredBackend(backend("milp"), run=own.run),
        ConfiguredBackend(backend("maxsat"), run=own.run),
    ]
    report = race(entrants, hard_problem(), Request(8.0, 2))
    assert {a.stop_reason for a in report.provenance.attempts} == {"error"}
    assert all("the worker died" in a.raw for a in report.provenance.attempts)
    problem, cost = solvable()[0]
    report = race(entrants, problem, Request(60.0, 2))
    again = report.outcome
    assert again.upper == pytest.approx(cost, rel=1e-6)
    own.close()


@pytest.mark.slow
def test_a_killed_loser_does_no_harm():
    own = Workers()
    problem = hard_problem()

    def patient(problem, request):
        time.sleep(4.0)
        return says("infeasible", "proved", lower=math.inf)

    kill_children_after(2.0)
    entrants = [ConfiguredBackend(backend("milp"), run=own.run), scripted("patient", patient)]
    report = race(entrants, problem, Request(60.0, 2))
    outcome = report.outcome
    assert (outcome.status, report.provenance.backend) == ("infeasible", "patient")
    assert of(report, "milp").stop_reason == "error"
    own.close()


def test_explain_races(explainer, credit):
    _, frame = credit
    rows = [row for _, row in frame.iterrows() if explainer.predict(row) == "refused"][:8]
    for row in rows:
        alone = explainer.explain(row, target="granted")
        raced = explainer.explain(row, target="granted", strategy="race")
        named = explainer.explain(row, target="granted", strategy=["cp", "milp/highs"])
        for result in (raced, named):
            assert (result.status, result.verified) == ("optimal", True)
            assert result.distance == pytest.approx(alone.distance, rel=1e-6)
        if named.backend != "reduce":
            assert set(named.race["backend"]) == {"cp", "milp"}
            assert named.certified_by in ("proved", "bounds_meet")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ([], "or a list of backends to race"),
        ({"search"}, "or a list of backends to race"),
        (["search", "nobody"], "unknown backend 'nobody'"),
        (["auto", "cp"], "'auto' cannot take part in a race"),
        ("plain-race", "unknown backend 'race'"),
    ],
)
def test_races_that_cannot_be_run_are_refused(explainer, refused, strategy, message):
    with pytest.raises(InputError, match=message):
        explainer.explain(refused, target="granted", strategy=strategy)


def test_a_choice_that_was_cut_off_is_refused_and_its_finder_goes_on():
    whole, cost = solvable()[0]
    refused = optimum(whole)[1]
    problem = whole.without(refused)
    best, levels = optimum(problem)

    def remembers(problem, request):
        request.on_choice(refused)
        return backend("search").load()(problem, request)

    report = race([scripted("remembers", remembers)], problem, Request(60.0, 2))
    outcome = report.outcome
    assert outcome.stop_reason == "proved" and outcome.upper == best > cost
    assert (levels is None) == (not outcome.choices)
    assert "found" not in of(report, "remembers").raw

    def insists(problem, request):
        return says("optimal", "proved", [refused], cost, cost)

    entrants = [scripted("insists", insists), honest()]
    report = race(entrants, problem, Request(60.0, 2), after=[0.0, 50.0])
    outcome = report.outcome
    assert report.provenance.backend == "search" and outcome.upper == best
    assert "cut off" in of(report, "insists").raw
