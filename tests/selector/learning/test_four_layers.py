"""Diagrams of four layers."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from selector.diagram import Leaf, Split
from selector.learning import four_layers
from selector.learning.exact import conditions, halves_of, learn, sums
from selector.learning.four_layers import learn_deep
from selector.learning.kernel import leaf_costs, split_costs
from selector.schedule import alone
from tests.support.tables import paid, random_table


def longest(diagram, index=0):
    node = diagram.nodes[index]
    if isinstance(node, Leaf):
        return 0
    return 1 + max(longest(diagram, node.low), longest(diagram, node.high))


@pytest.fixture(params=range(12))
def learned(request):
    """A table, a price of splits, and diagrams of three and of four layers."""
    rng = np.random.default_rng(request.param)
    table = random_table(rng, rows=24, columns=2)
    alpha = float(rng.choice([0.0, 0.3]))
    return table, alpha, learn(table, alpha), learn_deep(table, alpha, time_limit_s=30.0)


def test_four_layers_cost_no_more_than_three(learned):
    _, _, flat, deep = learned
    assert deep.lower <= deep.cost <= flat.cost + 1e-9


def test_the_diagram_costs_no_more_than_what_was_promised_of_it(learned):
    table, alpha, _, deep = learned
    assert paid(deep.diagram, table, alpha) <= deep.cost + 1e-9


def test_the_skeleton_is_kept(learned):
    deep = learned[3].diagram
    assert longest(deep) <= 4
    assert sum(isinstance(node, Split) for node in deep.nodes) <= 7


@pytest.mark.parametrize("rows", [0, 1, 7, 40])
def test_trees_of_one_and_two_layers_cost_what_all_their_sums_say(rows):
    rng = np.random.default_rng(rows)
    cost, below = rng.random((rows, 4)) * 100, rng.random((9, rows)) < 0.5
    table = sums(cost, below, np.ones(rows, dtype=bool))
    single = np.minimum(split_costs(table), leaf_costs(table))
    two = min(single[0], halves_of(single).min())
    assert four_layers.least_of_trees(cost, below) == pytest.approx((single[0], two), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_what_is_proved_is_the_cheapest_of_all(seed):
    """Of all first layers and all ways to go on, none of which is left out for a bound."""
    rng = np.random.default_rng(100 + seed)
    table = random_table(rng, rows=24, columns=2)
    alpha = float(rng.choice([0.0, 0.1, 1.0]))
    deep = learn_deep(table, alpha, time_limit_s=60.0)
    splits = conditions(table)
    below = np.array([table.values[:, f] <= cut for f, cut in splits])
    search = four_layers._Branching(table.cost, below, alpha, np.inf, np.inf)
    ways = range(-1, len(splits))
    every = [
        search.complete(top, groups)[0]
        for top in itertools.product(range(len(splits)), ways, ways)
        for groups in four_layers._groupings(top)
    ]
    assert deep.proved
    assert deep.cost == pytest.approx(min(*every, learn(table, alpha).cost))
    for bound, top in four_layers._Branching(table.cost, below, alpha, np.inf, np.inf).tops():
        cheapest = min(search.complete(top, groups)[0] for groups in four_layers._groupings(top))
        assert bound <= cheapest + 1e-9


def test_a_time_limit_gives_a_bound(learned):
    table, alpha, _, deep = learned
    cut = learn_deep(table, alpha, time_limit_s=0.0)
    assert cut.lower <= deep.cost + 1e-9 <= cut.cost + 2e-9


def test_parity_of_four_bits_is_seen_by_four_layers_only():
    """Two nodes a layer carry it on, and three layers are as good as none."""
    bits = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T.astype(float)
    cost = np.eye(2)[bits.sum(axis=1).astype(int) % 2]
    table = replace(
        random_table(np.random.default_rng(0)),
        features=("trees", "classes", "votes", "boosted"),
        values=bits, schedules=(alone("cp"), alone("milp")), cost=cost,
    )  # fmt: skip
    assert learn(table, 0.01).cost >= 8
    deep = learn_deep(table, 0.01, time_limit_s=60.0)
    assert deep.cost == pytest.approx(0.07) and deep.proved


def test_where_nothing_can_be_split_a_leaf_is_learned():
    table = random_table(np.random.default_rng(0))
    deep = learn_deep(replace(table, values=np.zeros_like(table.values)))
    assert deep.proved and len(deep.diagram.nodes) == 1
