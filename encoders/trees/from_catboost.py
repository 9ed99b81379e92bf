"""Reader of CatBoost's classifiers and regressors."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.errors import UnsupportedModelError
from encoders.trees.catboost_export import (
    DAMAGED,
    Split,
    Splits,
    category_columns,
    exported,
    loss_of,
)
from encoders.trees.ensemble import Ensemble
from encoders.trees.kinds import kind_of
from encoders.trees.link import Link, LinkKind
from encoders.trees.refusals import not_fitted, several_outputs
from encoders.trees.rounding import DOUBLE, LINK, rounding_of
from encoders.trees.set_splits import no_sets
from encoders.trees.tree_nodes import NO_CHILD, CodeSet, TreeNodes, joined

LOSSES: dict[str, LinkKind] = {
    "Logloss": "sigmoid",
    "CrossEntropy": "sigmoid",
    "MultiClass": "softmax",
    "MultiClassOneVsAll": "sigmoids",
}
EXPONENTIAL = ("Poisson", "Tweedie")  # regressors with other losses predict the sum itself
LEAF = Split(NO_CHILD, 0.0, False, -1)
DEEPEST = 16  # largest depth of a symmetric tree in CatBoost
# The relative error of CatBoost's exponential of x is at most x^2 times this. The source is
# ``library/cpp/fast_exp/fast_exp.cpp``, for processors without AVX2 and SSE2; others are precise.
FAST_EXP = 2.0**-33


def read_catboost(model: Any) -> Ensemble:
    """Read a ``CatBoostClassifier`` or ``CatBoostRegressor`` of numbers and single categories.

    A value is rounded to float32 and goes right if it is above a border. A category goes right if
    it is the one category of the split. Leaf values are added in float64, multiplied by the model's
    scale, and the bias is added (``catboost/libs/model/cpu/evaluator_impl.cpp``). Class 1 of two
    needs a raw score above the logit of the probability threshold, by default 0. With several
    classes, the first of the largest wins (``catboost/libs/eval_result/eval_helpers.cpp``). A
    regressor's prediction is the raw score, or its exponential.
    """
    if not model.is_fitted():
        raise not_fitted(model)
    content = exported(model)
    regression = kind_of(model).name == "CatBoostRegressor"
    loss = loss_of(content)
    if not regression and loss not in LOSSES:
        raise UnsupportedModelError(
            f"a CatBoostClassifier with loss {loss} does not classify by score. Train with one of "
            f"the losses {', '.join(LOSSES)}, or a CatBoostRegressor."
        )
    scale, bias = model.get_scale_and_bias()
    bias = np.atleast_1d(np.asarray(bias, dtype=np.float64))
    if model.feature_names_ is None:
        raise UnsupportedModelError(
            "the CatBoost model has no feature names. Save it again with save_model."
        )
    if regression and bias.size > 1:
        raise several_outputs("regressor")
    trees = _trees(model, content, bias.size)
    threshold, magnitude = 0.0, np.abs(bias)
    if bias.size == 1 and not regression:  # a raw score of class 1
        threshold = catboost_threshold(model)
        magnitude = np.array([0.0, magnitude[0] + 2 * abs(threshold)])
        bias = np.array([0.0, bias[0] - threshold])
        trees = [replace(t, score=np.column_stack([0 * t.score, t.score])) for t in trees]
    trees = [replace(tree, score=tree.score * scale) for tree in trees]
    n_columns = len(model.feature_names_)
    read = joined(trees, n_columns, bias, np.dtype(np.float32), 1.0, "catboost")
    exact = scale == 1.0 and threshold == 0.0
    rounding = rounding_of(read.score, read.root, magnitude, may_be_exact=exact)
    kind = ("exp" if loss in EXPONENTIAL else "mean") if regression else LOSSES[loss]
    if (categories := category_columns(content)).size:  # also columns that no tree splits
        sets = read.sets or no_sets(read.column.size)
        edges = {int(column): np.zeros(0) for column in categories} | dict(sets.edges)
        read = replace(read, sets=replace(sets, edges=edges))
    return replace(
        read,
        rounding=rounding,
        link=Link(kind, unit=_unit(kind, read), offset=threshold),
        regression=regression,
    )


def catboost_threshold(model: Any) -> float:
    """Return the raw score that class 1 of two must exceed."""
    share = model.get_probability_threshold()
    return -math.log(1.0 / share - 1.0) if share != 0.5 else 0.0


def _unit(kind: LinkKind, read: Ensemble) -> float:
    """Return the unit roundoff of the output, including the error of CatBoost's exponential."""
    if kind == "exp":
        largest = np.maximum.reduceat(np.abs(read.score), read.root, axis=0).sum()
        most = 1.0 + float(largest + np.abs(read.bias).sum())
        return DOUBLE * most + FAST_EXP / LINK * most * most
    # The exponents of a softmax are at most 0, where x^2 exp(x) is below 1.
    return DOUBLE + FAST_EXP if kind == "softmax" else DOUBLE


