"""What races cost, measured on a small model, and told."""

from dataclasses import replace

import pytest
from rich.console import Console

from portfolio.bench import contention_report
from portfolio.bench.races import RaceStudy, run_races
from selector.learning.contention import RacedQuery, read_contention

SMALL = RaceStudy(
    None, ("breast-cancer",), (("search", "cp"),), ("soft",), trees=30, depth=5, queries=3, rounds=1
)


@pytest.mark.slow
def test_races_are_held_against_their_fastest_racer_alone():
    told = []
    run_races(SMALL, None, told.append)
    assert len(told) == 3
    raced = [one for found in told for one in found]
    assert raced, "reduction alone proved all of them"
    for one in raced:
        assert one.query.startswith("breast-cancer soft ") and one.racers == 2
        assert one.alone_s > 0 and one.race_s > 0


@pytest.mark.slow
def test_who_begins_is_asked_on_more_threads_too():
    told = []
    run_races(replace(SMALL, threads=2), None, told.append)
    assert {one.racers for found in told for one in found} == {1, 2}


@pytest.mark.slow
def test_the_deadline_ends_it_after_a_query():
    told = []
    run_races(SMALL, 0.0, told.append)
    assert len(told) == 1


def test_the_file_that_is_left_can_be_read(tmp_path, monkeypatch):
    def asked(study, deadline_s, on_query):
        on_query([RacedQuery("a", 2, 1.0, 1.2)])
        raise KeyboardInterrupt

    monkeypatch.setattr(contention_report, "run_races", asked)
    console = Console(record=True, width=200)
    out = tmp_path / "races"
    assert contention_report.run_and_report_contention(SMALL, out, None, console) == 0
    assert read_contention(out / "contention.json").slower(2) == 1.2
    told = console.export_text()
    assert "Interrupted" in told and "2 racers take 1.20 times as long" in told
