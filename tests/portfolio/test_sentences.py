"""Printed answers: short numbers, whole sentences, lines of at most 80 columns."""

import math
import re
from dataclasses import replace

import pytest

from portfolio import Change, Fixed, Probability
from portfolio.results.printing import (
    WIDTH,
    at_least,
    at_most,
    bounds,
    counted,
    distinct,
    short,
    unwrapped,
    wrapped,
)
from portfolio.results.timings import duration

NUMBERS = [
    0.0452974,
    1 / 3,
    2 / 3,
    9.99996,
    1234.5,
    123456.7,
    1e-7 / 3,
    2e15 / 3,
    5e-324,
    -0.00123456,
]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_bound_is_rounded_to_its_side_and_others_to_the_nearest(number):
    assert float(at_least(number)) <= number <= float(at_most(number))
    assert math.isclose(float(short(number)), number, rel_tol=5e-4)
    assert float(short(number)) in (float(at_least(number)), float(at_most(number)))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0452974, "0.0453"),
        (0.1 + 0.2, "0.3"),
        (2.0, "2"),
        (0, "0"),
        (24.483821, "24.48"),
        (123456.7, "123457"),
        (1.23456e-7, "1.235e-07"),
        (math.inf, "inf"),
    ],
)
def test_a_number_has_four_digits(number, text):
    assert short(number) == text


def test_numbers_that_differ_are_printed_differently():
    assert distinct(0.49999, 0.50001) == ("0.49999", "0.50001")
    assert distinct(0.25, 0.75) == ("0.25", "0.75") and distinct(0.5, 0.5) == ("0.5", "0.5")
    assert bounds(0.51791, 0.51793) == ("0.51791", "0.51793")
    assert bounds(0.51789, 0.61) == ("0.5178", "0.61") and bounds(0.3, 0.3) == ("0.3", "0.3")


def test_one_thing_is_not_several():
    assert counted(1, "change") == "1 change" and counted(2, "change") == "2 changes"
    assert counted(0, "query", "queries") == "0 queries"


def test_long_lines_are_broken_at_spaces_and_can_be_joined():
    lines = ["word " * 40 + "end.", "- " + "x" * 100, "short"]
    text = wrapped(lines)
    assert unwrapped(text) == "\n".join(lines)
    assert all(len(line) <= WIDTH for line in text.splitlines() if "x" not in line)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0123456, "12.3 ms"), (0.9996, "1 s"), (12.345, "12.3 s"), (1234.5, "1234 s")],
)
def test_a_duration_has_three_digits(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (Change("income", 24.483821, 31.07, 0.2, True), "from 24.484 to at least 31.07."),
        (Change("income", 5.099999904632568, 4.2, 0.2), "from 5.1 to 4.2."),
        (Change("income", 123456.75, 200000.0, 0.2), "from 123457 to 200000."),
        (Change("income", 12.0, 12.000001, 0.2), "from 12 to 12.000001."),
        (Change("income", 1.2345678, 1.2345679, 0.2), "from 1.2345678 to 1.2345679."),
        (Change("housing", "rent", "own", 1.0), "from rent to own."),
        (Change("income", None, 3.25, 1.0), "from missing to 3.25."),
        (Change("income", -1.0, 3.25, 1.0, from_code=True), "from -1 (missing) to 3.25."),
    ],
)
def test_a_change_names_the_old_value_in_few_digits(change, text):
    assert str(change).endswith(text)


def _results(explainer, row):
    result = explainer.explain(row, target="granted")
    feasible = replace(
        result, status="feasible", stop_reason="time_limit", lower_bound=0.99999 * result.distance
    )
    names = [feature.name for feature in explainer.features.features]
    return {
        "optimal": result,
        "feasible": feasible,
        "infeasible": explainer.explain(
            row, target="granted", constraints=[Fixed(name) for name in names]
        ),
        "goal": explainer.explain(row, Probability("granted", at_least=0.6)),
        "unknown": replace(result, status="unknown", stop_reason="time_limit", row=None, changed=(),
                           scoring=None, rounder=None),
    }  # fmt: skip


def test_every_status_fits_a_terminal(explainer, refused):
    for status, result in _results(explainer, refused).items():
        text = str(result)
        assert all(len(line) <= WIDTH for line in text.splitlines()), (status, text)
        assert not re.search(r"\b1 changes|\d\.\d{7}|\.\.", text), (status, text)
        assert text.startswith(result.status.capitalize()) or status == "goal"
        assert result.headline == unwrapped(text).split("\n- ")[0].replace("\n", " ")


def test_a_printed_lower_bound_is_proved_and_shows_a_gap(explainer, refused):
    result = _results(explainer, refused)["feasible"]
    distance, bound = re.search(
        r"at distance (\S+) \(at least (\S+) is needed; stopped by the time limit\)",
        result.headline,
    ).groups()
    assert float(bound) <= result.lower_bound < float(distance)
