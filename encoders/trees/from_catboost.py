"""CatBoost's classifiers."""

import json
import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble
from encoders.trees.refusals import not_fitted
from encoders.trees.rounding import rounding_of
from encoders.trees.tree_nodes import NO_CHILD, TreeNodes, joined

LOSSES = ("Logloss", "MultiClass", "MultiClassOneVsAll")
DEEPEST = 16  # splits of a symmetric tree, as CatBoost itself allows
NOT_NUMERIC = (
    "the catboost model takes {} features, whose splits are no thresholds; encode them as numbers "
    "(one-hot, or by a pipeline step of its own) and retrain."
)
DAMAGED = "the catboost model's {} are not those of its own export; save it anew with save_model."


def read_catboost(model: Any) -> Ensemble:
    """Read a ``CatBoostClassifier`` of numeric features.

    A value is rounded to float32 and goes right if it is above a border. Leaf values are added in
    float64, multiplied by the model's scale, and its bias is added
    (``catboost/libs/model/cpu/evaluator_impl.cpp``). Class 1 of two needs a raw score above the
    logit of the probability threshold, which is 0 unless it was set; of several classes the first
    of the largest wins (``catboost/libs/eval_result/eval_helpers.cpp``).

    Parameters
    ----------
    model : fitted, of any grow policy

    Raises
    ------
    UnsupportedModelError
        Not fitted, another loss, features that are not numeric, or an export that differs from the
        model.
    """
    if not model.is_fitted():
        raise not_fitted(model)
    content = _exported(model)
    _check_kind(content)
    scale, bias = model.get_scale_and_bias()
    bias = np.atleast_1d(np.asarray(bias, dtype=np.float64))
    if model.feature_names_ is None:
        raise UnsupportedModelError(DAMAGED.format("feature names"))
    column = _flat_columns(content)
    n_scores = bias.size  # 1 for a raw score of class 1, else one per class
    own = np.asarray(model.get_leaf_values(), dtype=np.float64)
    if "oblivious_trees" in content:
        trees = _symmetric(content["oblivious_trees"] or [], column, own, n_scores)
    else:
        trees = [_grown(tree, column, n_scores) for tree in content.get("trees") or []]
        leaves = [tree.score[tree.left == NO_CHILD].ravel() for tree in trees]
        held = np.concatenate([np.zeros(0), *leaves])
        if not np.array_equal(np.sort(held), np.sort(own)):
            raise UnsupportedModelError(DAMAGED.format("leaf values"))
    if n_scores == 1:
        at = catboost_threshold(model)
        bias = np.array([0.0, float(bias[0]) - at])
        magnitude = np.array([0.0, abs(float(bias[1] + at)) + abs(at)])
        trees = [replace(t, score=np.column_stack([0 * t.score, t.score])) for t in trees]
    else:
        magnitude = np.abs(bias)
    trees = [replace(tree, score=tree.score * scale) for tree in trees]
    n_columns = len(model.feature_names_)
    read = joined(trees, n_columns, bias, np.dtype(np.float32), 1.0, "catboost")
    exact = scale == 1.0 and np.array_equal(magnitude, np.abs(bias))
    rounding = rounding_of(read.score, read.root, magnitude, may_be_exact=exact)
    return replace(read, rounding=rounding)


def is_catboost(model: Any) -> bool:
    """Whether a model is of CatBoost's library.

    Parameters
    ----------
    model : anything
    """
    return type(model).__module__.split(".")[0] == "catboost"


def catboost_threshold(model: Any) -> float:
    """The raw score that class 1 of two has to exceed.

    Parameters
    ----------
    model : fitted, of two classes
    """
    share = model.get_probability_threshold()
    return -math.log(1.0 / share - 1.0) if share != 0.5 else 0.0