def _trees(model: Any, content: dict[str, Any], n_scores: int) -> list[TreeNodes]:
    splits = Splits(content)
    values = np.asarray(model.get_leaf_values(), dtype=np.float64)
    if "oblivious_trees" in content:
        return _symmetric(content["oblivious_trees"] or [], splits, values, n_scores)
    trees = [_grown(tree, splits, n_scores) for tree in content.get("trees") or []]
    leaves = [tree.score[tree.left == NO_CHILD].ravel() for tree in trees]
    exported_values = np.concatenate([np.zeros(0), *leaves])
    if not np.array_equal(np.sort(exported_values), np.sort(values)):
        raise UnsupportedModelError(DAMAGED.format("leaf values"))
    return trees


def _symmetric(
    trees: list[dict[str, Any]], splits: Splits, values: FloatArray, n_scores: int
) -> list[TreeNodes]:
    """Return trees with one split per level: bit i of a leaf's index is 1 if split i goes right."""
    sizes = [n_scores << len(tree.get("splits") or []) for tree in trees]
    if sum(sizes) != values.size or max(sizes, default=0) > n_scores << DEEPEST:
        raise UnsupportedModelError(DAMAGED.format("leaf values"))
    nodes, at = [], 0
    for tree, size in zip(trees, sizes, strict=True):
        levels = [splits.read(split) for split in tree.get("splits") or []]
        nodes.append(_from_levels(levels[::-1], values[at : at + size].reshape(-1, n_scores)))
        at += size
    return nodes


def _from_levels(levels: list[Split], leaves: FloatArray) -> TreeNodes:
    """Return a symmetric tree; nodes are in level order, children of n at 2 n + 1 and 2 n + 2."""
    depth, n_leaves = len(levels), len(leaves)
    inner, ends = np.arange(n_leaves - 1), np.full(n_leaves, NO_CHILD)
    which = np.append(np.repeat(np.arange(depth), 2 ** np.arange(depth)), np.full(n_leaves, depth))
    children = [np.append(2 * inner + way, ends) for way in (1, 2)]
    score = np.concatenate([np.zeros((n_leaves - 1, leaves.shape[1])), leaves])
    return _nodes([*levels, LEAF], which, np.stack(children), score)


def _grown(tree: dict[str, Any], splits: Splits, n_scores: int) -> TreeNodes:
    """Return a tree of nested nodes, as the other grow policies have."""
    nodes, children, read, scores = [tree], [], [], []
    for node in nodes:  # the list grows during the loop
        if "split" in node:
            children.append((len(nodes), len(nodes) + 1))
            nodes += [node["left"], node["right"]]
            read.append(splits.read(node["split"]))
            scores.append(np.zeros(n_scores))
        else:
            children.append((NO_CHILD, NO_CHILD))
            read.append(LEAF)
            scores.append(np.atleast_1d(np.asarray(node["value"], dtype=np.float64)))
    if {score.size for score in scores} != {n_scores}:
        raise UnsupportedModelError(DAMAGED.format("leaf values"))
    which, below = np.arange(len(read)), np.array(children, dtype=np.int64).T
    return _nodes(read, which, below, np.array(scores))


def _nodes(
    splits: list[Split], which: IntArray, children: IntArray, score: FloatArray
) -> TreeNodes:
    """Return a tree from the distinct splits, and the index of each node's split in ``which``."""
    column, border, missing_left, code = zip(*splits, strict=True)
    codes = np.array(code)[which]
    return TreeNodes(
        column=np.array(column)[which],
        last_left=np.array(border)[which],
        left=children[0],
        right=children[1],
        score=score,
        default_left=np.array(missing_left)[which],
        sets={
            node: CodeSet(codes[node : node + 1], listed_left=False, missing_left=True)
            for node in np.flatnonzero(codes >= 0).tolist()
        },
    )
