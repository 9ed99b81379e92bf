"""Reader of scikit-learn's isolation forests."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import UnsupportedModelError
from encoders.readers.layout import as_bagging_passes
from encoders.readers.read import leaves_of_members
from encoders.readers.reader import Reader, ReadMember
from encoders.readers.refusals import require_fitted
from encoders.readers.transformed import inverse_link, raw_range
from encoders.trees.arithmetic import Link, rounding_of
from encoders.trees.ensemble import Ensemble
from encoders.trees.floats import largest_at_most
from encoders.trees.tree_nodes import NO_CHILD, TreeNodes, joined


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
    current = replace(read, bias=bias, rounding=rounding)
    lengths = Link("mean", offset=least_length(model))
    low, high = raw_range(current, lengths, output=1)
    scores = AnomalyScore(longest(model), float(model.offset_))
    return replace(current, link=AnomalyLink(score=inverse_link(lengths, scores, low, high)))


@dataclass(frozen=True)
class AnomalyScore:
    """Function from sums of path lengths to ``decision_function``, as the library computes it."""

    longest: float
    offset: float

    def __call__(self, lengths: FloatArray) -> FloatArray:
        """Return the scores, float64 (n,); see ``sklearn/ensemble/_iforest.py``."""
        scores: FloatArray = -(2 ** -(lengths / self.longest)) - self.offset
        return scores


@dataclass(frozen=True, eq=False)
class AnomalyLink(Link):
    """Link of a forest without probabilities, whose raw score is ``decision_function``.

    Attributes
    ----------
    score : link from the sum of path lengths to the score.
    """

    score: Link = field(default_factory=lambda: Link("mean"))

    @property
    def raw(self) -> Link:
        """The link of ``decision_function``."""
        return self.score


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


class IsolationReader(Reader):
    """Reader of isolation forests."""

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_isolation`."""
        return read_isolation(model)

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of all trees, which may read parts of the columns."""
        pairs = zip(model.estimators_, model.estimators_features_, strict=True)
        return leaves_of_members((tree, as_bagging_passes(rows, at)) for tree, at in pairs)

    def raw(self, model: Any, rows: Any, output: int) -> FloatArray:
        """Return ``decision_function``."""
        scores: FloatArray = model.decision_function(rows)
        return scores

    def scores(self, model: Any, rows: Any, margin_unit: float) -> FloatArray:
        """Return path lengths derived from the forest's own scores, less the least length."""
        lengths = -longest(model) * np.log2(-model.score_samples(rows))
        return np.column_stack([np.zeros(len(lengths)), lengths - least_length(model)])


READERS: dict[str, Reader] = {"IsolationForest": IsolationReader()}