def _exported(model: Any) -> dict[str, Any]:
    """The model in CatBoost's own JSON, which it writes to files only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except Exception as error:  # its own type of error, which is no public class of ours
            raise UnsupportedModelError(
                "this catboost model can't be exported to JSON, so its trees can't be read; train "
                "it on numeric features without text, embeddings or counters."
            ) from error
    return content


def _check_kind(content: dict[str, Any]) -> None:
    features = content["features_info"]
    kinds = {"categorical": "category", "text": "text", "embedding": "embedding"}
    for kind, word in kinds.items():
        if features.get(f"{kind}_features"):
            raise UnsupportedModelError(NOT_NUMERIC.format(word))
    params = content.get("model_info", {}).get("params", {})
    params = json.loads(params) if isinstance(params, str) else params
    loss = params.get("loss_function", {}).get("type", "unknown")
    if loss not in LOSSES:
        raise UnsupportedModelError(
            f"a catboost model with loss {loss} does not classify by score; train with "
            f"{', '.join(LOSSES)}."
        )


def _flat_columns(content: dict[str, Any]) -> IntArray:
    """The model's column of each numeric feature."""
    features = content["features_info"].get("float_features", [])
    return np.array([feature["flat_feature_index"] for feature in features], dtype=np.int64)


def _split(split: dict[str, Any], column: IntArray) -> tuple[int, float]:
    if split["split_type"] != "FloatFeature":
        raise UnsupportedModelError(NOT_NUMERIC.format("category"))
    return int(column[split["float_feature_index"]]), float(np.float32(split["border"]))


def _symmetric(
    trees: list[dict[str, Any]], column: IntArray, own: FloatArray, n_scores: int
) -> list[TreeNodes]:
    """Trees of one split per level: bit i of a leaf's number says whether split i goes right."""
    sizes = [n_scores << len(tree.get("splits") or []) for tree in trees]
    if sum(sizes) != own.size or max(sizes, default=0) > n_scores << DEEPEST:
        raise UnsupportedModelError(DAMAGED.format("leaf values"))
    found, at = [], 0
    for tree, size in zip(trees, sizes, strict=True):
        splits = [_split(split, column) for split in tree.get("splits") or []]
        found.append(_from_splits(splits[::-1], own[at : at + size].reshape(-1, n_scores)))
        at += size
    return found


def _from_splits(splits: list[tuple[int, float]], leaves: FloatArray) -> TreeNodes:
    """Nodes level by level, the children of node n at 2 n + 1 and 2 n + 2."""
    depth, n_leaves = len(splits), len(leaves)
    level = np.repeat(np.arange(depth), 2 ** np.arange(depth))
    inner = np.arange(n_leaves - 1)
    ends = np.full(n_leaves, NO_CHILD)
    columns = np.array([column for column, _ in splits], dtype=np.int64)
    borders = np.array([border for _, border in splits], dtype=np.float64)
    return TreeNodes(
        column=np.concatenate([columns[level], ends]),
        last_left=np.concatenate([borders[level], np.zeros(n_leaves)]),
        left=np.concatenate([2 * inner + 1, ends]),
        right=np.concatenate([2 * inner + 2, ends]),
        score=np.concatenate([np.zeros((n_leaves - 1, leaves.shape[1])), leaves]),
    )


def _grown(tree: dict[str, Any], column: IntArray, n_scores: int) -> TreeNodes:
    """A tree of nested nodes, as the other grow policies make them."""
    nodes, children, splits, scores = [tree], [], [], []
    for node in nodes:  # grows as it goes
        if "split" in node:
            children.append((len(nodes), len(nodes) + 1))
            nodes += [node["left"], node["right"]]
            splits.append(_split(node["split"], column))
            scores.append(np.zeros(n_scores))
        else:
            children.append((NO_CHILD, NO_CHILD))
            splits.append((NO_CHILD, 0.0))
            scores.append(np.atleast_1d(np.asarray(node["value"], dtype=np.float64)))
    if {score.size for score in scores} != {n_scores}:
        raise UnsupportedModelError(DAMAGED.format("leaf values"))
    left, right = np.array(children, dtype=np.int64).T
    return TreeNodes(
        column=np.array([at for at, _ in splits], dtype=np.int64),
        last_left=np.array([border for _, border in splits], dtype=np.float64),
        left=left,
        right=right,
        score=np.array(scores),
    )
