"""Readers of ``BaggingRegressor`` and ``VotingRegressor``: means of other regressors."""

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

    Predictions of members are added in their own type and divided by their number
    (``sklearn/ensemble/_bagging.py``, _parallel_predict_regression and predict). Members read the
    columns ``estimators_features_``, which may repeat.
    """
    require_fitted(model, "estimators_")
    # predict uses the first n_estimators; set_params may have lowered the number after fit.
    members = model.estimators_[: model.n_estimators]
    columns = [np.asarray(each, dtype=np.int64) for each in model.estimators_features_]
    ensembles = [read(*pair) for pair in zip(members, columns, strict=False)]
    links = _links(model, members, ensembles)
    weights = np.full(len(members), 1.0 / float(model.n_estimators))
    return _mean(list(zip(ensembles, links, strict=True)), weights, narrow=True)


def read_voting_regressor(model: Any, read: Reader) -> Ensemble:
    """Read a fitted ``VotingRegressor``.

    Predictions of members are averaged by ``np.average``, with weights if there are some
    (``sklearn/ensemble/_voting.py``, predict). Dropped members and their weights do not count.
    """
    require_fitted(model, "estimators_")
    members = model.estimators_
    user_weights = model._weights_not_none  # weights of the members that are not dropped
    if user_weights is None:
        weights = np.ones(len(members))
    else:
        weights = np.asarray(user_weights, dtype=np.float64)
    total = weights.sum()
    if weights.size != len(members) or not np.isfinite(weights).all() or total == 0:
        raise UnsupportedModelError(
            f"the VotingRegressor's weights {weights.tolist()} do not define an average. Give each "
            "member one finite weight, with a sum other than 0."
        )
    ensembles = [read(member) for member in members]
    parts = list(zip(ensembles, _links(model, members, ensembles), strict=True))
    singles = np.zeros((1, weights.size), dtype=np.float32)
    narrow = np.average(singles, axis=1, weights=user_weights).dtype == np.float32
    return _mean(parts, weights / total, narrow)


def _links(owner: Any, members: Sequence[Any], ensembles: Sequence[Ensemble]) -> list[Link]:
    """Return the link of each member; UnsupportedModelError unless all predict their sum itself."""
    links = [
        each.link for each in ensembles if isinstance(each.link, Link) and each.link.kind == "mean"
    ]
    if len(links) < len(ensembles) or not all(each.regression for each in ensembles):
        names = ", ".join(sorted({type(predictor(member)).__name__ for member in members}))
        raise UnsupportedModelError(
            f"a {type(owner).__name__} averages predictions, but one of its members ({names}) "
            "predicts a function of its sum, as with a poisson, gamma, tweedie or logistic "
            "objective. Use members that predict the sum itself, as with squared error."
        )
    return links


def _mean(parts: Sequence[tuple[Ensemble, Link]], weights: FloatArray, narrow: bool) -> Ensemble:
    """Return the weighted sum of members, each with its link.

    ``narrow`` is whether the average of float32 predictions is float32.
    """
    only = np.zeros(1, dtype=np.int64)
    members = [
        Member(each, only, weight, link.divisor)
        for (each, link), weight in zip(parts, weights.tolist(), strict=True)
    ]
    whole = summed(members, 1, 1.0)
    single = narrow and all(link.unit == SINGLE for _, link in parts)
    unit, off = SINGLE if single else DOUBLE, whole.rounding.sums
    for (each, link), weight in zip(parts, np.abs(weights).tolist(), strict=True):
        largest = np.maximum.reduceat(np.abs(each.score[:, 0]), each.root).sum()
        size = float(largest + abs(each.bias[0])) / link.divisor
        rounded = each.rounding.sums / link.divisor + MEAN * link.unit * size
        off += weight * (rounded + (len(parts) + MEAN) * unit * size)
    return replace(
        whole, rounding=Rounding(off, sums=off), link=Link("mean", unit=unit), regression=True
    )
