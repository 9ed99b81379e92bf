"""Tables of additive models and the search in them, against all rows and all choices."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from encoders.core.arrays import frozen, starts
from encoders.trees.cells import codes, cut
from encoders.trees.term_search import TermLevels, drop_levels, walk
from encoders.trees.terms import tabulate_terms
from tests.support.additive import N_COLUMNS, random_additive

NUMBERS = (-1.5, -0.5, 0.5, 1.5, np.nan)
SEEDS = 60


def entries(terms, cells):
    """Return the table entry of each tree for a row of cells, int64 (n_trees,)."""
    strips = terms.strip[terms.strip_start + np.asarray(cells)[terms.column]]
    return terms.table_start + strips[:, 0] * terms.size[:, 1] + strips[:, 1]


def reachable(seed):
    """Return an additive ensemble and its cells, if each tree splits some column."""
    ensemble = random_additive(seed, with_gaps=seed % 2 == 0)
    cells = cut(ensemble)
    return ensemble, cells, tabulate_terms(cells)


def test_a_table_entry_is_the_leaf_of_each_row():
    checked = 0
    for seed in range(SEEDS):
        ensemble, cells, tables = reachable(seed)
        if tables is None:  # no value reaches more than one leaf of some tree
            continue
        terms, leaf = tables
        numbers = NUMBERS[: len(NUMBERS) - seed % 2]
        rows = np.array(list(itertools.product(numbers, repeat=N_COLUMNS)))
        for row, code in zip(rows, codes(cells.boundary, rows, ensemble.dtype), strict=True):
            reached = cells.node[leaf[entries(terms, code)]]
            assert reached.tolist() == ensemble.leaves(row[None])[0].tolist(), (seed, row)
        checked += 1
    assert checked > SEEDS / 2


def test_other_models_have_no_tables():
    cells = cut(random_additive(1, with_gaps=False))
    assert tabulate_terms(cells) is not None
    three = replace(cells, column=frozen(np.arange(cells.column.size) % N_COLUMNS))
    assert tabulate_terms(three) is None


def random_levels(random, cells):
    """Return levels of random costs, one of each column without cost."""
    n_cells = cells.n_cells if cells.takes_missing is not None else cells.n_cells - 1
    chosen = [np.flatnonzero(random.random(n) < 0.8) for n in n_cells]
    chosen = [cell if cell.size else np.array([0]) for cell in chosen]
    start = starts(np.array([cell.size for cell in chosen]))
    cost = random.integers(1, 9, start[-1]) * random.choice([0.125, 0.1])
    cheapest = start[:-1] + np.array([random.integers(cell.size) for cell in chosen])
    cost[cheapest] = 0.0
    arrays = start, np.concatenate(chosen), cost, cheapest
    return TermLevels(*map(frozen, arrays))


def all_choices(terms, levels, value):
    """Return all choices of levels, their costs and their weights."""
    ranges = itertools.starmap(range, itertools.pairwise(levels.start.tolist()))
    choices = np.array(list(itertools.product(*ranges)))
    weight = [value[entries(terms, levels.cell[choice])].sum() for choice in choices]
    return choices, levels.cost[choices].sum(axis=1), np.array(weight)


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_a_walk_ends_at_a_choice_that_is_nearly_the_cheapest(power):
    ratios = []
    for seed in range(SEEDS):
        random = np.random.default_rng(seed)
        _, cells, tables = reachable(seed)
        if tables is None:
            continue
        terms, leaf = tables
        value, levels = (
            frozen(random.integers(0, 50, leaf.size) * 1.0),
            random_levels(random, cells),
        )
        _, cost, weight = all_choices(terms, levels, value)
        need = float(np.quantile(weight, 0.9))
        point = levels.cheapest.copy()
        assert not walk(terms, levels, value, weight.max() + 1, power, point.copy())
        if walk(terms, levels, value, need, power, point):
            assert value[entries(terms, levels.cell[point])].sum() >= need
            ratios.append(levels.cost[point].sum() / max(cost[weight >= need].min(), 0.1))
    assert len(ratios) > 0.4 * SEEDS and np.median(ratios) <= 1.0 and np.mean(ratios) < 1.3


def test_dropped_levels_are_in_no_choice_within_the_radius():
    dropped = within = 0
    for seed in range(SEEDS):
        random = np.random.default_rng(seed)
        _, cells, tables = reachable(seed)
        if tables is None:
            continue
        terms, leaf = tables
        value, levels = (
            frozen(random.integers(0, 50, leaf.size) * 1.0),
            random_levels(random, cells),
        )
        choices, cost, weight = all_choices(terms, levels, value)
        for share, radius in itertools.product((0.5, 0.9, 0.99), (0.0, 0.2, 0.5, 1.0)):
            need = float(np.quantile(weight, share))
            keep = np.ones(levels.cost.size, dtype=np.bool_)
            remaining = drop_levels(terms, levels, value, need, radius, keep)
            assert remaining == keep.sum()
            assert keep[choices[(weight >= need) & (cost <= radius)]].all(), (seed, share, radius)
            assert not keep[levels.cost > radius].any()
            dropped += int((~keep & (levels.cost <= radius)).sum())
            within += int((levels.cost <= radius).sum())
    assert dropped > 0.3 * within
