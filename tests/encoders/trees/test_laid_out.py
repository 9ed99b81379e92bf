"""Trees that are laid out for many rows lead each of them to the same leaf."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from xgboost import XGBClassifier

from encoders.core.arrays import read_only
from encoders.readers.read import read_ensemble
from encoders.trees.ensemble import Ensemble
from encoders.trees.ways import walk_down, walk_down_laid_out

MODELS = (
    RandomForestClassifier(7, random_state=0),
    ExtraTreesClassifier(7, random_state=0),
    RandomForestClassifier(3, max_leaf_nodes=9, random_state=0),  # its nodes are in another order
    XGBClassifier(n_estimators=7, max_depth=5, random_state=0),
    XGBClassifier(n_estimators=2, gamma=1e6, random_state=0),  # nothing but roots
)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_rows_end_in_the_same_leaves(model: object) -> None:
    random = np.random.default_rng(1)
    X = random.integers(0, 30, (400, 6)).astype(np.float64)
    y = (X[:, 0] * X[:, 1] + random.normal(0, 60, 400) > 200).astype(np.int64)
    ensemble: Ensemble = read_ensemble(model.fit(X, y))  # type: ignore[attr-defined]
    edges = ensemble.last_left[random.integers(0, ensemble.last_left.size, (900, 6))]
    rows = np.concatenate([X, edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
    given = (ensemble.splits, read_only(ensemble.root), read_only(rows))
    ends = walk_down(*given, read_only(np.zeros((0, 0), dtype=np.int64)))
    assert np.array_equal(walk_down_laid_out(*given), ends)
    assert (ensemble.column[ends] < 0).all()


@pytest.mark.slow
def test_many_rows_of_a_large_forest_end_where_single_ones_do() -> None:
    random = np.random.default_rng(0)
    X = random.random((6000, 4))
    y = random.integers(0, 2, 6000)
    forest = RandomForestClassifier(40, random_state=0).fit(X, y)
    ensemble = replace(read_ensemble(forest), default_left=None)  # as where nothing is missing
    assert ensemble.column.size >= 100_000
    leaves = ensemble.leaves(X)
    assert np.array_equal(leaves - ensemble.root, forest.apply(X))
    for row in range(0, 6000, 599):
        assert np.array_equal(ensemble.leaves(X[row : row + 1])[0], leaves[row])
