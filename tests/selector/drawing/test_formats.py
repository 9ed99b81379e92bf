"""Drawings and text of diagrams."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from selector.diagram import load_diagram
from selector.diagram_places import FOLDER, PAPER, SHIPPED
from selector.drawing import as_dot, as_svg, as_text, flow_of

PICTURES = Path(__file__).parents[3] / "docs" / "explanation"


@pytest.fixture(scope="module")
def paper():
    return load_diagram(PAPER)


@pytest.mark.parametrize("draw", [as_text, as_dot, as_svg])
@pytest.mark.parametrize("words", ["67.2%", "MILP", "MaxSAT", "hard voting"])
def test_every_kind_has_the_words_and_the_flow(paper, draw, words):
    assert words in draw(paper, flow_of(paper))


@pytest.mark.parametrize("draw", [as_text, as_dot])
def test_schedules_are_told_whole(draw):
    assert "search alone for 2 s, then search and MILP race" in draw(load_diagram(SHIPPED))


def test_a_picture_is_xml_that_grows_with_its_page(paper):
    root = ElementTree.fromstring(as_svg(paper))
    assert root.get("width") == "100%" and "max-width" in root.get("style")
    assert root.get("viewBox").split()[:2] == ["0", "0"]


def test_a_picture_turns_dark_with_the_browser(paper):
    text = as_svg(paper)
    assert "prefers-color-scheme:dark" in text
    for name in ("dd-ground", "dd-ink", "dd-edge", "dd-tip", "dd-split", "dd-leaf"):
        assert f".{name}{{" in text and f"class='{name}'" in text


def test_a_manifest_without_flow_draws_none(paper):
    assert flow_of(replace(paper, manifest={})) is None
    assert flow_of(replace(paper, manifest={"flow": [1.0]})) is None
    assert "%)" not in as_text(paper)


@pytest.mark.parametrize(
    ("file", "picture"),
    [(SHIPPED, "diagram.svg"), (FOLDER / "portfolio-paper.json", "portfolio-paper.svg")],
)
def test_the_picture_of_a_shipped_diagram_is_current(file, picture):
    diagram = load_diagram(file)
    assert as_svg(diagram, flow_of(diagram)) == (PICTURES / picture).read_text()
