"""Reader of scikit-learn's AdaBoost of regression trees, which predicts a weighted median."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.core.arrays import IntArray, frozen
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import kind_of, predictor
from encoders.readers.layout import as_bagging_passes
from encoders.readers.read import leaves_of_members
from encoders.readers.reader import Reader, ReadMember
from encoders.readers.refusals import require_fitted
from encoders.readers.sklearn_trees import TREES
from encoders.trees.arithmetic import DOUBLE, MEAN, Rounding
from encoders.trees.ensemble import Ensemble
from encoders.trees.joining import Member, summed
from encoders.trees.median import Median


def read_boosted_regressor(model: Any, read: ReadMember) -> Ensemble:
    """Read a fitted ``AdaBoostRegressor`` over single trees.

    Trees are sorted by their predictions. The first one at which the cumulative weight is at least
    half of the whole weight predicts, in float64 (``sklearn/ensemble/_weight_boosting.py``,
    _get_median_predict).
    """
    require_fitted(model, "estimators_")
    count = len(model.estimators_)
    weights = np.asarray(model.estimator_weights_[:count], dtype=np.float64)
    if count == 1:
        weights = np.ones(1)  # a single tree predicts even without weight
    total = float(weights.sum())
    if not (np.isfinite(total) and total > 0 and weights.min() >= 0):
        raise UnsupportedModelError(
            f"the AdaBoostRegressor's estimator_weights_ {weights.tolist()} do not define a "
            "median. Fit it again."
        )
    pairs = zip(model.estimators_, weights.tolist(), strict=True)
    columns = _columns(model)
    members = [_member(tree, weight, columns, read) for tree, weight in pairs]
    return replace(
        summed(members, 2, 1.0),
        rounding=Rounding(),  # a prediction is the value of a leaf
        link=Median(total / 2, 2.0 * (count + MEAN) * DOUBLE * total),
        regression=True,
        default_left=None,  # predict rejects missing values
    )


def _columns(model: Any) -> IntArray:
    """Return the columns that each tree gets as an array: all of them."""
    return np.arange(int(model.n_features_in_))


def _member(tree: Any, weight: float, columns: IntArray, read: ReadMember) -> Member:
    kind = kind_of(predictor(tree))
    if kind.library != "sklearn" or kind.name not in TREES:
        raise UnsupportedModelError(
            f"an AdaBoostRegressor can be read over single trees only, but its members are of type "
            f"{type(predictor(tree)).__name__}. Fit it over a DecisionTreeRegressor."
        )
    ensemble = read(tree, columns)
    weights = np.where(ensemble.column < 0, weight, 0.0)
    score = frozen(np.column_stack([ensemble.score[:, 0], weights]))
    return Member(replace(ensemble, score=score, bias=frozen(np.zeros(2))), np.arange(2))


class BoostedRegressorReader(Reader):
    """Reader of AdaBoost of regression trees, which may be behind the steps of pipelines."""

    reads_members = owns = True

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_boosted_regressor`."""
        return read_boosted_regressor(model, read)

    def members(self, model: Any) -> Iterator[tuple[Any, IntArray, str]]:
        """Yield the trees, which get arrays."""
        require_fitted(model, "estimators_")
        for tree in model.estimators_:
            yield tree, _columns(model), "estimator"

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of the trees."""
        passed = as_bagging_passes(rows, _columns(model))
        return leaves_of_members((tree, passed) for tree in model.estimators_)


READERS: dict[str, Reader] = {"AdaBoostRegressor": BoostedRegressorReader()}
