"""How much slower backends are that race, measured and read again."""

import json

import pytest

from encoders.core.errors import InputError
from selector.learning.contention import (
    Contention,
    RacedQuery,
    contention_of,
    read_contention,
    write_contention,
)

BRIEF = [RacedQuery("a", 2, 0.01, 0.03), RacedQuery("b", 2, 0.02, 0.05)]
LONG = [RacedQuery("c", 2, 1.0, 1.325), RacedQuery("d", 2, 3.0, 3.925)]


@pytest.fixture
def measured():
    return contention_of([*BRIEF, *LONG], 2, (0.5, 0.6))


def test_brief_queries_tell_the_start_and_longer_ones_the_pace(measured):
    pace = measured.paces[2]
    assert (pace.start_s, pace.slower) == pytest.approx((0.025, 1.3))
    assert pace.interval == pytest.approx((1.3, 1.3)) and pace.queries == 4


def test_more_threads_for_who_begins_are_told(measured):
    teamed = contention_of([*LONG, RacedQuery("c", 1, 1.0, 0.6)], 2, ())
    assert (teamed.slower(1), teamed.start_s(1)) == (0.6, 0.0)
    assert "search on all cores take 0.60 times as long" in str(teamed)


def test_what_was_not_measured_shares_the_cores(measured):
    assert [measured.slower(racers) for racers in (1, 3, 4)] == [1.0, 1.5, 2.0]
    assert (measured.start_s(1), measured.start_s(3)) == (0.0, 0.0)
    assert "1.30 times as long (1.30 to 1.30, 4 queries)" in str(measured)
    assert "on 2 cores at a load of 0.5 to 0.6:" in str(measured)
    assert "not measured: more racers than the 2 cores" in str(Contention())


def test_races_of_one_query_are_drawn_together():
    mixed = [RacedQuery("a", 2, 1.0, 1.0), RacedQuery("a", 2, 1.0, 2.0)]
    pace = contention_of(mixed, 2, ()).paces[2]
    assert (pace.slower, *pace.interval, pace.queries) == (1.5, 1.5, 1.5, 1)


def test_brief_queries_alone_tell_no_pace():
    with pytest.raises(InputError, match=r"No query took 0\.2 s or more"):
        contention_of(BRIEF, 2, ())


def test_what_was_written_is_read_again(measured, tmp_path):
    path = tmp_path / "contention.json"
    write_contention(measured, LONG, {"threads": 2}, path)
    assert read_contention(path) == measured
    assert json.loads(path.read_text())["raced"][1]["race_s"] == 3.925


PACE = {"slower": 1, "interval": [1, 1], "start_s": 0, "queries": 1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 2}, "format 2"),
        ({"paces": {}}, "it holds no race"),
        ({"paces": {"0": PACE}}, "it holds no race"),
        ({"paces": {"2": PACE | {"slower": 0}}}, "above 0"),
        ({"paces": {"2": {"slower": 1}}}, "lacks 'interval'"),
        ({"paces": 3}, "does not hold measurements of races"),
        ({"cores": None}, "does not hold measurements of races"),
    ],
)
def test_other_files_are_refused_in_one_sentence(measured, tmp_path, change, words):
    path = tmp_path / "contention.json"
    write_contention(measured, LONG, {}, path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=words):
        read_contention(path)
