"""scikit-learn's ``BaggingRegressor`` and ``VotingRegressor``: means of other regressors."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble
from encoders.trees.link import MEAN, Link
from encoders.trees.members import ColumnReader, Member, Reader, summed
from encoders.trees.refusals import require_fitted
from encoders.trees.rounding import DOUBLE, SINGLE, Rounding
from encoders.trees.wrappers import predictor


def read_bagged_regressor(model: Any, read: ColumnReader) -> Ensemble:
    """Read a fitted ``BaggingRegressor``.

    Predictions of members are added in the type that they have, and divided by their number
    (``sklearn/ensemble/_bagging.py``, _parallel_predict_regression and predict). Members see
    columns ``estimators_features_``, which may repeat.
    """
    require_fitted(model, "estimators_")
    # Its predict goes through as many; set_params may have lowered the number since.
    members = model.estimators_[: model.n_estimators]
    columns = [np.asarray(own, dtype=np.int64) for own in model.estimators_features_]
    ensembles = [read(*pair) for pair in zip(members, columns, strict=False)]
    links = _links(model, members, ensembles)
    weights = np.full(len(members), 1.0 / float(model.n_estimators))
    return _mean(list(zip(ensembles, links, strict=True)), weights, narrow=True)


def read_voting_regressor(model: Any, read: Reader) -> Ensemble:
    """Read a fitted ``VotingRegressor``.

    Predictions of members are averaged by ``np.average``, with weights where there are some
    (``sklearn/ensemble/_voting.py``, predict); dropped members and their weights do not count.
    """
    require_fitted(model, "estimators_")
    members = model.estimators_
    given = model._weights_not_none  # those of members that are not dropped
    weights = np.ones(len(members)) if given is None else np.asarray(given, dtype=np.float64)
    total = weights.sum()
    if weights.size != len(members) or not np.isfinite(weights).all() or total == 0:
        raise UnsupportedModelError(
            "the VotingRegressor's weights do not make an average; give each member one, and not "
            "0 in all."
        )
    ensembles = [read(own) for own in members]
    parts = list(zip(ensembles, _links(model, members, ensembles), strict=True))
    singles = np.zeros((1, weights.size), dtype=np.float32)
    narrow = np.average(singles, axis=1, weights=given).dtype == np.float32
    return _mean(parts, weights / total, narrow)


def _links(owner: Any, members: Sequence[Any], ensembles: Sequence[Ensemble]) -> list[Link]:
    """What each member makes of its sum; anything but the sum itself is refused."""
    links = [
        own.link for own in ensembles if isinstance(own.link, Link) and own.link.kind == "mean"
    ]
    if len(links) < len(ensembles) or not all(own.regression for own in ensembles):
        names = ", ".join(sorted({type(predictor(member)).__name__ for member in members}))
        raise UnsupportedModelError(
            f"a {type(owner).__name__} averages predictions, and one of its members ({names}) "
            "predicts a curve of its sum, as with a poisson, gamma, tweedie or logistic objective; "
            "use members that predict the sum itself, as with squared error."
        )
    return links


def _mean(parts: Sequence[tuple[Ensemble, Link]], weights: FloatArray, narrow: bool) -> Ensemble:
    """Return the weighted sum of members, each with its link.

    ``narrow`` tells whether predictions in float32 stay so where they are averaged.
    """
    only = np.zeros(1, dtype=np.int64)
    members = [
        Member(own, only, weight, link.divisor)
        for (own, link), weight in zip(parts, weights.tolist(), strict=True)
    ]
    whole = summed(members, 1, 1.0)
    single = narrow and all(link.unit == SINGLE for _, link in parts)
    unit, off = SINGLE if single else DOUBLE, whole.rounding.sums
    for (own, link), weight in zip(parts, np.abs(weights).tolist(), strict=True):
        largest = np.maximum.reduceat(np.abs(own.score[:, 0]), own.root).sum()
        size = float(largest + abs(own.bias[0])) / link.divisor
        rounded = own.rounding.sums / link.divisor + MEAN * link.unit * size
        off += weight * (rounded + (len(parts) + MEAN) * unit * size)
    return replace(
        whole, rounding=Rounding(off, sums=off), link=Link("mean", unit=unit), regression=True
    )
