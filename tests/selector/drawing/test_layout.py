"""Boxes fit their words, stand apart, and keep within the picture."""

import itertools

import numpy as np
import pytest

from selector.diagram import load_diagram
from selector.diagram_places import PAPER, SHIPPED
from selector.drawing.layout import NAME_SIZE, PHONE, SHARE_SIZE, picture_of, text_width
from tests.support.diagrams import random_nodes


def shipped(path):
    diagram = load_diagram(path)
    return diagram.nodes, diagram.manifest["flow"]


def at_random(seed):
    nodes = random_nodes(np.random.default_rng(seed))
    return nodes, [1 / (k + 1) for k in range(len(nodes))]


CASES = {"paper": shipped(PAPER), "default": shipped(SHIPPED)} | {
    f"random {seed}": at_random(seed) for seed in range(20)
}


@pytest.fixture(params=CASES)
def picture(request):
    return picture_of(*CASES[request.param])


def test_no_box_is_narrower_than_its_words(picture):
    for box in picture.boxes:
        for text in box.texts:
            width = text_width(text.words, NAME_SIZE if text.name else SHARE_SIZE)
            assert text.x - width / 2 >= box.left
            assert text.x + width / 2 <= box.left + box.width


def test_words_of_one_line_stand_apart(picture):
    for box in picture.boxes:
        for a, b in itertools.combinations(box.texts, 2):
            if a.y == b.y:
                widths = text_width(a.words, SHARE_SIZE) + text_width(b.words, SHARE_SIZE)
                assert abs(a.x - b.x) >= widths / 2


def test_all_words_are_within_the_height_of_their_box(picture):
    for box in picture.boxes:
        assert all(box.top + SHARE_SIZE <= text.y <= box.top + box.height for text in box.texts)


def test_boxes_stand_apart(picture):
    for a, b in itertools.combinations(picture.boxes, 2):
        beside = a.left + a.width < b.left or b.left + b.width < a.left
        assert beside or a.top + a.height < b.top or b.top + b.height < a.top


def test_boxes_keep_within_the_picture(picture):
    for box in picture.boxes:
        assert box.left >= 0 and box.left + box.width <= picture.width
        assert box.top >= 0 and box.top + box.height <= picture.height


@pytest.mark.parametrize("path", [PAPER, SHIPPED])
def test_what_is_shipped_can_be_read_on_a_telephone(path):
    picture = picture_of(*shipped(path))
    assert picture.width == PHONE and picture.crossings == 0
    assert SHARE_SIZE >= 11


def test_leaves_of_one_schedule_are_one_box():
    nodes, flow = shipped(PAPER)
    picture = picture_of(nodes, flow)
    assert [box.backend for box in picture.boxes if box.backend] == ["milp", "cp", "maxsat"]
