"""Diagrams of up to three layers, against every other diagram of their shape."""

import math
from dataclasses import replace

import numpy as np
import pytest

from selector.diagram import Split
from selector.learning.exact import Table, conditions, learn, learned_leaf
from selector.schedule import alone
from tests.support.parts import few_and_large
from tests.support.tables import ALONE, best_by_hand, paid, random_table

FIGURE_1 = ("votes", "solver_only", "ordinal", "thresholds_mean", "trees")


def figure_1(rng, n, noise):
    """Rows labelled by the paper's diagram, some of them wrongly."""
    values = np.round(rng.random((n, 20)) * 6)
    values[:, 0], values[:, 1] = rng.random(n) < 0.328, rng.random(n) < 0.5
    soft = np.where(values[:, 1] <= 0, 1, np.where(values[:, 3] <= 4, 0, 1))
    hard = np.where(values[:, 2] <= 1, np.where(values[:, 4] <= 3, 2, 1), 2)
    label = np.where(values[:, 0] <= 0, soft, hard)
    label = np.where(rng.random(n) < noise, rng.integers(0, 3, n), label)
    names = FIGURE_1 + tuple(f"other{i}" for i in range(15))
    return Table(names, values, ALONE, 1.0 - np.eye(3)[label])


@pytest.mark.slow
def test_the_paper_s_diagram_is_found_again():
    learned = learn(figure_1(np.random.default_rng(0), 3379, 0.12), alpha=1.0)
    assert learned.proved
    nodes = learned.diagram.nodes
    splits = {(n.feature, n.threshold) for n in nodes if isinstance(n, Split)}
    assert splits == set(zip(FIGURE_1, (0, 0, 1, 4, 3), strict=True))
    assert nodes[0].feature == "votes"


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_and_large(12, 100))
def test_learning_equals_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    table = random_table(rng)
    alpha = float(rng.choice([0.0, 0.1, 1.0]))
    learned = learn(table, alpha)
    assert learned.proved
    assert learned.cost == pytest.approx(best_by_hand(table, alpha), abs=1e-9)
    # The diagram itself costs no more than what was promised of it.
    assert paid(learned.diagram, table, alpha) <= learned.cost + 1e-9


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_fewer_layers_equal_exhaustive_search(seed, layers):
    table = random_table(np.random.default_rng(seed))
    assert learn(table, 0.1, layers=layers).cost == pytest.approx(
        best_by_hand(table, 0.1, layers=layers)
    )


def test_a_time_limit_gives_a_bound():
    table = figure_1(np.random.default_rng(1), 300, 0.3)
    learned = learn(table, alpha=0.5, time_limit_s=0.0)
    assert not learned.proved and 0 <= learned.lower < learned.cost
    whole = learn(table, alpha=0.5)
    assert learned.lower <= whole.cost <= learned.cost


def test_where_nothing_can_be_split_a_leaf_is_learned():
    table = random_table(np.random.default_rng(0))
    table = replace(table, values=np.zeros_like(table.values))
    learned = learn(table)
    assert learned.proved and len(learned.diagram.nodes) == 1
    assert learned.cost == table.cost.sum(axis=0).min()


def test_conditions_have_at_most_so_many_thresholds():
    values = np.arange(100.0)[:, None]
    table = Table(("trees",), values, ALONE, np.zeros((100, 3)))
    assert len(conditions(table, 12)) == 12


def test_conditions_leave_out_what_is_named():
    table = random_table(np.random.default_rng(0))
    assert {column for column, _ in conditions(table, without=("trees",))} == {1}


def test_conditions_that_divide_alike_are_kept_once():
    values = np.array([[0.0, 5.0], [1.0, 4.0]])
    table = Table(("trees", "classes"), values, ALONE, np.zeros((2, 3)))
    assert conditions(table) == [(0, 0.0)]


def test_one_thread_runs_the_racing_backend_that_is_faster_alone():
    race = ((("cp", "milp"), math.inf),)
    cost = np.array([[3.0, 2.0, 0.5], [4.0, 1.0, 0.5]])
    table = Table(("trees",), np.zeros((2, 1)), (alone("cp"), alone("milp"), race), cost)
    (leaf,) = learned_leaf(table).diagram.nodes
    assert leaf.schedule == ((("milp", "cp"), math.inf),)
