"""Isolation forests as trees with path lengths (appendix C of the paper)."""

from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, frozen
from encoders.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble
from encoders.trees.input_type import largest_at_most, last_read_as


def with_isolation(ensemble: Ensemble, forest: Any) -> Ensemble:
    """The ensemble's trees and those of a fitted scikit-learn IsolationForest.

    A row is plausible iff the corrected path lengths of its isolation leaves add up to at least
    ``least_length``: ``decision_function >= 0`` as a linear row.

    Parameters
    ----------
    ensemble : the classifier's
    forest : its trees come after the ensemble's

    Raises
    ------
    UnsupportedModelError
        Not a fitted IsolationForest of this many columns.
    """
    if type(forest).__name__ != "IsolationForest" or not hasattr(forest, "estimators_"):
        raise UnsupportedModelError(
            f"plausibility needs a fitted IsolationForest, got {type(forest).__name__}."
        )
    if int(forest.n_features_in_) != ensemble.n_columns:
        raise UnsupportedModelError(
            f"the isolation forest knows {forest.n_features_in_} columns, the model "
            f"{ensemble.n_columns}; fit both on the same frame."
        )
    if ensemble.sets is not None:
        raise UnsupportedModelError(
            "plausibility needs a model that splits at thresholds only, and this one takes some "
            "numbers for missing; train it without."
        )
    column, last_left, left, right = (
        [ensemble.column],
        [ensemble.last_left],
        [ensemble.left],
        [ensemble.right],
    )
    length, root, first = [np.zeros(ensemble.column.size)], [ensemble.root], ensemble.column.size
    for estimator, used in zip(forest.estimators_, forest.estimators_features_, strict=True):
        tree = estimator.tree_
        leaf = tree.children_left < 0
        column.append(np.where(leaf, -1, np.asarray(used)[np.maximum(tree.feature, 0)]))
        last_left.append(np.where(leaf, -np.inf, _last_left(tree.threshold, ensemble.dtype)))
        left.append(np.where(leaf, -1, tree.children_left + first))
        right.append(np.where(leaf, -1, tree.children_right + first))
        length.append(leaf_lengths(tree))
        root.append(np.array([first]))
        first += leaf.size
    nothing = np.zeros((first - ensemble.column.size, ensemble.n_sums))
    return replace(
        ensemble,
        root=frozen(np.concatenate(root)),
        column=frozen(np.concatenate(column)),
        last_left=frozen(np.concatenate(last_left)),
        left=frozen(np.concatenate(left)),
        right=frozen(np.concatenate(right)),
        score=frozen(np.concatenate([ensemble.score, nothing])),
        length=frozen(np.concatenate(length)),
        least_length=least_length(forest),
    )


def least_length(forest: Any) -> float:
    """``T * H_min`` with ``H_min = -c_max * log2(-offset)``, inf if nothing is plausible.

    Parameters
    ----------
    forest : fitted scikit-learn IsolationForest
    """
    offset = -float(forest.offset_)
    if offset <= 0:
        return np.inf  # no score reaches such an offset: nothing is plausible
    return -longest(forest) * float(np.log2(offset))


def longest(forest: Any) -> float:
    """``T * c_max``, what path lengths are divided by: the score is 2 to minus that share.

    Parameters
    ----------
    forest : fitted scikit-learn IsolationForest
    """
    return len(forest.estimators_) * float(expected_length(np.array([forest.max_samples_]))[0])


def expected_length(samples: "np.ndarray[Any, Any]") -> FloatArray:
    """Expected path length among as many samples, c(m) of appendix C, float64 as ``samples``.

    Parameters
    ----------
    samples : whole numbers, any shape
    """
    m = np.maximum(samples.astype(np.float64), 3)
    large = 2 * (np.log(m - 1) + np.euler_gamma) - 2 * (m - 1) / m
    return np.where(samples <= 1, 0.0, np.where(samples == 2, 1.0, large))


def leaf_lengths(tree: Any) -> FloatArray:
    """Corrected path length of each leaf, float64 (n_nodes,), 0 at inner nodes.

    Parameters
    ----------
    tree : ``tree_`` of an isolation tree
    """
    leaf = tree.children_left < 0
    return np.where(leaf, _depth(tree) + expected_length(tree.n_node_samples), 0.0)


def _depth(tree: Any) -> FloatArray:
    depth = np.zeros(tree.node_count)
    for node in range(tree.node_count):  # parents come before their children
        if tree.children_left[node] >= 0:
            depth[tree.children_left[node]] = depth[tree.children_right[node]] = depth[node] + 1
    return depth


def _last_left(threshold: FloatArray, dtype: np.dtype[Any]) -> FloatArray:
    """Largest value of the model's input type whose float32 is at most the threshold."""
    single = np.dtype(np.float32)
    last = largest_at_most(threshold, single)
    return last if dtype == single else last_read_as(last, single)
