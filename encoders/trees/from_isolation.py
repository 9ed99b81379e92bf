"""Reader of scikit-learn's ``IsolationForest`` as a classifier: outlier (-1) or not (1)."""

from dataclasses import replace
from typing import Any

import numpy as np

from encoders.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble
from encoders.trees.input_type import largest_at_most
from encoders.trees.isolation import leaf_lengths, least_length, longest
from encoders.trees.refusals import require_fitted
from encoders.trees.rounding import rounding_of
from encoders.trees.tree_nodes import NO_CHILD, TreeNodes, joined

LENGTH_TERMS = 12  # roundings: a leaf's length has three summands, in the library and here


def read_isolation(model: Any) -> Ensemble:
    """Read a fitted ``IsolationForest`` as a classifier of the classes -1 and 1.

    Path lengths of the trees' leaves are added in float64. With the sum s and the longest sum S, a
    row is an inlier iff ``2 ** (-s / S) <= -offset_`` (``sklearn/ensemble/_iforest.py``,
    _compute_score_samples and predict). So inliers need a least sum of lengths, up to rounding, and
    a tie goes to class 1. Missing values are accepted and go where the trees send them.
    """
    require_fitted(model, "estimators_")
    least, most = least_length(model), longest(model)
    if not np.isfinite(least) or most == 0:
        raise UnsupportedModelError(
            f"the IsolationForest predicts the same class for all rows (offset_="
            f"{float(model.offset_):g}, max_samples_={model.max_samples_}). Fit it with other "
            "values of contamination and max_samples."
        )
    pairs = zip(model.estimators_, model.estimators_features_, strict=True)
    trees = [_tree(tree.tree_, np.asarray(columns)) for tree, columns in pairs]
    single = np.dtype(np.float32)
    read = joined(
        trees, int(model.n_features_in_), np.zeros(2), single, float(len(trees)), "sklearn"
    )
    return at_threshold(read, model)


def at_threshold(read: Ensemble, model: Any) -> Ensemble:
    """Return the same trees with the current threshold ``offset_`` of the forest."""
    bias = np.array([0.0, -least_length(model)])
    rounding = rounding_of(
        read.score,
        read.root,
        bias,
        terms=LENGTH_TERMS,
        link="sigmoid",  # a power of 2 and its inverse, a logarithm: nowhere flatter
        steepness=1.0 / longest(model),
        upper_wins=True,
        may_be_exact=False,
    )
    return replace(read, bias=bias, rounding=rounding)


def _tree(tree: Any, columns: "np.ndarray[Any, Any]") -> TreeNodes:
    left = np.asarray(tree.children_left, dtype=np.int64)
    inner = left != NO_CHILD
    length = leaf_lengths(tree)
    return TreeNodes(
        column=np.where(inner, columns[np.maximum(tree.feature, 0)], -1).astype(np.int64),
        last_left=largest_at_most(np.where(inner, tree.threshold, 0.0), np.dtype(np.float32)),
        left=left,
        right=np.asarray(tree.children_right, dtype=np.int64),
        score=np.column_stack([np.zeros(left.size), length]),
        default_left=np.asarray(tree.missing_go_to_left).astype(np.bool_),
    )
