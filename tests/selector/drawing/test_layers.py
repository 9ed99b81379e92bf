"""Orders of rows with the fewest crossing edges."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from selector.diagram import load_diagram
from selector.diagram_places import PAPER
from selector.drawing.layout import layers_of
from tests.support.diagrams import random_nodes
from tests.support.parts import few_and_large


def fewest_crossings(layers):
    """By trying every order of every row."""
    orders = [itertools.permutations(row) for row in layers.rows]
    return min(replace(layers, rows=rows).crossings() for rows in itertools.product(*orders))


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_and_large(12, 40))
def test_no_other_order_has_fewer_crossings(seed):
    layers = layers_of(random_nodes(np.random.default_rng(seed), splits=4))
    if np.prod([np.prod(range(1, len(row) + 1)) for row in layers.rows]) > 50_000:
        pytest.skip("too many orders to try")
    assert layers.crossings() == fewest_crossings(layers)


def test_the_paper_s_diagram_has_no_crossing():
    assert layers_of(load_diagram(PAPER).nodes).crossings() == 0


@pytest.mark.parametrize("seed", range(10))
def test_links_join_neighbouring_rows(seed):
    layers = layers_of(random_nodes(np.random.default_rng(seed)))
    for row in range(len(layers.rows) - 1):
        links = layers.links(row)
        assert {a for a, _ in links} <= set(layers.rows[row])
        assert {b for _, b in links} <= set(layers.rows[row + 1])


def test_many_splits_are_ordered_with_few_crossings():
    rng = np.random.default_rng(1)
    for _ in range(5):
        layers = layers_of(random_nodes(rng, splits=9))
        shuffled = replace(layers, rows=tuple(tuple(rng.permutation(row)) for row in layers.rows))
        assert layers.crossings() <= shuffled.crossings()


def test_low_sides_stand_left_where_it_costs_no_crossing():
    layers = layers_of(random_nodes(np.random.default_rng(0), splits=1))
    assert layers.turned() == frozenset()
