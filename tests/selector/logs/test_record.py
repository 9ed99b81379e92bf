"""Records as plain values."""

import json
import math

from selector.logs.record import SCHEMA, columns, flat
from tests.support.records import record


def test_a_record_gives_every_column_in_order():
    assert list(flat(record("a", "cp", 1.0))) == columns()


def test_what_json_cannot_hold_is_none():
    row = flat(record("a", "cp", 1.0, upper=math.inf, stop_s=math.nan))
    assert row["upper"] is None and row["stop_s"] is None
    json.dumps(row, allow_nan=False)


def test_where_reduction_left_no_problem_its_numbers_are_none():
    row = flat(record("a", "reduce", 1.0, left=None))
    assert row["left_options"] is None


def test_traces_are_json_text():
    row = flat(record("a", "cp", 1.0, trace=((0.1, math.inf, 1.0),)))
    assert json.loads(row["trace"]) == [[0.1, None, 1.0]]


def test_records_tell_their_schema():
    assert flat(record("a", "cp", 1.0))["schema"] == SCHEMA
