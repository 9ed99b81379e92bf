"""Rows on the command line: a count, from:to, or places and ranges."""

import pandas as pd
import pytest

from encoders.core.errors import InputError
from portfolio.cli.row_places import row_places

FRAME = pd.DataFrame({"a": range(20)})


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", range(20)),
        ("3", [0, 1, 2]),
        ("50", range(20)),
        ("2:5", [2, 3, 4]),
        ("18:", [18, 19]),
        (":2", [0, 1]),
        ("2-5", [2, 3, 4, 5]),
        ("0-1, 15,15", [0, 1, 15]),
        ("7,3", [7, 3]),
        ("4,", [4]),
    ],
)
def test_rows_are_chosen_by_place(text, places):
    assert list(row_places(text).of(FRAME)["a"]) == list(places)


@pytest.mark.parametrize("text", ["a", "0", "1-", "-3", "5-2", "1:2:3", "1.5", ",", "0x1", "1;2"])
def test_another_form_is_refused_before_a_table_is_read(text):
    with pytest.raises(InputError, match="such as 0-9,15"):
        row_places(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0-20", "row 20 does not exist. Give positions from 0 to 19"),
        ("5,99999999999", "row 99999999999 does not exist"),
        ("20:30", "selects no row"),
    ],
)
def test_rows_that_are_not_there_are_named(text, message):
    with pytest.raises(InputError, match=message):
        row_places(text).of(FRAME)
