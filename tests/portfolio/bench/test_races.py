"""Benchmarks of races measure their cost on a small model, and write it for the selector."""

import json
from dataclasses import replace

import pytest
from rich.console import Console

import portfolio.bench.runner
from portfolio.bench.cases import Cases, RunLimits
from portfolio.bench.races import QueryRaces, RacePlan
from portfolio.bench.runner import run_plan
from selector.learning.contention import RacedQuery, read_contention
from tests.portfolio.bench.test_backends import runs_of

CASES = Cases(only=("breast-cancer",), trees=30, depth=5, queries=3)


def small(out, threads=1):
    limits = RunLimits(time_limit_s=5.0, threads=threads)
    return RacePlan(CASES, out, (("search", "cp"),), rounds=1, limits=limits)


@pytest.mark.slow
def test_races_are_compared_with_their_fastest_racer_alone(tmp_path):
    runs = runs_of(small(tmp_path))
    assert len(runs) == 3
    raced = [one for run in runs for one in run.races]
    assert raced, "presolve alone proved all of them"
    for one in raced:
        assert one.query.startswith("breast-cancer soft ") and one.racers == 2
        assert one.alone_s > 0 and one.race_s > 0


@pytest.mark.slow
def test_the_head_starter_also_runs_on_more_threads(tmp_path):
    runs = runs_of(small(tmp_path, threads=2))
    assert {one.racers for run in runs for one in run.races} == {1, 2}


class Interrupted(RacePlan):
    """A plan that the user interrupts after its first query."""

    def case_runs(self, case):
        yield QueryRaces("d", "soft", (RacedQuery("a", 2, 1.0, 1.2),))
        raise KeyboardInterrupt


def test_an_interrupt_leaves_a_file_that_can_be_read(tmp_path):
    console = Console(record=True, width=200)
    plan = Interrupted(replace(CASES, queries=1), tmp_path / "races")
    assert run_plan(plan, console) == 0
    assert read_contention(tmp_path / "races" / "contention.json").slower(2) == 1.2
    text = console.export_text()
    assert "Interrupted" in text and "2 racers take 1.20 times as long" in text


class Endless(RacePlan):
    """A plan with more runs than the time allows."""

    def case_runs(self, case):
        while True:
            yield QueryRaces("d", "soft", (RacedQuery("a", 2, 1.0, 1.2),))


def test_the_deadline_ends_a_plan_after_a_run(tmp_path):
    console = Console(record=True, width=200)
    assert run_plan(Endless(CASES, tmp_path), console, deadline_s=0.0) == 0
    assert "Time is up" in console.export_text()


class Watching(RacePlan):
    """A plan that looks at its file after each run."""

    def case_runs(self, case):
        for count in range(3):
            yield QueryRaces("d", "soft", (RacedQuery("a", 2, 1.0, 1.2),))
            assert len(json.loads((self.out / "runs.json").read_text())["runs"]) == count + 1


def test_the_file_has_the_finished_runs_of_a_plan_that_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(portfolio.bench.runner, "WRITE_S", 0.0)
    console, file = Console(record=True), tmp_path / "runs.json"
    assert run_plan(Watching(CASES, tmp_path), console, file) == 0
