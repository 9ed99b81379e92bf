"""Reader of quantile regression forests of the package quantile-forest."""

from dataclasses import replace
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray, IntArray, frozen, starts
from encoders.core.errors import UnsupportedModelError
from encoders.readers.outputs import OutputReader
from encoders.readers.reader import Reader, ReadMember
from encoders.readers.refusals import require_fitted, several_outputs
from encoders.readers.sklearn_trees import ForestReader, tree_nodes
from encoders.trees.ensemble import Ensemble
from encoders.trees.quantile import Quantile
from encoders.trees.tree_nodes import NO_CHILD, joined

FORESTS = ("RandomForestQuantileRegressor", "ExtraTreesQuantileRegressor")


def read_quantile_forest(model: Any, at: int = 0) -> Ensemble:
    """Read a quantile of a fitted forest, the one at a position among its ``default_quantiles``.

    Leaves hold samples of the training data, and a quantile of those in the active leaves is
    interpolated (``quantile_forest/_quantile_forest_fast.pyx``, calc_weighted_quantile). With
    ``max_samples_leaf=1`` this is numpy.quantile (``_quantile_forest.py``, predict).
    """
    require_fitted(model, "forest_")
    if model.n_outputs_ != 1:
        raise UnsupportedModelError(
            f"this {type(model).__name__} was fitted to {model.n_outputs_} targets, which is not "
            "supported. Fit one forest per target."
        )
    share = _shares(model)[at]
    trees, values, sizes = [], [], [np.zeros(1, dtype=np.int64)]  # leaf 0 has no samples
    count = 1
    for number, tree in enumerate(each.tree_ for each in model.estimators_):
        leaf = np.flatnonzero(tree.children_left == NO_CHILD)
        names = np.zeros((tree.node_count, 1))
        names[leaf, 0] = np.arange(count, count + leaf.size)
        count += leaf.size
        trees.append(tree_nodes(tree, names))
        samples, size = _samples(model, number, leaf)
        values.append(samples)
        sizes.append(size)
    n_columns, dtype = int(model.n_features_in_), np.dtype(np.float32)
    read = joined(trees, n_columns, np.zeros(1), dtype, 1.0, "quantile-forest")
    targets = np.asarray(model.forest_.y_train)[0]
    link = Quantile(
        share,
        frozen(np.concatenate(values)),
        frozen(starts(np.concatenate(sizes))),
        most=sum(int(size.max()) for size in sizes),
        reach=(float(targets.min()), float(targets.max())),
    )
    if sum(int(size.min()) for size in sizes) == 0:
        raise UnsupportedModelError(
            f"each tree of this {type(model).__name__} has a leaf without samples, so it predicts "
            "NaN for some rows. Fit it without sample weights of 0."
        )
    return replace(read, link=link, regression=True)


def _samples(model: Any, number: int, leaf: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the samples of some leaves of a tree, sorted within each leaf, and their numbers."""
    targets = np.asarray(model.forest_.y_train)[0]
    place = np.asarray(model.forest_.y_train_leaves[number])[leaf, 0]  # from 1; 0 is none
    if model.max_samples_leaf == 1:  # predict takes the first place, and the last target for none
        samples = targets[place[:, 0] - 1]
        if model.monotonic_cst is not None:
            bounds = np.asarray(model.forest_.y_bound_leaves[number])[leaf]
            samples = np.clip(samples, bounds[:, 0], bounds[:, 1])
        return samples, np.ones(leaf.size, dtype=np.int64)
    ordered = np.sort(np.where(place > 0, targets[place - 1], np.inf), axis=1)
    size = (place > 0).sum(axis=1)
    return ordered[np.arange(place.shape[1]) < size[:, None]], size


def _shares(model: Any) -> list[float]:
    """Return the quantiles that predict returns."""
    quantiles = model.default_quantiles
    shares = quantiles if isinstance(quantiles, list) else [quantiles]
    if not shares or not all(isinstance(each, float | int) and 0 <= each <= 1 for each in shares):
        raise UnsupportedModelError(
            f"this {type(model).__name__} has default_quantiles={quantiles!r}, which are not "
            "numbers from 0 to 1. Set them, such as model.set_params(default_quantiles=0.9); this "
            "needs no other fit."
        )
    return [float(each) for each in shares]


class QuantileForestReader(ForestReader):
    """Reader of quantile regression forests."""

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_quantile_forest`; several quantiles are read one by one."""
        if self.outputs(model):
            raise several_outputs("regressor")
        return read_quantile_forest(model)

    def outputs(self, model: Any) -> tuple[Any, ...]:
        """Return the quantiles that a forest predicts, if these are several."""
        from encoders.trees.outputs import QuantileOutput

        quantiles = model.default_quantiles
        count = len(quantiles) if isinstance(quantiles, list) else 1
        return tuple(QuantileOutput(model, at) for at in range(count)) if count > 1 else ()


class QuantileOutputReader(OutputReader, ForestReader):
    """Reader of one of the quantiles that a forest predicts."""

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_quantile_forest`."""
        return read_quantile_forest(model.whole, model.at)


READERS: dict[str, Reader] = {
    **dict.fromkeys(FORESTS, QuantileForestReader()),
    "QuantileOutput": QuantileOutputReader(),
}
