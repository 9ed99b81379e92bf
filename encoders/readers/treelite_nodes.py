"""Conversion of treelite models to ensembles."""

from dataclasses import replace
from typing import Any

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray
from encoders.core.errors import UnsupportedModelError
from encoders.readers.refusals import several_outputs
from encoders.trees.ensemble import Ensemble
from encoders.trees.floats import largest_at_most
from encoders.trees.tree_nodes import NO_CHILD, CodeSet, TreeNodes, joined

_LESS_EQUAL, _LESS_THAN = 3, 2  # treelite's Operator codes
_CATEGORIES = 2  # treelite's TreeNodeType of a categorical split


def from_treelite(
    trees: Any, dtype: np.dtype[Any], source: str, regression: bool = False, target: int = -1
) -> Ensemble:
    """Return a treelite model as an ensemble; ``source`` is its library.

    ``target`` is the index of the output to read of a model of several.
    """
    header = trees.get_header_accessor()
    sizes = header.get_field("num_class")  # of each output
    if len(sizes) != 1 and target < 0:
        raise several_outputs("regressor" if regression else "classifier")
    target = max(target, 0)
    n_classes, first = int(sizes[target]), int(sizes[:target].sum())
    # A tree is of one output, or has at each leaf a vector of the classes of all outputs.
    chosen = np.flatnonzero(np.isin(header.get_field("target_id"), (-1, target))).tolist()
    class_of_tree = header.get_field("class_id")
    width = n_classes if regression else max(n_classes, 2)
    parts = [
        _tree(trees.get_tree_accessor(t), dtype, first, n_classes, int(class_of_tree[t]), width)
        for t in chosen
    ]
    # treelite returns views of memory that it frees with its model: copy.
    scores = np.array(header.get_field("base_scores"), dtype=np.float64)
    bias = scores[first : first + n_classes]
    averaged = bool(header.get_field("average_tree_output")[0])
    # Each tree is of one class, and averages are over the trees of a class.
    per_class = len(parts) / n_classes if averaged else 1.0
    if n_classes < width:  # a single raw score: class 1 wins iff it is positive
        bias = np.array([0.0, bias[0]])
    n_columns = int(header.get_field("num_feature")[0])
    read = joined(parts, n_columns, bias * per_class, dtype, per_class, source)
    return replace(read, regression=regression)


def _tree(
    tree: Any, dtype: np.dtype[Any], first: int, n_classes: int, tree_class: int, width: int
) -> TreeNodes:
    left = tree.get_field("cleft").astype(np.int64)
    operator = tree.get_field("cmp")
    by_set = tree.get_field("node_type") == _CATEGORIES
    inner = (left != NO_CHILD) & ~by_set
    if not np.isin(operator[inner], (_LESS_EQUAL, _LESS_THAN)).all():
        raise UnsupportedModelError(
            "the model has splits other than 'value < threshold' or 'value <= threshold'. Train it "
            "without such splits."
        )
    threshold = tree.get_field("threshold").astype(np.float64)
    if np.isnan(threshold[inner]).any():
        raise UnsupportedModelError(
            "the model has a split at NaN. Train it without missing values."
        )
    default_left = tree.get_field("default_left").astype(np.bool_)
    loose = largest_at_most(threshold, dtype)
    strict = largest_at_most(threshold, dtype, strict=True)
    return TreeNodes(
        column=np.where(left != NO_CHILD, tree.get_field("split_index").astype(np.int64), -1),
        last_left=np.where(by_set, -np.inf, np.where(operator == _LESS_THAN, strict, loose)),
        left=left,
        right=tree.get_field("cright").astype(np.int64),
        score=_leaf_scores(tree, left == NO_CHILD, first, n_classes, tree_class, width),
        default_left=default_left,
        sets=_code_sets(tree, by_set, default_left),
    )


def _code_sets(tree: Any, by_set: BoolArray, default_left: BoolArray) -> dict[int, CodeSet]:
    if not by_set.any():
        return {}
    codes = tree.get_field("category_list").astype(np.int64)
    begin, end = tree.get_field("category_list_begin"), tree.get_field("category_list_end")
    right = tree.get_field("category_list_right_child").astype(np.bool_)
    return {
        node: CodeSet(
            codes[int(begin[node]) : int(end[node])], not right[node], bool(default_left[node])
        )
        for node in np.flatnonzero(by_set).tolist()
    }


def _leaf_scores(
    tree: Any, leaf: Any, first: int, n_classes: int, tree_class: int, width: int
) -> FloatArray:
    """Return scores of nodes, float64 (n_nodes, width); a single score is in the last column."""
    vector = tree.get_field("leaf_vector").astype(np.float64)
    score = np.zeros((leaf.size, width))
    places = np.flatnonzero(leaf)
    if vector.size:
        begin = tree.get_field("leaf_vector_begin").astype(np.int64)[places]
        score[places, width - n_classes :] = vector[begin[:, None] + first + np.arange(n_classes)]
    else:
        column = width - 1 if n_classes == 1 else max(tree_class, 0)
        score[places, column] = tree.get_field("leaf_value").astype(np.float64)[places]
    return score
