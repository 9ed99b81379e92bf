"""Descriptors of ensembles and queries that decision diagrams split on.

They are those of the paper's appendix and a few more, with fixed names and order. Descriptors of
the presolved problem are in :mod:`encoders.problem.descriptors`.
"""

import math
from dataclasses import asdict, dataclass, fields
from typing import Literal

import numpy as np

from encoders.core.arrays import FloatArray, IntArray, order_by, runs, starts
from encoders.problem.descriptors import Shape
from encoders.query.features import FeatureSpace
from encoders.trees.ensemble import Ensemble


@dataclass(frozen=True)
class EnsembleDescriptors:
    """Numbers that describe an ensemble and its features.

    Attributes
    ----------
    numeric, ordinal, categorical, binary : number of features of each kind.
    classes : number of classes.
    votes : bool, whether the model votes by majority (hard voting).
    boosted : bool, whether scores are sums (boosting), not means of probabilities.
    trees : number of trees of all classes.
    max_depth : number of splits on the longest path of any tree.
    nodes_total, nodes_mean, nodes_max : number of inner nodes and leaves in all trees, per tree,
        and in the largest tree.
    thresholds_total, thresholds_mean, thresholds_max : number of distinct thresholds of all
        features, per feature, and of the feature with the most (the paper's "split levels").
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
    thresholds_total: int
    thresholds_mean: float
    thresholds_max: int


def describe_ensemble(ensemble: Ensemble, space: FeatureSpace) -> EnsembleDescriptors:
    """Compute the descriptors of a model; takes milliseconds, once per model."""
    kinds = [feature.kind for feature in space.features]
    inner = ensemble.column >= 0
    nodes, depth = _sizes(ensemble)
    per_column = _thresholds(ensemble.column[inner], ensemble.last_left[inner], ensemble.n_columns)
    per_feature = np.array([per_column[list(feature.columns)].sum() for feature in space.features])
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
        thresholds_total=int(per_feature.sum()),
        thresholds_mean=float(per_feature.mean()),
        thresholds_max=int(per_feature.max()),
    )


def _thresholds(column: IntArray, last_left: FloatArray, n_columns: int) -> IntArray:
    """Return the number of distinct thresholds of each column, int64 (n_columns,)."""
    order = order_by(column, n_columns)
    first = starts(np.bincount(column, minlength=n_columns))
    return np.array([np.unique(last_left[order[a:b]]).size for a, b in runs(first)])


def _sizes(ensemble: Ensemble) -> tuple[IntArray, int]:
    """Return the number of nodes of each tree, int64 (n_trees,), and the depth of the deepest."""
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


VERSION = 2  # of ``NAMES``; increased whenever a name changes
Metric = Literal["total", "solver"]
LEFT = "left_"
QUERY = ("norm", "plausible", "solver_only")
NAMES = (
    *(field.name for field in fields(EnsembleDescriptors)),
    *QUERY,
    *(LEFT + field.name for field in fields(Shape)),
)
NORM_INF = 99.0  # code of the maximum norm
OWN_NORM = -1.0  # code of custom costs


@dataclass(frozen=True)
class Case:
    """Properties of a query that are known before presolve.

    Attributes
    ----------
    ensemble : EnsembleDescriptors, descriptors of the model.
    norm : text: "0", "1", "2", another number, "inf", or anything else for custom costs.
    plausible : bool, whether answers must be inliers of the target class.
    metric : time to minimise, "total" seconds of a query or "solver" seconds with a reused model.
    """

    ensemble: EnsembleDescriptors
    norm: str
    plausible: bool
    metric: Metric = "total"

    def values(self, left: Shape) -> dict[str, float]:
        """Return all descriptors by name, in the order of ``NAMES``, with -1 for infinite ones."""
        values = {name: float(value) for name, value in asdict(self.ensemble).items()}
        values |= {
            "norm": norm_number(self.norm),
            "plausible": float(self.plausible),
            "solver_only": float(self.metric == "solver"),
        }
        values |= {LEFT + name: _finite(float(value)) for name, value in asdict(left).items()}
        return values


def norm_number(norm: str) -> float:
    """Return the number that stands for a norm: itself, ``NORM_INF`` or ``OWN_NORM``."""
    if norm == "inf":
        return NORM_INF
    try:
        return float(norm)
    except ValueError:
        return OWN_NORM


def _finite(value: float) -> float:
    return value if math.isfinite(value) else -1.0
