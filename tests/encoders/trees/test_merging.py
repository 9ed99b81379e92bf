"""Merged trees add up to the same sums in every cell."""

from dataclasses import replace

import numpy as np
import pytest

from encoders.trees.merging import merged_by_column
from encoders.trees.tree_nodes import CodeSet, TreeNodes, joined

CODES, COLUMNS = 5, 3


def stump(rng, column, threshold):
    """Return a tree of one split: at a threshold, or on a set of codes."""
    listed = np.flatnonzero(rng.random(CODES) < 0.5)
    split = CodeSet(listed, bool(rng.random() < 0.5), bool(rng.random() < 0.5))
    score = np.vstack([np.zeros(2), rng.integers(-3, 4, (2, 2))]).astype(float)
    return TreeNodes(
        column=np.array([column, -1, -1]),
        last_left=np.array([1.5 if threshold else -np.inf, -np.inf, -np.inf]),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        score=score,
        default_left=np.zeros(3, dtype=bool),
        sets={} if threshold else {0: split},
    )


@pytest.mark.parametrize("seed", range(20))
def test_sums_stay_the_same(seed):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, COLUMNS, 9).tolist()
    trees = [stump(rng, column, threshold=column == 0) for column in columns]
    ensemble = joined(trees, COLUMNS, np.array([0.5, 0.0]), np.dtype(np.float64), 1.0, "test")
    merged = merged_by_column(ensemble)
    rows = rng.integers(0, CODES + 1, (300, COLUMNS)).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    assert np.array_equal(ensemble.scores(rows), merged.scores(rows))
    numbers = sum(column == 0 for column in columns)
    assert merged.root.size <= numbers + COLUMNS - 1


@pytest.mark.parametrize("seed", range(20))
def test_columns_of_numbers_get_thresholds(seed):
    rng = np.random.default_rng(seed)
    trees = [stump(rng, column, threshold=False) for column in (1, 1, 1, 2)]
    codes = joined(trees, COLUMNS, np.array([0.5, 0.0]), np.dtype(np.float64), 1.0, "test")
    numbers = replace(codes, sets=replace(codes.sets, numbers=frozenset({1})))
    merged = merged_by_column(numbers)
    rows = rng.uniform(-1, CODES, (300, COLUMNS))
    rows[:, 2] = rng.integers(0, CODES, 300)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    assert np.array_equal(numbers.scores(rows), merged.scores(rows))
    assert list(merged.sets.edges) == [2]
    both = replace(codes, sets=replace(codes.sets, numbers=frozenset({1, 2})))
    assert merged_by_column(both).sets is None
    assert np.array_equal(numbers.scores(rows), merged_by_column(both).scores(rows))


def test_other_trees_may_split_the_same_numbers_into_sets():
    rng = np.random.default_rng(0)
    wide = TreeNodes(
        column=np.array([1, 0, -1, -1, -1]),
        last_left=np.array([-np.inf, 1.5, -np.inf, -np.inf, -np.inf]),
        left=np.array([1, 3, -1, -1, -1]),
        right=np.array([2, 4, -1, -1, -1]),
        score=np.ones((5, 2)),
        default_left=np.zeros(5, dtype=bool),
        sets={0: CodeSet(np.array([0, 3]), True, False)},
    )
    trees = [wide, stump(rng, 1, threshold=False), stump(rng, 1, threshold=False)]
    codes = joined(trees, COLUMNS, np.zeros(2), np.dtype(np.float64), 1.0, "test")
    numbers = replace(codes, sets=replace(codes.sets, numbers=frozenset({1})))
    merged = merged_by_column(numbers)
    rows = rng.integers(0, CODES + 1, (300, COLUMNS)).astype(float)
    assert np.array_equal(numbers.scores(rows), merged.scores(rows))
    assert list(merged.sets.edges) == [1]
    assert merged.root.size == 2


def test_ensembles_without_sets_stay_as_they_are():
    rng = np.random.default_rng(0)
    trees = [stump(rng, 0, threshold=True) for _ in range(3)]
    plain = joined(trees, COLUMNS, np.zeros(2), np.dtype(np.float64), 1.0, "test")
    assert merged_by_column(plain) is plain
