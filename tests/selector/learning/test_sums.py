"""Sums of costs, counted into bins, against products with every pair of conditions."""

from pathlib import Path

import numpy as np
import pytest

from selector import logs
from selector.learning import exact
from selector.learning.exact import conditions, learn_each, sums
from selector.learning.examples import covered
from selector.learning.policies import follow
from selector.learning.train import LOCAL
from tests.support.tables import random_table

SHIPPED = Path(__file__).parents[3] / "training_logs" / "logs.parquet"


def by_products(cost, below, side):
    """Return what :func:`selector.learning.exact.sums` does, without chains of conditions."""
    n, holds = len(below), below[:, side].astype(np.float64)
    halves = np.stack([holds, 1 - holds], axis=1).reshape(2 * n, -1)
    sets = np.vstack([np.ones((1, halves.shape[1])), halves])
    total = np.einsum("ir,jr,rk->ikj", sets, halves, cost[side], optimize=True)
    return total.reshape(2 * n + 1, cost.shape[1], n, 2).swapaxes(2, 3)


@pytest.mark.parametrize("seed", range(10))
def test_sums_are_those_of_the_rows_of_each_set(seed):
    rng = np.random.default_rng(seed)
    table = random_table(rng)
    below = np.array([table.values[:, column] <= cut for column, cut in conditions(table)])
    below = rng.permutation(below) if seed % 2 else below
    side = rng.random(len(table.cost)) < rng.random()
    made = sums(table.cost, below, side)
    np.testing.assert_allclose(made, by_products(table.cost, below, side), atol=1e-9)


def test_sets_without_rows_cost_nothing():
    table = random_table(np.random.default_rng(0))
    below = np.array([table.values[:, column] <= cut for column, cut in conditions(table)])
    made = sums(table.cost / 3, below, below[0])
    assert (made[2] == 0).all() and not (made[0] == 0).all()


@pytest.mark.slow
def test_diagrams_of_the_shipped_logs_are_those_of_the_products(monkeypatch):
    data = covered(logs.read(SHIPPED))[0]
    table = data.table()
    prices = [alpha * float(table.cost.sum(axis=0).min()) for alpha in (3e-4, 1e-3, 0.1)]
    splits = conditions(table, 3, LOCAL)
    quick = learn_each(table, prices, splits)
    monkeypatch.setattr(exact, "sums", by_products)
    for learned, expected in zip(quick, learn_each(table, prices, splits), strict=True):
        assert learned.cost == pytest.approx(expected.cost, rel=1e-12)
        assert learned.lower == pytest.approx(expected.lower, rel=1e-12)
        # Equally expensive diagrams may order their splits differently.
        ours, theirs = follow(learned.diagram, data), follow(expected.diagram, data)
        assert (ours.wall == theirs.wall).all()
    assert len({learned.diagram.nodes for learned in quick}) > 1
