"""Wrong records are found."""

import pytest

from selector import logs


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
        ("query", "", "no query"),
        ("upper", 2.5, "disagree"),
    ],
)
def test_a_wrong_value_is_told(frame, column, value, words):
    frame.loc[0, column] = value
    assert words in " ".join(logs.check(frame))
