"""Schedules, in JSON and as they may be."""

import math

import pytest

from encoders.core.errors import InputError
from selector.schedule import check_schedule, schedule_from_json, schedule_to_json


def test_a_schedule_is_read_as_it_was_written():
    schedule = ((("search",), 0.1), (("search", "cp"), math.inf))
    assert schedule_from_json(schedule_to_json(schedule)) == schedule


def test_errors_name_the_place():
    with pytest.raises(InputError, match="node 3: turn 1 must name one or more different backends"):
        check_schedule("node 3", (((), math.inf),))
