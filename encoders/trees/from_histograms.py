"""Reader of the nodes of scikit-learn's histogram gradient boosting."""

from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.trees.ensemble import Ensemble
from encoders.trees.kinds import kind_of
from encoders.trees.tree_nodes import NO_CHILD, CodeSet, TreeNodes, joined

BITS = 32  # bits per word of a set of categories


def read_histograms(model: Any) -> Ensemble:
    """Read the nodes of a model, which may split on categories.

    The library encodes categories first and moves their columns before the others
    (``sklearn/ensemble/_hist_gradient_boosting/gradient_boosting.py``, ``_preprocess_X``). An
    unknown category counts as missing. The codes of a set go left (``_predictor.pyx``).
    """
    flags = model.is_categorical_  # None without category columns
    categorical = np.zeros(model.n_features_in_, bool) if flags is None else np.asarray(flags)
    order = np.r_[np.flatnonzero(categorical), np.flatnonzero(~categorical)]
    rounds = model._predictors
    regression = kind_of(model).name.endswith("Regressor")
    n_classes = len(rounds[0]) if regression else max(2, len(rounds[0]))
    first = n_classes - len(rounds[0])  # a single raw score is that of class 1
    trees = [
        _tree(predictor, order, n_classes, at + first)
        for stage in rounds
        for at, predictor in enumerate(stage)
    ]
    bias = np.zeros(n_classes)
    bias[first:] = np.ravel(model._baseline_prediction)
    dtype = np.dtype(np.float64)  # X_DTYPE of common.pyx
    read = joined(trees, categorical.size, bias, dtype, 1.0, "sklearn")
    return replace(read, regression=regression)


def _tree(predictor: Any, order: IntArray, n_classes: int, label: int) -> TreeNodes:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(np.bool_)
    by_set = nodes["is_categorical"].astype(np.bool_) & ~leaf
    score = np.zeros((nodes.size, n_classes))
    score[leaf, label] = nodes["value"][leaf]
    missing_left = nodes["missing_go_to_left"].astype(np.bool_)
    return TreeNodes(
        column=np.where(leaf, -1, order[nodes["feature_idx"].astype(np.int64)]),
        last_left=_last_left(nodes["num_threshold"], by_set),
        left=np.where(leaf, NO_CHILD, nodes["left"].astype(np.int64)),
        right=np.where(leaf, NO_CHILD, nodes["right"].astype(np.int64)),
        score=score,
        default_left=missing_left,
        sets={
            node: CodeSet(
                _codes(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]),
                True,
                bool(missing_left[node]),
            )
            for node in np.flatnonzero(by_set).tolist()
        },
    )


def _last_left(
    threshold: FloatArray, by_set: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> FloatArray:
    largest = np.finfo(np.float64).max  # an infinite threshold separates missing from other values
    return np.where(by_set, -np.inf, np.minimum(threshold, largest))


def _codes(words: Any) -> IntArray:
    bits = np.asarray(words, dtype=np.uint32)[:, None] >> np.arange(BITS, dtype=np.uint32) & 1
    return np.flatnonzero(bits)
