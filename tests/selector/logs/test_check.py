"""Wrong records are found."""

import math

import pytest

from selector import logs
from tests.support.records import record


def test_records_that_are_right_are_not_complained_about(frame):
    assert logs.check(frame) == []


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("status", "perhaps", "unknown status"),
        ("stop_reason", "perhaps", "unknown stop reason"),
        ("solve_s", -1.0, "negative seconds"),
        ("lower", 3.0, "lower bound above the upper"),
        ("verified", False, "not verified"),
        ("stop_reason", "time_limit", "proof without a reason"),
        ("query", "", "nothing where something is needed"),
        ("dataset", None, "nothing where something is needed"),
        ("total_s", math.nan, "nothing where something is needed"),
        ("solve_s", math.inf, "nothing where something is needed"),
        ("limit_s", 0.0, "no time limit"),
        ("lower", 0.5, "bounds do not meet"),
        ("upper", 2.5, "disagree"),
    ],
)
def test_a_wrong_value_is_told(frame, column, value, words):
    frame.loc[0, column] = value
    assert words in " ".join(logs.check(frame))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"status": "feasible", "upper": 1.5, "lower": 0.0}, "costs less than what is proved"),
        ({"status": "feasible", "upper": 9.0, "lower": 3.0}, "lower bound above what is proved"),
    ],
)
def test_what_contradicts_a_proof_is_told(tmp_path, given, words):
    proved = record("a", "search", 1.0, upper=2.0, lower=2.0, run="one-0")
    other = record("a", "cp", None, run="two-1", **given)
    # Of a run that was posed again the last round counts.
    first = record("a", "cp", None, run="two-0", status="feasible", upper=0.5, lower=0.0)
    logs.append(tmp_path, [proved, first, other])
    assert words in " ".join(logs.check(logs.read(tmp_path)))
    logs.append(tmp_path, [record("a", "cp", 2.0, run="two-2", upper=2.0, lower=2.0)])
    assert logs.check(logs.read(tmp_path)) == []
