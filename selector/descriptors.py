"""What is known of an ensemble before a solver is asked (appendix A of the paper).

What is known of the problem that reduction left is in :mod:`encoders.shape`.
"""

from dataclasses import dataclass

import numpy as np

from encoders.ensemble import Ensemble
from encoders.features import FeatureSpace

VERSION = 1


@dataclass(frozen=True)
class EnsembleDescriptors:
    """Numbers of things, unless said otherwise.

    Attributes
    ----------
    votes : hard voting
    boosted : scores are sums without a common scale (boosting), not means of probabilities
    nodes_mean, nodes_max : nodes of a tree, inner nodes and leaves
    levels_total, levels_mean, levels_max : distinct thresholds, over all features, per feature,
        and of the feature with most
    """

    numeric: int
    ordinal: int
    categorical: int
    binary: int
    classes: int
    votes: bool
    boosted: bool
    trees: int
    max_depth: int
    nodes_total: int
    nodes_mean: float
    nodes_max: int
    levels_total: int
    levels_mean: float
    levels_max: int


def describe_ensemble(ensemble: Ensemble, space: FeatureSpace) -> EnsembleDescriptors:
    """Describe what the user's model and data are, once per model."""
    kinds = [feature.kind for feature in space.features]
    inner = ensemble.column >= 0
    nodes, depth = _sizes(ensemble)
    splits = np.unique(
        np.stack([ensemble.column[inner].astype(np.float64), ensemble.last_left[inner]]), axis=1
    )
    owner = {column: i for i, f in enumerate(space.features) for column in f.columns}
    per_feature = np.bincount(
        [owner[int(column)] for column in splits[0]], minlength=len(space.features)
    )
    return EnsembleDescriptors(
        numeric=kinds.count("numeric"),
        ordinal=kinds.count("ordinal"),
        categorical=kinds.count("categorical"),
        binary=kinds.count("binary"),
        classes=ensemble.n_classes,
        votes=ensemble.votes,
        boosted=not ensemble.votes and ensemble.margin_unit == 1.0 and nodes.size > 1,
        trees=int(nodes.size),
        max_depth=depth,
        nodes_total=int(nodes.sum()),
        nodes_mean=float(nodes.mean()),
        nodes_max=int(nodes.max()),
        levels_total=int(per_feature.sum()),
        levels_mean=float(per_feature.mean()),
        levels_max=int(per_feature.max()),
    )


def _sizes(ensemble: Ensemble) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], int]:
    """Nodes of each tree, and the depth of the deepest."""
    tree = np.arange(ensemble.root.size)
    node, count, depth = ensemble.root, np.ones(ensemble.root.size, dtype=np.int64), 0
    while True:
        inner = ensemble.column[node] >= 0
        if not inner.any():
            return count, depth
        node, tree = node[inner], tree[inner]
        node, tree = np.r_[ensemble.left[node], ensemble.right[node]], np.r_[tree, tree]
        count += np.bincount(tree, minlength=count.size)
        depth += 1
