"""treelite's view of a model -> :class:`Ensemble`."""

from typing import Any

import numpy as np

from encoders.arrays import BoolArray, IntArray, frozen, starts
from encoders.ensemble import Ensemble, largest_at_most
from encoders.errors import UnsupportedModelError
from encoders.refusals import NATIVE_CATEGORIES, SEVERAL_OUTPUTS

_LESS_EQUAL, _LESS_THAN = 3, 2  # treelite's Operator codes
NO_CHILD = -1
NO_TREES = "the {} model's nodes are no trees: {}; the file is damaged, train or save it anew."


def from_treelite(trees: Any, dtype: np.dtype[Any], source: str) -> Ensemble:
    """Node arrays of all trees; only what is reachable from a root is a tree's.

    Raises
    ------
    UnsupportedModelError
        No tree, several outputs, categorical splits, values that are not finite, or nodes that do
        not form binary trees.
    """
    header = trees.get_header_accessor()
    n_trees = int(header.get_field("num_tree")[0])
    if n_trees == 0:
        raise UnsupportedModelError("the model holds no tree; train it for at least one round.")
    if int(header.get_field("num_target")[0]) != 1:
        raise UnsupportedModelError(SEVERAL_OUTPUTS)
    n_classes = int(header.get_field("num_class")[0])
    class_of_tree = header.get_field("class_id")
    n_columns = int(header.get_field("num_feature")[0])
    parts = [_tree_arrays(trees.get_tree_accessor(t), dtype) for t in range(n_trees)]
    parts = [_reachable(part, n_columns, source) for part in parts]
    offset = starts(np.array([part["column"].size for part in parts]))
    score = np.concatenate(
        [_leaf_scores(part, n_classes, int(class_of_tree[t])) for t, part in enumerate(parts)]
    )
    # treelite hands out views of memory that goes with its model: copy.
    bias = np.array(header.get_field("base_scores"), dtype=np.float64)
    # Leaves of several classes, or trees of one class each: an average is over those of a class.
    per_class = n_trees if parts[0]["vector"].size or n_classes == 1 else n_trees / n_classes
    averaged = bool(header.get_field("average_tree_output")[0])
    if averaged:
        bias = bias * per_class
    if n_classes == 1:  # one raw score: class 1 wins iff it is positive
        score = np.column_stack([np.zeros(score.shape[0]), score[:, 0]])
        bias = np.array([0.0, bias[0]])
    if not (np.isfinite(score).all() and np.isfinite(bias).all()):
        raise UnsupportedModelError(f"the {source} model holds leaf values that are not finite.")

    def shifted(field: str) -> np.ndarray[Any, Any]:
        return np.concatenate(
            [
                np.where(p[field] >= 0, p[field] + o, -1)
                for p, o in zip(parts, offset[:-1], strict=True)
            ]
        )

    return Ensemble(
        n_columns=n_columns,
        root=frozen(offset[:-1].copy()),
        column=frozen(np.concatenate([part["column"] for part in parts])),
        last_left=frozen(np.concatenate([part["last_left"] for part in parts])),
        left=frozen(shifted("left")),
        right=frozen(shifted("right")),
        score=frozen(score),
        bias=frozen(bias),
        dtype=dtype,
        margin_unit=float(per_class) if averaged else 1.0,
        votes=False,
    )


def _tree_arrays(tree: Any, dtype: np.dtype[Any]) -> dict[str, Any]:
    if tree.get_field("has_categorical_split")[0]:
        raise UnsupportedModelError(NATIVE_CATEGORIES)
    left = tree.get_field("cleft").astype(np.int64)
    operator = tree.get_field("cmp")
    inner = left >= 0
    if not np.isin(operator[inner], (_LESS_EQUAL, _LESS_THAN)).all():
        raise UnsupportedModelError("the model has splits other than 'value < threshold'.")
    threshold = tree.get_field("threshold").astype(np.float64)
    if np.isnan(threshold[inner]).any():
        raise UnsupportedModelError(
            "the model has a split at NaN; train it without missing values."
        )
    loose = largest_at_most(threshold, dtype)
    strict = largest_at_most(threshold, dtype, strict=True)
    column = tree.get_field("split_index").astype(np.int64)
    return {
        "column": np.where(inner, column, -1),
        "last_left": np.where(operator == _LESS_THAN, strict, loose),
        "left": left,
        "right": tree.get_field("cright").astype(np.int64),
        "value": tree.get_field("leaf_value").astype(np.float64),
        "vector": tree.get_field("leaf_vector").astype(np.float64),
        "vector_begin": tree.get_field("leaf_vector_begin").astype(np.int64),
    }


def _reachable(part: dict[str, Any], n_columns: int, source: str) -> dict[str, Any]:
    """The part of a tree's nodes that a row can get to; XGBoost keeps pruned ones in its files.

    Checks on the way that every node has two children or none, and one parent.
    """
    left, right, size = part["left"], part["right"], part["left"].size
    if ((left < 0) != (right < 0)).any():
        raise UnsupportedModelError(NO_TREES.format(source, "one has a single child"))
    if max(left.max(), right.max()) >= size or min(left.min(), right.min()) < NO_CHILD:
        raise UnsupportedModelError(NO_TREES.format(source, "a child is missing"))
    column = part["column"][left >= 0]
    if ((column < 0) | (column >= n_columns)).any():
        raise UnsupportedModelError(NO_TREES.format(source, "a split is on an unknown column"))
    seen: BoolArray = np.zeros(size, dtype=np.bool_)
    level = np.zeros(1, dtype=np.int64)
    while level.size:
        if seen[level].any() or np.unique(level).size < level.size:
            raise UnsupportedModelError(NO_TREES.format(source, "a node has two parents"))
        seen[level] = True
        inner = level[left[level] >= 0]
        level = np.concatenate([left[inner], right[inner]])
    if seen.all():
        return part
    renumber: IntArray = np.cumsum(seen) - 1
    kept = {name: part[name][seen] for name in ("column", "last_left", "value")}
    for side in ("left", "right"):
        child = part[side][seen]
        kept[side] = np.where(child >= 0, renumber[child], -1)
    begin = part["vector_begin"]
    return part | kept | {"vector_begin": begin[seen] if begin.size == size else begin}


def _leaf_scores(part: dict[str, Any], n_classes: int, tree_class: int) -> Any:
    """Scores of one tree's nodes, (n_nodes, n_classes); zero at inner nodes."""
    leaf = np.flatnonzero(part["left"] < 0)
    score = np.zeros((part["left"].size, n_classes))
    if part["vector"].size:
        index = part["vector_begin"][leaf][:, None] + np.arange(n_classes)
        score[leaf] = part["vector"][index]
    else:
        score[leaf, max(tree_class, 0)] = part["value"][leaf]
    return score
