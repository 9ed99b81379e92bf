"""Path lengths of isolation forests (appendix C of the paper in docs/references.md)."""

from typing import Any

import numpy as np

from encoders.arrays import FloatArray


def least_length(forest: Any) -> float:
    """Return the least sum of lengths, ``-T * c_max * log2(-offset)``; inf if none is plausible."""
    offset = -float(forest.offset_)
    if offset <= 0:
        return np.inf  # no score reaches such an offset: no row is plausible
    return -longest(forest) * float(np.log2(offset))


def longest(forest: Any) -> float:
    """Return ``T * c_max``, the divisor of lengths in the score ``2 ** -(lengths / longest)``."""
    return len(forest.estimators_) * float(expected_length(np.array([forest.max_samples_]))[0])


def expected_length(samples: "np.ndarray[Any, Any]") -> FloatArray:
    """Return the expected path length among ``samples`` samples, c(m), float64 (n,)."""
    m = np.maximum(samples.astype(np.float64), 3)
    large = 2 * (np.log(m - 1) + np.euler_gamma) - 2 * (m - 1) / m
    return np.where(samples <= 1, 0.0, np.where(samples == 2, 1.0, large))


def leaf_lengths(tree: Any) -> FloatArray:
    """Return the corrected path length of each leaf, float64 (n_nodes,), 0 at inner nodes."""
    leaf = tree.children_left < 0
    return np.where(leaf, _depth(tree) + expected_length(tree.n_node_samples), 0.0)


def _depth(tree: Any) -> FloatArray:
    depth = np.zeros(tree.node_count)
    for node in range(tree.node_count):  # parents come before their children
        if tree.children_left[node] >= 0:
            depth[tree.children_left[node]] = depth[tree.children_right[node]] = depth[node] + 1
    return depth
