"""Widths of text are upper bounds."""

import string

import pytest
from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from selector.drawing.layout import text_width, wrapped

EM = 1000.0


@pytest.fixture(scope="module", params=["normal", "bold"])
def font(request):
    """DejaVu Sans, which matplotlib brings."""
    properties = font_manager.FontProperties(family="DejaVu Sans", weight=request.param)
    font = FT2Font(font_manager.findfont(properties))
    font.set_size(EM, 72)
    return font


@pytest.mark.parametrize("character", [*string.printable[:95], "≤", "≥"])
def test_no_character_is_wider_than_it_is_said_to_be(font, character):
    advance = font.load_char(ord(character)).linearHoriAdvance / 65536
    assert text_width(character, EM) >= advance * 0.999


def test_lines_are_as_wide_as_there_is_room():
    lines = wrapped("search alone for 0.1 s, then search and MILP race", 12.0, 120.0)
    assert len(lines) > 1 and all(text_width(line, 12.0) <= 120.0 for line in lines)
    assert " ".join(lines) == "search alone for 0.1 s, then search and MILP race"


def test_a_word_that_is_wider_than_the_room_stands_alone():
    assert wrapped("a MaxSAT b", 12.0, 20.0) == ("a", "MaxSAT", "b")


def test_lines_are_about_equally_long():
    assert wrapped("aaaa aaaa aaaa aaaa b", 10.0, 125.0) != ("aaaa aaaa aaaa aaaa", "b")
