"""Boxes that part the space as some other trees would are found out."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from encoders.core.errors import UnsupportedModelError
from encoders.readers.read import read_ensemble
from encoders.trees.cells import cut
from portfolio.model.evidence import check_boxes


@pytest.fixture(scope="module")
def stumps():
    """Each on a number that may be missing, or on categories."""
    random = np.random.default_rng(0)
    X = np.c_[random.normal(size=400), random.integers(0, 5, 400)].astype(float)
    y = (X[:, 0] > 0.3) ^ np.isin(X[:, 1], [1, 4])
    X[::7, 0] = np.nan
    model = HistGradientBoostingClassifier(max_depth=1, max_iter=30, categorical_features=[1])
    ensemble = read_ensemble(model.fit(X, y))
    return ensemble, cut(ensemble), X


def swapped(cells):
    """The last tree's leaves in each other's boxes."""
    node = cells.node.copy()
    node[-2:] = node[:-3:-1]
    return replace(cells, node=node)


def other_way(cells):
    """What is missing goes the other way."""
    return replace(cells, takes_missing=~cells.takes_missing)


def other_categories(cells):
    """Each set takes the categories of the others."""
    (group,) = cells.groups
    return replace(cells, groups=(replace(group, bits=~group.bits),))


def test_boxes_are_those_of_the_paths(stumps):
    check_boxes(*stumps)


@pytest.mark.parametrize("spoil", [swapped, other_way, other_categories])
def test_boxes_of_other_trees_are_told(stumps, spoil):
    ensemble, cells, X = stumps
    with pytest.raises(UnsupportedModelError, match="other active leaves by their boxes"):
        check_boxes(ensemble, spoil(cells), X)


def test_a_tree_of_one_leaf_takes_every_row():
    X = np.arange(12.0)[:, None]
    model = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=20).fit(X, X[:, 0] > 5)
    ensemble = read_ensemble(model)
    assert (ensemble.column < 0).all()
    check_boxes(ensemble, cut(ensemble), X)
