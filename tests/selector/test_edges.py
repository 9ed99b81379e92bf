"""A decision in words leads through the diagram as the decision itself did."""

import numpy as np
import pytest

from selector.descriptors import NAMES
from selector.diagram import Diagram, load_diagram
from selector.diagram_places import PAPER, SHIPPED
from selector.drawing import as_svg
from selector.schedule import Split
from selector.words import edges_of as parsed_edges
from selector.words import leaves_of
from tests.support.diagrams import random_nodes


def edges_of(diagram, values):
    at, edges = 0, set()
    while isinstance(node := diagram.nodes[at], Split):
        following = node.low if values[node.feature] <= node.threshold else node.high
        edges.add((at, following))
        at = following
    return edges


def case(rng):
    values = {name: float(rng.integers(0, 2000)) for name in NAMES}
    yes_or_no = {name: float(rng.integers(2)) for name in ("votes", "boosted", "plausible")}
    return values | yes_or_no | {"norm": float(rng.choice([0, 1, 1.5, 2, 99, -1]))}


@pytest.mark.parametrize("seed", range(30))
def test_words_lead_where_the_values_led(seed):
    rng = np.random.default_rng(seed)
    diagrams = [load_diagram(PAPER), load_diagram(SHIPPED), Diagram(tuple(random_nodes(rng)))]
    for diagram in diagrams:
        for _ in range(20):
            values = case(rng)
            decision = str(diagram.decide(values))
            assert parsed_edges(diagram.nodes, decision) == edges_of(diagram, values)
            (leaf,) = leaves_of(diagram.nodes, decision)
            assert diagram.nodes[leaf] == diagram.decide(values).leaf


def test_two_decisions_take_both_ways():
    diagram, rng = load_diagram(PAPER), np.random.default_rng(0)
    first, second = case(rng), case(rng)
    told = f"{diagram.decide(first)}; {diagram.decide(second)}"
    both = edges_of(diagram, first) | edges_of(diagram, second)
    assert parsed_edges(diagram.nodes, told) == both


@pytest.mark.parametrize("decision", ["", "search", "norm", "trees: many; nonsense"])
def test_other_words_take_no_way(decision):
    assert parsed_edges(load_diagram(PAPER).nodes, decision) == frozenset()
    assert leaves_of(load_diagram(PAPER).nodes, decision) == frozenset()


def test_a_picture_shows_the_way():
    diagram = load_diagram(PAPER)
    values = case(np.random.default_rng(1))
    picture = as_svg(diagram, None, str(diagram.decide(values)))
    edges = edges_of(diagram, values)
    assert picture.count("stroke-width='3'") == 2 * len(edges) + 1
    assert "stroke-width" not in as_svg(diagram)
