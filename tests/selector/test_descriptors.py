"""What is known of an ensemble."""

import pytest

from encoders.query.infer_features import infer_features
from encoders.readers.read import read_ensemble
from selector.descriptors import describe_ensemble


@pytest.fixture(scope="module")
def described(credit):
    forest, frame = credit
    return describe_ensemble(read_ensemble(forest), infer_features(frame, None))


@pytest.fixture(scope="module")
def trees(credit):
    return [estimator.tree_ for estimator in credit[0].estimators_]


def test_thresholds_are_counted_once_however_many_trees_have_them(described, trees):
    pairs = {
        (int(feature), threshold)
        for tree in trees
        for feature, threshold in zip(tree.feature, tree.threshold, strict=True)
        if feature >= 0
    }
    assert described.thresholds_total == len(pairs)
    assert described.thresholds_mean == pytest.approx(len(pairs) / 4)
    assert described.thresholds_max <= len(pairs)


def test_nodes_and_depth_are_those_of_the_library(described, trees):
    assert described.nodes_total == sum(tree.node_count for tree in trees)
    assert described.nodes_max == max(tree.node_count for tree in trees)
    assert described.max_depth == max(tree.max_depth for tree in trees)


def test_features_are_counted_by_kind(described):
    kinds = (described.numeric, described.ordinal, described.categorical, described.binary)
    assert sum(kinds) == 4 and described.categorical == 1
